import { InvalidOption } from "@breakwater/core"
import { Clients, Scenario, Service, Simulation, Trace } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const capacity = (slots: number) => Service.capacity({ slots, takes: "100 millis", above: "everything in flight times out" })

/** The outcome of one call each, begun at the given milliseconds. */
const outcomes = (
  service: Service.Service,
  startsAt: ReadonlyArray<number>,
  client: Scenario.Scenario["client"] = (call) => call
): ReadonlyArray<string | undefined> => {
  const scenario = Scenario.make({
    name: "calls",
    service,
    clients: {
      ...Clients.staggered(startsAt.length, 0),
      startsAt: startsAt.map((at) => Clients.staggered(2, at).startsAt[1]!)
    },
    client,
    until: "1 minute"
  })
  return Trace.operations(Effect.runSync(Simulation.run(scenario, { seed: 1 }))).map(({ attempts }) => attempts[0]!.outcome)
}

describe("Service.capacity", () => {
  it.each([
    { what: "as many as there are slots succeed", starts: [0, 0], result: ["succeeded", "succeeded"] },
    { what: "one more dooms all, the earlier ones too", starts: [0, 50, 99], result: ["timed out", "timed out", "timed out"] },
    {
      what: "a start at the instant of an end does not meet it",
      starts: [0, 50, 100],
      result: ["succeeded", "succeeded", "succeeded"]
    },
    {
      what: "a doomed call stays doomed and keeps its slot",
      starts: [0, 50, 99, 149],
      result: ["timed out", "timed out", "timed out", "timed out"]
    },
    {
      what: "once the doomed are gone the service is well again",
      starts: [0, 0, 0, 100],
      result: ["timed out", "timed out", "timed out", "succeeded"]
    }
  ])("$what", ({ result, starts }) => {
    assert.deepStrictEqual(outcomes(capacity(2), starts), result)
  })

  it("keeps the slot of a caller who has given up: the server does not notice", () => {
    const impatient: Scenario.Scenario["client"] = (call) => Effect.timeout(call, "10 millis")
    assert.deepStrictEqual(outcomes(capacity(1), [0, 50], impatient), ["interrupted", "interrupted"])
    const patientAfter = (call: Effect.Effect<void, Service.Failure>) =>
      Effect.zipRight(Effect.ignore(Effect.timeout(call, "10 millis")), call)
    const scenario = Scenario.make({
      name: "again at once",
      service: capacity(1),
      clients: Clients.together(1),
      client: patientAfter,
      until: "1 second"
    })
    const [operation] = Trace.operations(Effect.runSync(Simulation.run(scenario, { seed: 1 })))
    assert.deepStrictEqual(
      operation!.attempts.map(({ endedAt, outcome }) => [outcome, endedAt]),
      [
        ["interrupted", 10_000],
        ["timed out", 110_000]
      ]
    )
  })

  it("refuses a service without slots", () => {
    assert.throws(() => capacity(0), InvalidOption.InvalidOption, "Service.capacity: slots must be a whole number, at least 1")
  })
})

describe("Service.scripted", () => {
  it("answers each attempt by the script of its client, the last entry for all later ones", () => {
    const scenario = Scenario.make({
      name: "script",
      service: Service.scripted({
        takes: "10 millis",
        script: [[Service.refused(429, "1 second"), Service.timedOut, Service.refused(400)]]
      }),
      clients: Clients.together(1),
      client: (call) => Effect.retry(call, { times: 3 }),
      until: "1 second"
    })
    const [operation] = Trace.operations(Effect.runSync(Simulation.run(scenario, { seed: 1 })))
    assert.deepStrictEqual(
      operation!.attempts.map(({ outcome }) => outcome),
      ["refused 429", "timed out", "refused 400", "refused 400"]
    )
    assert.strictEqual(operation!.outcome, "gave up")
  })

  it("says so where a client has no script", () => {
    const scenario = Scenario.make({
      name: "script",
      service: Service.scripted({ takes: "10 millis", script: [["ok"]] }),
      clients: Clients.together(2),
      client: (call) => call,
      until: "1 second"
    })
    assert.throws(
      () => Effect.runSync(Simulation.run(scenario, { seed: 1 })),
      "Service.scripted: script must be a list for every client"
    )
  })
})
