import { InvalidOption } from "@breakwater/core"
import { Clients, Latency, Scenario, Service, Simulation, Summary, Trace } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Fiber, pipe, Schedule, TestClock, TestContext } from "effect"

const capacity = (slots: number, above: "everything in flight times out" | "refuse" = "everything in flight times out") =>
  Service.capacity({ slots, takes: "100 millis", above })

type Policy = Service.BehindOptions["policy"]

const once: Policy = (call) => call

/** The first attempt of calls that begin at the given milliseconds. */
const calls = (
  service: Service.Service,
  startsAt: ReadonlyArray<number>,
  client: Scenario.Scenario["client"] = once,
  seed = 1
): ReadonlyArray<Trace.Attempt> => {
  const scenario = Scenario.make({ name: "calls", service, clients: Clients.at(startsAt), client, until: "1 minute" })
  return Trace.operations(Effect.runSync(Simulation.run(scenario, { seed }))).map(({ attempts }) => attempts[0]!)
}

const outcomes = (...args: Parameters<typeof calls>): ReadonlyArray<string | undefined> =>
  calls(...args).map(({ outcome }) => outcome)

/** Outcomes and the milliseconds at which they are there. */
const answers = (...args: Parameters<typeof calls>): ReadonlyArray<readonly [string | undefined, number | undefined]> =>
  calls(...args).map(({ endedAt, outcome }) => [outcome, endedAt === undefined ? undefined : endedAt / 1000])

const within = (limit: Duration.DurationInput): Policy =>
  Effect.timeoutFail({ duration: limit, onTimeout: () => Service.timedOut })

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

  it("refuses above its slots where it is told to, and what it carries goes on", () => {
    assert.deepStrictEqual(answers(capacity(2, "refuse"), [0, 50, 99, 100]), [
      ["succeeded", 100],
      ["succeeded", 150],
      ["refused 503", 99],
      ["succeeded", 200]
    ])
  })

  it("carries calls that take different times", () => {
    const takes = Latency.uniform({ min: "10 millis", max: "200 millis" })
    const ends = calls(Service.capacity({ slots: 50, takes, above: "refuse" }), new Array<number>(50).fill(0))
    assert.strictEqual(new Set(ends.map(({ endedAt }) => endedAt)).size, 50)
    assert.isTrue(ends.every(({ endedAt, work }) => endedAt === work && work >= 10_000 && work <= 200_000))
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

describe("Service.unlimited", () => {
  it("carries any number of calls, each for its own time", () => {
    const all = calls(Service.unlimited({ takes: "20 millis" }), new Array<number>(100).fill(0))
    assert.isTrue(all.every(({ endedAt, outcome }) => outcome === "succeeded" && endedAt === 20_000))
    assert.deepStrictEqual(answers(Service.unlimited({ takes: 0 }), [5]), [["succeeded", 5]])
  })
})

describe("Service.queue", () => {
  const queue = (options: Partial<Parameters<typeof Service.queue>[0]> = {}) =>
    Service.queue({ servers: 1, takes: "100 millis", ...options })

  it("answers one after the other, in order of arrival, over as many servers as it has", () => {
    assert.deepStrictEqual(answers(queue(), [0, 0, 50, 500]), [
      ["succeeded", 100],
      ["succeeded", 200],
      ["succeeded", 300],
      ["succeeded", 600]
    ])
    assert.deepStrictEqual(answers(queue({ servers: 2 }), [0, 0, 50]), [
      ["succeeded", 100],
      ["succeeded", 100],
      ["succeeded", 200]
    ])
  })

  it("refuses at once beyond its limit", () => {
    assert.deepStrictEqual(answers(queue({ limit: 1 }), [0, 10, 20, 100]), [
      ["succeeded", 100],
      ["succeeded", 200],
      ["refused 503", 20],
      ["succeeded", 300]
    ])
    assert.deepStrictEqual(answers(queue({ limit: 0 }), [0, 99, 100]), [
      ["succeeded", 100],
      ["refused 503", 99],
      ["succeeded", 200]
    ])
  })

  it("works for callers that have gone, unless it is told to drop them", () => {
    const [, patient] = calls(queue(), [0, 0, 0], within("250 millis"))
    assert.deepInclude(patient, { outcome: "succeeded", endedAt: 200_000 })
    const gone = (dropExpired: boolean) =>
      calls(queue({ dropExpired }), [0, 10, 20, 250], within("150 millis")).map(({ outcome, work }) => [outcome, work / 1000])
    assert.deepStrictEqual(gone(false), [
      ["succeeded", 100],
      // Begun at 100, its caller gone at 160: the rest is for nobody.
      ["interrupted", 100],
      ["interrupted", 100],
      ["interrupted", 100]
    ])
    assert.deepStrictEqual(gone(true), [
      ["succeeded", 100],
      ["interrupted", 100],
      ["interrupted", 0],
      ["succeeded", 100]
    ])
  })

  it("begins nothing in a pause, keeps who comes, and goes on in order", () => {
    const paused = queue({ pause: { from: "50 millis", to: "1 second" } })
    assert.deepStrictEqual(answers(paused, [0, 60, 70, 1000]), [
      ["succeeded", 100],
      ["succeeded", 1100],
      ["succeeded", 1200],
      ["succeeded", 1300]
    ])
    assert.deepStrictEqual(paused.disturbances, [{ from: 50_000, to: 1_000_000 }])
  })

  it("is, with random arrivals and work, the M/M/c queue: the mean wait of Erlang's formula", () => {
    const [servers, rate, mean] = [3, 120, 20]
    const load = (rate * mean) / 1000
    const terms = [1, load, load ** 2 / 2, load ** 3 / 6 / (1 - load / servers)]
    const waits = terms[3]! / terms.reduce((sum, term) => sum + term, 0)
    const expected = (waits * mean) / (servers - load)
    const scenario = Scenario.make({
      name: "M/M/3",
      service: Service.queue({ servers, takes: Latency.exponential({ mean }) }),
      clients: Clients.openLoop({ rate }),
      client: once,
      until: "10 seconds"
    })
    const waitOf = (seed: number) => {
      const operations = Trace.operations(Effect.runSync(Simulation.run(scenario, { seed })))
      const ended = operations.flatMap(({ attempts: [first] }) => (first!.endedAt === undefined ? [] : [first!]))
      // From the second half on, when the queue has filled.
      const late = ended.slice(ended.length / 2)
      return late.reduce((sum, { endedAt, startedAt, work }) => sum + endedAt! - startedAt - work, 0) / late.length / 1000
    }
    const runs = Array.from({ length: 40 }, (_, seed) => waitOf(seed))
    const average = runs.reduce((sum, wait) => sum + wait, 0) / runs.length
    const deviation = Math.sqrt(runs.reduce((sum, wait) => sum + (wait - average) ** 2, 0) / (runs.length - 1))
    assert.closeTo(average, expected, (3.5 * deviation) / Math.sqrt(runs.length))
  })

  it("gives the same on a clock that wakes equal instants in another order", async () => {
    const scenario = Scenario.make({
      name: "ties",
      service: queue({ servers: 2, limit: 2, dropExpired: true }),
      clients: Clients.evenlySpaced({ rate: 40 }),
      client: Effect.retry({ times: 1 }),
      until: "2 seconds"
    })
    const stock = await Effect.gen(function* () {
      const fiber = yield* Effect.fork(Simulation.record(scenario, { seed: 1 }))
      yield* TestClock.adjust("3 seconds")
      return Summary.of(yield* Fiber.join(fiber))
    }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)
    const ours = Summary.of(Effect.runSync(Simulation.run(scenario, { seed: 1 })))
    assert.isAbove(ours.retries, 0)
    assert.deepStrictEqual(stock, ours)
  })
})

describe("Service.rateLimited", () => {
  const limited = Service.rateLimited({ permits: 2, per: "1 second", takes: "10 millis" })

  it("admits so many in each window, and refuses the rest at once", () => {
    assert.deepStrictEqual(answers(limited, [0, 500, 900, 999, 1000, 1001, 1002, 5500]), [
      ["succeeded", 10],
      ["succeeded", 510],
      ["refused 429", 900],
      ["refused 429", 999],
      ["succeeded", 1010],
      ["succeeded", 1011],
      ["refused 429", 1002],
      ["succeeded", 5510]
    ])
  })

  it("says how long the window still lasts", () => {
    const told: Array<number | undefined> = []
    calls(limited, [0, 1, 250, 999.5], (call) =>
      Effect.tapError(call, (failure) =>
        Effect.sync(() => {
          if (failure._tag === "Refused") told.push(failure.retryAfter && Duration.toMillis(failure.retryAfter))
        })
      )
    )
    assert.deepStrictEqual(told, [750, 0.5])
  })
})

describe("Service.contended", () => {
  const row = Service.contended({ hop: "10 millis" })

  it("takes four hops and lets one write for each version that was read", () => {
    assert.deepStrictEqual(answers(row, [0, 5, 19.999, 20, 60]), [
      ["succeeded", 40],
      ["refused 409", 45],
      // Reads just before the first write lands at 30 ms,
      ["refused 409", 59.999],
      // at the very instant, and sees it.
      ["succeeded", 60],
      ["succeeded", 100]
    ])
  })
})

describe("Service.outage", () => {
  const calm = Service.unlimited({ takes: "100 millis" })
  const times = { from: "1 second", to: "2 seconds" } as const

  it("fails what arrives from its begin to just before its end, and nothing else", () => {
    assert.deepStrictEqual(answers(Service.outage(calm, { ...times, how: Service.refused(503) }), [950, 1000, 1999, 2000]), [
      ["succeeded", 1050],
      ["refused 503", 1000],
      ["refused 503", 1999],
      ["succeeded", 2100]
    ])
  })

  it("or never answers it", () => {
    assert.deepStrictEqual(answers(Service.outage(calm, { ...times, how: "hang" }), [1500, 2000]), [
      [undefined, undefined],
      ["succeeded", 2100]
    ])
    assert.deepStrictEqual(answers(Service.outage(calm, { ...times, how: "hang" }), [1500], within("2 seconds")), [
      ["interrupted", 3500]
    ])
  })

  it("says when it is, also around another", () => {
    const twice = pipe(
      calm,
      Service.outage({ ...times, how: "hang" }),
      Service.outage({ from: "5 seconds", to: "6 seconds", how: Service.timedOut })
    )
    assert.deepStrictEqual(twice.disturbances, [
      { from: 1_000_000, to: 2_000_000 },
      { from: 5_000_000, to: 6_000_000 }
    ])
    assert.strictEqual(
      twice.description,
      "any number of calls at once, 100ms each; no answer from 1s to 2s; time-outs from 5s to 6s"
    )
  })
})

describe("Service.failing", () => {
  const flaky = (share: number) => Service.failing(Service.unlimited({ takes: "10 millis" }), { share })

  it("fails its share of the calls, after their time, and never or always at the ends", () => {
    const all = new Array<number>(4000).fill(0)
    const share = outcomes(flaky(0.3), all).filter((outcome) => outcome === "refused 503").length / all.length
    assert.closeTo(share, 0.3, 3.5 * Math.sqrt((0.3 * 0.7) / all.length))
    assert.deepStrictEqual(answers(flaky(1), [0]), [["refused 503", 10]])
    assert.deepStrictEqual(answers(flaky(0), [0]), [["succeeded", 10]])
  })

  it("around another draws its own chance", () => {
    const all = new Array<number>(4000).fill(0)
    const both = Service.failing(flaky(0.5), { share: 0.5, how: Service.refused(500) })
    const share = outcomes(both, all).filter((outcome) => outcome === "succeeded").length / all.length
    assert.closeTo(share, 0.25, 3.5 * Math.sqrt((0.25 * 0.75) / all.length))
  })
})

describe("Service.remote", () => {
  const far = Service.remote(capacity(1), { hop: "20 millis" })

  it("adds a hop each way, for failures too", () => {
    assert.deepStrictEqual(answers(far, [0]), [["succeeded", 140]])
    assert.deepStrictEqual(answers(Service.remote(capacity(1, "refuse"), { hop: "20 millis" }), [0, 50]), [
      ["succeeded", 140],
      ["refused 503", 90]
    ])
  })

  it("brings a request to the service even if its caller has gone meanwhile", () => {
    const [gone, other] = calls(far, [0, 30], (call) =>
      call.pipe(
        within("10 millis"),
        Effect.orElse(() => Effect.void)
      )
    )
    assert.deepInclude(gone, { outcome: "interrupted", endedAt: 10_000, work: 100_000 })
    assert.deepInclude(other, { outcome: "interrupted", endedAt: 40_000, work: 100_000 })
  })
})

describe("Service.behind", () => {
  const down = Service.outage(Service.unlimited({ takes: 0 }), { from: 0, to: "1 hour", how: Service.refused(503) })
  const summary = (service: Service.Service, client: Scenario.Scenario["client"]) =>
    Summary.of(
      Effect.runSync(
        Simulation.run(Scenario.make({ name: "layers", service, clients: Clients.together(1), client, until: "1 minute" }), {
          seed: 1
        })
      )
    )

  it("counts the calls that reach each layer", () => {
    const twice: Policy = Effect.retry({ times: 1 })
    const two = pipe(down, Service.behind({ layer: "back", policy: twice }), Service.behind({ layer: "front", policy: once }))
    assert.deepStrictEqual(summary(two, twice).calls, { front: 2, back: 2, service: 4 })
    assert.deepStrictEqual(two.layers, ["front", "back", "service"])
  })

  it("is another process: what the caller's fiber carries does not reach it", () => {
    class Mark extends Context.Reference<Mark>()("Mark", { defaultValue: () => "none" }) {}
    const seen: Array<string> = []
    const look: Policy = (call) =>
      Effect.zipRight(
        Effect.map(Mark, (mark) => seen.push(mark)),
        call
      )
    summary(Service.behind(down, { layer: "front", policy: look }), (call) =>
      Effect.provideService(look(call), Mark, "caller's")
    )
    assert.deepStrictEqual(seen, ["caller's", "none"])
  })

  it("hands the failure of the layer below up to the client", () => {
    assert.deepInclude(summary(Service.behind(down, { layer: "front", policy: once }), once), { attempts: 1, gaveUp: 1 })
  })

  const slow = Service.outage(Service.unlimited({ takes: 0 }), { from: 0, to: "10 seconds", how: Service.refused(503) })
  const everySecond: Policy = Effect.retry(Schedule.spaced("1 second"))

  it("goes on for a client that has gone, unless it is told to cancel", () => {
    const impatient = within("2500 millis")
    const goesOn = Service.behind(slow, { layer: "front", policy: everySecond })
    assert.deepStrictEqual(summary(goesOn, impatient).calls, { front: 1, service: 11 })
    const cancels = Service.behind(slow, { layer: "front", policy: everySecond, cancels: true })
    assert.deepStrictEqual(summary(cancels, impatient).calls, { front: 1, service: 3 })
  })

  it("tells a queue that drops what is expired of its own time limits, and of its caller where it cancels", () => {
    const queue = Service.queue({ servers: 1, takes: "1 second", dropExpired: true })
    const work = (service: Service.Service) => {
      const clients = Clients.staggered(4, "1 millis")
      const scenario = Scenario.make({ name: "expired", service, clients, client: within("1500 millis"), until: "1 minute" })
      return Summary.of(Effect.runSync(Simulation.run(scenario, { seed: 1 }))).work
    }
    // Two are begun in time; the other two have expired by then.
    assert.strictEqual(work(queue), 2000)
    assert.strictEqual(work(Service.behind(queue, { layer: "front", policy: once, cancels: true })), 2000)
    assert.strictEqual(work(Service.behind(queue, { layer: "front", policy: once })), 4000)
    assert.strictEqual(work(Service.behind(queue, { layer: "front", policy: within("500 millis") })), 1000)
  })

  it("draws its waits from a stream of its own, not from the client's", () => {
    const jittered: Policy = Effect.retry(Schedule.jittered(Schedule.spaced("1 second")))
    const firstWait = (service: Service.Service) => {
      const [operation] = Trace.operations(
        Effect.runSync(
          Simulation.run(
            Scenario.make({ name: "jitter", service, clients: Clients.together(1), client: jittered, until: "5 seconds" }),
            { seed: 1 }
          )
        )
      )
      return operation!.attempts[1]!.startedAt - operation!.attempts[0]!.endedAt!
    }
    const twice = Service.behind(slow, { layer: "front", policy: Effect.retry(Schedule.jittered(Schedule.recurs(1))) })
    assert.strictEqual(firstWait(twice), firstWait(slow))
  })

  it("refuses a name that a layer has already", () => {
    assert.throws(
      () => Service.behind(down, { layer: "service", policy: once }),
      InvalidOption.InvalidOption,
      "Service.behind: layer must be a name that no layer has yet"
    )
  })
})

describe("Service.make", () => {
  it("opens fresh state for each run", () => {
    const counting = Service.make({
      description: "the first call of a run only",
      open: () => {
        let calls = 0
        return () => Effect.suspend(() => (++calls === 1 ? Effect.void : Effect.fail(Service.timedOut)))
      }
    })
    for (let run = 0; run < 2; run++) assert.deepStrictEqual(outcomes(counting, [0, 1]), ["succeeded", "timed out"])
  })

  it("lets a defect of the service end the run", () => {
    const scenario = Scenario.make({
      name: "bug",
      service: Service.make({ description: "a bug", open: () => () => Effect.die("bug") }),
      clients: Clients.together(1),
      client: once,
      until: "1 second"
    })
    assert.isTrue(Exit.isFailure(Effect.runSyncExit(Simulation.run(scenario, { seed: 1 }))))
  })
})
