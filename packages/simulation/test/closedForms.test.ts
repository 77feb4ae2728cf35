import { Backoff, Jitter } from "@breakwater/schedule"
import { Clients, Distribution, Latency, Recovery, Scenario, Service, Simulation, Summary } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, pipe, Schedule } from "effect"

type Options = Omit<Parameters<typeof Scenario.make>[0], "name">

const run = (options: Options, seed = 1) =>
  Effect.runSync(Simulation.run(Scenario.make({ name: "closed form", ...options }), { seed }))

const summary = (options: Options, seed = 1) => Summary.of(run(options, seed))

const calm = Service.unlimited({ takes: "1 millis" })

const down = Service.outage(calm, { from: 0, to: "1 hour", how: Service.refused(503) })

/** Mean and standard deviation of the attempts of an operation that repeats each failure up to a number of attempts. */
const geometric = (failure: number, most: number) => {
  const share = (n: number) => (n === most ? failure ** (n - 1) : failure ** (n - 1) * (1 - failure))
  const all = Array.from({ length: most }, (_, index) => index + 1)
  const mean = all.reduce((sum, n) => sum + n * share(n), 0)
  const square = all.reduce((sum, n) => sum + n * n * share(n), 0)
  return { mean, deviation: Math.sqrt(square - mean ** 2) }
}

describe("independent failures", () => {
  const clients = 2000

  // Site Reliability Engineering, chapter 21: 1 + r + r².
  it.each([
    { share: 0.9, load: 2.71 },
    { share: 0.99, load: 2.9701 }
  ])("up to three attempts at a failure rate of $share: $load calls for each operation", ({ load, share }) => {
    const { deviation, mean } = geometric(share, 3)
    assert.closeTo(mean, load, 1e-12)
    const { amplification } = summary({
      service: Service.failing(calm, { share }),
      clients: Clients.together(clients),
      client: Effect.retry({ times: 2 }),
      until: "1 second"
    })
    assert.closeTo(amplification, load, (3.5 * deviation) / Math.sqrt(clients))
  })

  // Brooker, "Fixing retries with token buckets and circuit breakers", 2022: one call and three retries.
  it.each([0.2, 0.3, 0.5, 0.75, 1])(
    "three retries at a failure rate of %d: success 1 - f⁴, load (1 - f⁴) / (1 - f)",
    (share) => {
      const { deviation, mean } = geometric(share, 4)
      if (share < 1) assert.closeTo(mean, (1 - share ** 4) / (1 - share), 1e-12)
      const { amplification, succeeded } = summary({
        service: Service.remote(Service.failing(Service.unlimited({ takes: 0 }), { share }), {
          hop: Latency.exponential({ mean: "10 millis" })
        }),
        clients: Clients.together(clients),
        client: Effect.retry({ times: 3 }),
        until: "10 seconds"
      })
      assert.closeTo(amplification, mean, (3.5 * deviation) / Math.sqrt(clients))
      assert.closeTo(succeeded / clients, 1 - share ** 4, 3.5 * Math.sqrt((share ** 4 * (1 - share ** 4)) / clients))
    }
  )

  it.each([
    { share: 0.5, load: 2 },
    { share: 0.9, load: 10 }
  ])("retries without end at a failure rate of $share: $load calls for each operation", ({ load, share }) => {
    const { amplification, succeeded } = summary({
      service: Service.failing(calm, { share }),
      clients: Clients.together(clients),
      client: Effect.retry(Schedule.forever),
      until: "10 seconds"
    })
    assert.strictEqual(succeeded, clients)
    assert.closeTo(amplification, load, (3.5 * Math.sqrt(share)) / (1 - share) / Math.sqrt(clients))
  })
})

describe("layers that each retry", () => {
  const attempts = (layers: number, each: number) => {
    const service = Array.from({ length: layers - 1 }).reduce<Service.Service>(
      (below, _, index) => Service.behind(below, { layer: `layer ${index}`, policy: Effect.retry({ times: each - 1 }) }),
      down
    )
    const { calls } = summary({
      service,
      clients: Clients.together(1),
      client: Effect.retry({ times: each - 1 }),
      until: "1 minute"
    })
    return calls["service"]
  }

  it.each([
    { what: "3 layers of 3 retries (Site Reliability Engineering, chapter 22)", layers: 3, each: 4, bottom: 64 },
    { what: "5 layers of 3 attempts (Amazon Builders' Library)", layers: 5, each: 3, bottom: 243 },
    { what: "an application behind a sidecar", layers: 2, each: 3, bottom: 9 },
    { what: "3 layers of 3 attempts", layers: 3, each: 3, bottom: 27 }
  ])("$what: $bottom calls at the bottom", ({ bottom, each, layers }) => {
    assert.strictEqual(attempts(layers, each), bottom)
  })

  it("1,000 requests that fail with 2 retries each are 3,000 attempts", () => {
    const options = {
      service: down,
      clients: Clients.together(1000),
      client: Effect.retry({ times: 2 }),
      until: "1 second"
    } as const
    assert.deepInclude(summary(options), { attempts: 3000, retries: 2000, gaveUp: 1000, amplification: 3 })
  })
})

describe("a rate limit", () => {
  const limited = { clients: Clients.together(20), until: "10 seconds" } as const
  const service = Service.rateLimited({ permits: 5, per: "1 second", takes: 0 })
  const afterRetryAfter = pipe(
    Schedule.identity<Service.Failure>(),
    Schedule.addDelay((failure) => (failure._tag === "Refused" ? (failure.retryAfter ?? 0) : 0))
  )

  it("20 clients that repeat every 10 ms ask 3,020 times for 20 permits", () => {
    const { attempts, succeeded } = summary({ ...limited, service, client: Effect.retry(Schedule.spaced("10 millis")) })
    assert.deepStrictEqual([attempts, succeeded], [3020, 20])
  })

  it("20 clients that wait for the Retry-After ask 50 times", () => {
    const { attempts, succeeded } = summary({ ...limited, service, client: Effect.retry(afterRetryAfter) })
    assert.deepStrictEqual([attempts, succeeded], [50, 20])
  })

  // Site Reliability Engineering, chapter 22, a hundredth of its size: the total grows by the excess each second, for ever.
  it("1 % too many, repeated every second: 101, 102, 103, ... calls in each second", () => {
    const trace = run({
      service: Service.rateLimited({ permits: 100, per: "1 second", takes: 0 }),
      clients: Clients.evenlySpaced({ rate: 101 }),
      client: Effect.retry(Schedule.spaced("1 second")),
      until: "8 seconds"
    })
    const perSecond = Array.from({ length: 8 }, (_, second) =>
      trace.events.filter(({ _tag, at }) => _tag === "AttemptStarted" && Math.floor(at / 1e6) === second)
    )
    assert.deepStrictEqual(
      perSecond.map((attempts) => attempts.length),
      [101, 102, 103, 104, 105, 106, 107, 108]
    )
  })
})

describe("contention for one row (Brooker 2015)", () => {
  const contention = (clients: number, hop: Latency.Latency, policy: Schedule.Schedule<unknown>, seed = 1) =>
    summary(
      {
        service: Service.contended({ hop }),
        clients: Clients.together(clients),
        client: Effect.retry(policy),
        until: "2 minutes"
      },
      seed
    )

  const constant = Latency.constant("10 millis")
  const brooker = Latency.normal({ mean: "10 millis", deviation: "2 millis", folded: true })

  it("one client: one call, four hops", () => {
    assert.deepInclude(contention(1, constant, Schedule.forever), { attempts: 1, allSucceededAt: 40 })
  })

  it("two clients: exactly three calls, whatever the network", () => {
    for (let seed = 1; seed <= 200; seed++) assert.strictEqual(contention(2, brooker, Schedule.forever, seed).attempts, 3)
    assert.deepInclude(contention(2, constant, Schedule.forever), { attempts: 3, allSucceededAt: 80 })
  })

  // Means and deviations of single runs from 500 runs of an independent implementation of the published model.
  it.each([
    { policy: "none", schedule: Schedule.forever, calls: 152.1, deviation: 12.5, time: 601, timeDeviation: 56 },
    {
      policy: "exponential",
      schedule: Backoff.exponential({ base: 10, cap: 2000 }),
      calls: 150.3,
      deviation: 13.3,
      time: 14_482,
      timeDeviation: 2774
    },
    {
      policy: "full jitter",
      schedule: Backoff.exponential({ base: 10, cap: 2000 }).pipe(Jitter.full),
      calls: 100.2,
      deviation: 3.4,
      time: 998,
      timeDeviation: 257
    }
  ])("20 clients, $policy: $calls calls in $time ms", ({ calls, deviation, schedule, time, timeDeviation }) => {
    const runs = Array.from({ length: 40 }, (_, index) => contention(20, brooker, schedule, index + 1))
    const errors = 3.5 * Math.sqrt(1 / 40 + 1 / 500)
    assert.closeTo(Distribution.mean(runs.map(({ attempts }) => attempts)), calls, errors * deviation)
    assert.closeTo(Distribution.mean(runs.map((each) => each.allSucceededAt!)), time, errors * timeDeviation)
  })
})

/**
 * A server with room for C calls a second, clients that come evenly, give up after a second and try again once, and a pause:
 * what keeps it down afterwards is its own retries (Bronson and others, "Metastable Failures in Distributed Systems", HotOS 2021).
 */
describe("metastable failure", { timeout: 60_000 }, () => {
  const T = 1

  /** How many seconds after the pause all is well. */
  const after = (options: {
    readonly C: number
    readonly rate: number
    readonly pause: number
    readonly until: number
    readonly retries?: number
    readonly queue?: Partial<Parameters<typeof Service.queue>[0]>
    readonly clients?: Clients.Clients
  }): number => {
    const recovery = Recovery.of(
      run({
        service: Service.queue({
          servers: 1,
          takes: Duration.micros(BigInt(Math.round(1e6 / options.C))),
          pause: { from: "5 seconds", to: Duration.seconds(5 + options.pause) },
          ...options.queue
        }),
        clients: options.clients ?? Clients.evenlySpaced({ rate: options.rate }),
        client: (call) =>
          Effect.timeoutFail(call, { duration: Duration.seconds(T), onTimeout: () => Service.timedOut }).pipe(
            Effect.retry({ times: options.retries ?? 1 })
          ),
        until: Duration.seconds(options.until)
      }),
      { window: "250 millis", windows: 12 }
    )!
    return recovery._tag === "Recovered" ? recovery.after / 1000 : Infinity
  }

  // Until the queue is down to what fits into the time limit, the server works off what was queued in the pause, against retries.
  const untilWaitsFit = (C: number, rate: number, pause: number) => (rate * T + 2 * rate * (pause - T) - C * T) / (C - 2 * rate)

  it.each([
    { rate: 10, formula: 16 },
    { rate: 12, formula: 33 }
  ])(
    "at $rate of 30 calls a second, a pause of 10 s is over after $formula s and a last round of retries",
    ({ formula, rate }) => {
      assert.closeTo(untilWaitsFit(30, rate, 10), formula, 1e-9)
      assert.closeTo(after({ C: 30, rate, pause: 10, until: 70 }), formula + T, 1)
    }
  )

  it("at 16 calls a second, above half of what the server can carry, it never is", () => {
    assert.strictEqual(after({ C: 30, rate: 16, pause: 10, until: 100 }), Infinity)
  })

  it("without retries, 28 calls a second are no danger: it takes its time, but it ends", () => {
    assert.closeTo(after({ C: 30, rate: 28, pause: 10, until: 180, retries: 0 }), (28 * 10 - 30 * T) / (30 - 28), 2)
  })

  // The longest pause that is survived is T + (C - rate) T / (2 rate).
  it.each([
    { rate: 280, survived: 1, longest: 1.036, deadly: 1.05 },
    { rate: 200, survived: 1.2, longest: 1.25, deadly: 1.3 }
  ])("at $rate of 300 calls a second a pause of $survived s is survived, one of $deadly s is not", (options) => {
    const { deadly, longest, rate, survived } = options
    assert.closeTo(T + ((300 - rate) * T) / (2 * rate), longest, 0.001)
    assert.isBelow(after({ C: 300, rate, pause: survived, until: 15 }), 3)
    assert.strictEqual(after({ C: 300, rate, pause: deadly, until: 15 }), Infinity)
  })

  it("a server that drops calls whose caller has gone is well at once, as long as it can carry every call with its retry", () => {
    assert.isAtMost(after({ C: 30, rate: 14, pause: 10, until: 30, queue: { dropExpired: true } }), 0.5)
  })

  it("beyond that too if chance mixes the order, but not in lockstep: then it begins each call just before its caller goes", () => {
    const stress = { C: 30, rate: 16, pause: 10, until: 60 }
    const takes = Latency.exponential({ mean: 1000 / 30 })
    assert.isBelow(after({ ...stress, clients: Clients.openLoop({ rate: 16 }), queue: { dropExpired: true, takes } }), 10)
    assert.strictEqual(after({ ...stress, queue: { dropExpired: true } }), Infinity)
  })
})
