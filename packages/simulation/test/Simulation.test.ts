import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { Clients, Scenario, Service, Simulation, Summary, Trace, VirtualTime } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Schedule, TestClock, TestContext } from "effect"
import { policies, sixClients } from "./oracle.js"

const storm = (client: Scenario.Scenario["client"], clients = Clients.together(6)) =>
  Scenario.make({
    name: "six clients",
    service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
    clients,
    client,
    until: "2 seconds"
  })

const exponential = Backoff.exponential({ base: "100 millis", cap: "800 millis" })
const fullJitter = exponential.pipe(Jitter.full, Limit.attempts(5))

const atOnceStorm = storm(Effect.retry(Schedule.forever))
const exponentialStorm = storm(Effect.retry(exponential))
const jitterStorm = storm(Effect.retry(fullJitter))

const run = (scenario: Scenario.Scenario, seed: number) => Effect.runSync(Simulation.run(scenario, { seed }))

const perClient = (trace: Trace.Trace) =>
  Trace.operations(trace).map(({ attempts, endedAt, outcome }) => ({
    attempts: attempts.length,
    succeededAt: outcome === "succeeded" ? endedAt! / 1000 : undefined
  }))

describe("Simulation against a plain event loop without Effect", () => {
  it.each([
    { policy: "at once", scenario: atOnceStorm, oracle: policies.atOnce, seeds: 1 },
    { policy: "exponential", scenario: exponentialStorm, oracle: policies.exponential, seeds: 1 },
    { policy: "full jitter", scenario: jitterStorm, oracle: policies.fullJitter, seeds: 500 }
  ])(
    "agrees on attempts, outcome and recovery of every client: $policy, $seeds of $seeds seeds",
    ({ oracle, scenario, seeds }) => {
      for (let seed = 1; seed <= seeds; seed++) {
        assert.deepStrictEqual(perClient(run(scenario, seed)), sixClients(seed, oracle), `seed ${seed}`)
      }
    }
  )
})

describe("Simulation against Effect's stock TestClock", () => {
  it.each([
    { storm: "A2", scenario: atOnceStorm, seed: 1, attempts: 120, succeeded: 0 },
    { storm: "A3", scenario: exponentialStorm, seed: 1, attempts: 30, succeeded: 0 },
    { storm: "A4", scenario: jitterStorm, seed: 6, attempts: 19, succeeded: 6 }
  ])("gives the same counts: $storm", async ({ attempts, scenario, seed, succeeded }) => {
    const stock = await Effect.gen(function* () {
      const fiber = yield* Effect.fork(Simulation.record(scenario, { seed }))
      yield* TestClock.adjust("3 seconds")
      return Summary.of(yield* Fiber.join(fiber))
    }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)
    const ours = Summary.of(run(scenario, seed))
    assert.deepStrictEqual([stock.attempts, stock.succeeded], [attempts, succeeded])
    assert.deepStrictEqual(stock, ours)
  })
})

describe("Simulation", () => {
  it("gives the same trace for the same seed, byte for byte, and another for another", () => {
    assert.strictEqual(Trace.toText(run(jitterStorm, 14)), Trace.toText(run(jitterStorm, 14)))
    assert.notStrictEqual(Trace.toText(run(jitterStorm, 14)), Trace.toText(run(jitterStorm, 15)))
  })

  it("finds out by itself whether a scenario is deterministic, and where it is not", () => {
    const same = Effect.runSync(Simulation.checkDeterminism(jitterStorm, { seed: 14 }))
    assert.deepStrictEqual(same, run(jitterStorm, 14))
    let calls = 0
    const forgetful = storm((call) => Effect.zipRight(call, Effect.sleep(calls++)), Clients.together(1))
    const error = Effect.runSync(Effect.flip(Simulation.checkDeterminism(forgetful, { seed: 14 })))
    assert.isTrue(error instanceof Simulation.NotDeterministic)
    assert.match(error.message, /^Two runs with seed 14 differ from line \d+ of the trace on:\n {2}\{.*\n {2}\{/)
  })

  it("leaves the draws of a client alone when another joins", () => {
    const firstWait = (clients: number) => {
      const [operation] = Trace.operations(run(storm(Effect.retry(fullJitter), Clients.together(clients)), 3))
      return operation!.attempts[1]!.startedAt
    }
    assert.strictEqual(firstWait(6), firstWait(7))
  })

  it("gives each client its number, and all of one run what an effect has made for them", () => {
    const seen: Array<string> = []
    let runs = 0
    const scenario = Scenario.make({
      name: "shared",
      service: Service.unlimited({ takes: "1 milli" }),
      clients: Clients.together(2),
      client: Effect.sync(() => {
        const run = ++runs
        return (call, client) =>
          Effect.zipRight(
            call,
            Effect.sync(() => seen.push(`run ${run}, client ${client}`))
          )
      }),
      until: "1 second"
    })
    for (const seed of [1, 2]) Effect.runSync(Simulation.run(scenario, { seed }))
    assert.deepStrictEqual(seen, ["run 1, client 0", "run 1, client 1", "run 2, client 0", "run 2, client 1"])
  })

  it("counts an attempt that starts before the end and an outcome that is there by then, none later", () => {
    const summary = (until: Duration.DurationInput) =>
      Summary.of(
        run({ ...storm((call) => Effect.delay(call, "100 millis"), Clients.together(1)), until: Duration.decode(until) }, 1)
      )
    assert.deepInclude(summary("100 millis"), { attempts: 0, succeeded: 0, unfinished: 1 })
    assert.deepInclude(summary("101 millis"), { attempts: 1, succeeded: 0, unfinished: 1 })
    assert.deepInclude(summary("199 millis"), { attempts: 1, succeeded: 0, unfinished: 1 })
    assert.deepInclude(summary("200 millis"), { attempts: 1, succeeded: 1, unfinished: 0 })
  })

  it("ends with a typed error where a client waits for what virtual time cannot bring", () => {
    const waits = Scenario.make({ ...jitterStorm, client: () => Effect.promise(() => Promise.resolve()), until: "1 second" })
    const error = Effect.runSync(Effect.flip(Simulation.run(waits, { seed: 1 })))
    assert.isTrue(error instanceof VirtualTime.RealAsynchrony)
  })

  it("lets a defect in a client end the run: it is a bug in the scenario", () => {
    const exit = Effect.runSyncExit(
      Simulation.run(
        storm(() => Effect.die("bug")),
        { seed: 1 }
      )
    )
    assert.isTrue(Exit.isFailure(exit))
  })

  it("replicates in order of the seeds, tells its progress, and gives what single runs give", async () => {
    const progress: Array<number> = []
    const summaries = await Effect.runPromise(
      Simulation.replicate(jitterStorm, {
        seeds: 250,
        firstSeed: 11,
        onProgress: (done) => Effect.sync(() => progress.push(done))
      })
    )
    assert.deepStrictEqual(progress, [100, 200, 250])
    assert.deepStrictEqual(
      summaries.map(({ seed }) => seed),
      Array.from({ length: 250 }, (_, index) => 11 + index)
    )
    assert.deepStrictEqual(summaries[42], Summary.of(run(jitterStorm, 53)))
  })

  it("stops replicating when interrupted", async () => {
    const fiber = Effect.runFork(Simulation.replicate(jitterStorm, { seeds: 1_000_000 }))
    const exit = await Effect.runPromise(Effect.delay(Fiber.interrupt(fiber), 20))
    assert.isTrue(Exit.isInterrupted(exit))
  })
})

describe("Summary", () => {
  it("tells the figures of a run", () => {
    assert.deepStrictEqual(Summary.of(run(exponentialStorm, 1)), {
      seed: 1,
      operations: 6,
      attempts: 30,
      retries: 24,
      succeeded: 0,
      gaveUp: 0,
      unfinished: 6,
      amplification: 5,
      peakInFlight: 6,
      timeOverCapacity: 500,
      allSucceededAt: undefined,
      recovery: undefined,
      // All of it for attempts that time out.
      work: 3000,
      wastedWork: 3000,
      calls: { service: 30 }
    })
  })

  it("tells giving up from not being done", () => {
    const once = storm(Effect.retry(Limit.attempts(exponential, 2)))
    assert.deepInclude(Summary.of(run(once, 1)), { attempts: 12, gaveUp: 6, unfinished: 0, allSucceededAt: undefined })
  })
})

it("VirtualTime runs a recording to its end on its own", () => {
  const exit = Effect.runSyncExit(VirtualTime.run(Simulation.record(jitterStorm, { seed: 6 })))
  assert.isTrue(Exit.isSuccess(exit))
})
