import { Backoff, Limit } from "@breakwater/schedule"
import { Clients, Scenario, Service, Simulation, Trace } from "@breakwater/simulation"
import { Catalogue, SixClients } from "@breakwater/storm"
import * as Decisions from "@breakwater/storm/Decisions"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const record = (scenario: Scenario.Scenario, seed = 1) => Effect.runSync(Decisions.record(scenario, { seed }))

const storm = (id: string) => Catalogue.storms.find((storm) => storm.id === id)!

describe("recording the decisions of a run", () => {
  // One of each kind: schedules, budgets, breakers, layers that retry by themselves, time limits.
  it.each(["A1", "A2", "A3", "A4", "A6b", "A6c", "S2d", "S6", "S9", "S14", "S15", "M4a", "T3-20", "CB2c", "CB3a", "CB3d"])(
    "%s: changes no byte of the trace",
    (id) => {
      const { scenario, seed } = storm(id)
      const trace = Effect.runSync(Simulation.run(scenario, { seed }))
      assert.strictEqual(Trace.toText(record(scenario, seed).trace), Trace.toText(trace))
    }
  )

  it("gives the same decisions for the same seed, other ones for another", () => {
    const { scenario } = SixClients.fullJitter
    assert.deepStrictEqual(record(scenario, 6).decisions, record(scenario, 6).decisions)
    assert.notDeepEqual(record(scenario, 6).decisions, record(scenario, 7).decisions)
  })

  it("tells each wait as drawn, and the longest that chance could have drawn", () => {
    const { decisions, trace } = record(SixClients.fullJitter.scenario, 6)
    const operations = Trace.operations(trace)
    const waits = decisions.flatMap((decision) => (decision._tag === "Retrying" ? [decision] : []))
    assert.strictEqual(waits.length, 13)
    for (const { at, attempt, client, maximumWait, wait } of waits) {
      const { attempts } = operations[client]!
      assert.strictEqual(at, attempts[attempt - 1]!.endedAt)
      assert.strictEqual(at + wait, attempts[attempt]!.startedAt)
      assert.strictEqual(maximumWait, 100_000 * 2 ** (attempt - 1))
      assert.isAtMost(wait, maximumWait)
    }
  })

  it("tells why an operation was given up", () => {
    const { decisions } = record(
      Scenario.make({
        name: "always down",
        service: Service.scripted({ takes: "10 millis", script: [[Service.refused(503)]] }),
        clients: Clients.together(1),
        client: Effect.retry(Backoff.constant({ delay: "20 millis" }).pipe(Limit.attempts(2))),
        until: "1 second"
      })
    )
    assert.deepStrictEqual(decisions, [
      { _tag: "Retrying", at: 10_000, client: 0, operation: 0, attempt: 1, wait: 20_000, maximumWait: 20_000 },
      { _tag: "GaveUp", at: 40_000, client: 0, operation: 0, attempt: 2, reason: "exhausted" }
    ])
  })

  it("leaves out a retry that something around the schedule forbids", () => {
    // Client 3 gets a 400, which the schedule would retry and `Schedule.whileInput` around it does not.
    const { decisions } = record(SixClients.whatToRetry.scenario)
    assert.deepStrictEqual(
      decisions.map(({ _tag, client }) => `${_tag} ${client}`),
      ["Retrying 0", "Retrying 1"]
    )
  })

  it("leaves out what the layers of a service decide", () => {
    // Five layers of three attempts each: 243 calls, of which the client sees three.
    assert.deepStrictEqual(
      record(storm("S9").scenario).decisions.map(({ _tag, attempt }) => `${_tag} ${attempt}`),
      ["Retrying 1", "Retrying 2", "GaveUp 3"]
    )
  })

  it("numbers the operations of a client", () => {
    const { decisions } = record(
      Scenario.make({
        name: "two operations",
        service: Service.scripted({ takes: "10 millis", script: [[Service.refused(503)]] }),
        clients: Clients.closedLoop({ clients: 1, operations: 2, think: "5 millis" }),
        client: Effect.retry(Backoff.constant({ delay: "20 millis" }).pipe(Limit.attempts(1))),
        until: "1 second"
      })
    )
    assert.deepStrictEqual(
      decisions.map(({ operation }) => operation),
      [0, 1]
    )
  })
})
