/**
 * What holds for every schedule of this package, whatever its options, its seed and what it is combined with.
 */
import { Distribution, VirtualTime } from "@breakwater/simulation"
import { Backoff, Jitter, Limit, RetryAfter } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schedule from "effect/Schedule"
import { calls, waits } from "./schedule.js"

const cap = FastCheck.integer({ min: 0, max: 100_000 })
const base = FastCheck.integer({ min: 0, max: 10_000 })
const seed = FastCheck.integer()

const backoff = FastCheck.oneof(
  FastCheck.tuple(base, cap, FastCheck.double({ min: 1, max: 10, noNaN: true })).map(([base, cap, factor]) =>
    Backoff.exponential({ base, cap, factor })
  ),
  FastCheck.tuple(base, cap).map(([base, cap]) => Backoff.linear({ base, cap })),
  FastCheck.tuple(base, cap).map(([base, cap]) => Backoff.fibonacci({ base, cap })),
  FastCheck.tuple(base, cap).map(([base, above]) => Backoff.decorrelated({ base, cap: base + above })),
  base.map((delay) => Backoff.constant({ delay })),
  FastCheck.tuple(base, cap).map(([base, cap]) => Backoff.exponential({ base, cap, immediateFirst: true }))
)

const jitter = FastCheck.oneof(
  FastCheck.constant((self: Backoff.Backoff): Schedule.Schedule<unknown> => self),
  FastCheck.constant((self: Backoff.Backoff): Schedule.Schedule<unknown> => Jitter.full(self)),
  FastCheck.constant((self: Backoff.Backoff): Schedule.Schedule<unknown> => Jitter.equal(self)),
  FastCheck.double({ min: 0, max: 1, noNaN: true }).map(
    (ratio) =>
      (self: Backoff.Backoff): Schedule.Schedule<unknown> =>
        Jitter.proportional(self, ratio)
  )
)

describe("laws", () => {
  it("every wait is a whole number of milliseconds from 0 to the cap", () => {
    FastCheck.assert(
      FastCheck.property(backoff, jitter, seed, (backoff, jitter, seed) => {
        const cap = Duration.toMillis(backoff.cap)
        for (const wait of waits(jitter(backoff), "down", { count: 12, seed })) {
          assert.isTrue(Number.isInteger(wait) && wait >= 0 && wait <= cap, `${wait} of ${cap}`)
        }
      })
    )
  })

  it("equal seeds give equal waits", () => {
    FastCheck.assert(
      FastCheck.property(backoff, jitter, seed, (backoff, jitter, seed) => {
        const of = () => waits(jitter(backoff), "down", { count: 8, seed })
        assert.deepStrictEqual(of(), of())
      })
    )
  })

  it("a server's time is never shortened, whatever backoff and jitter are under it", () => {
    const server = FastCheck.integer({ min: 0, max: 60_000 })
    FastCheck.assert(
      FastCheck.property(backoff, jitter, server, seed, (backoff, jitter, server, seed) => {
        const schedule = RetryAfter.respect(jitter(backoff), { of: () => Duration.millis(server) })
        const own = Duration.toMillis(backoff.cap)
        for (const wait of waits(schedule, "down", { count: 6, seed })) {
          assert.isTrue(Number.isInteger(wait) && wait >= server && wait <= Math.max(own, Math.round(server * 1.1)))
        }
      })
    )
  })

  it("a limit is kept exactly, whatever is under it", () => {
    FastCheck.assert(
      FastCheck.property(backoff, jitter, FastCheck.integer({ min: 1, max: 20 }), seed, (backoff, jitter, attempts, seed) => {
        assert.strictEqual(calls(jitter(backoff).pipe(Limit.attempts(attempts)), () => "down", { seed }).calls.length, attempts)
      })
    )
    FastCheck.assert(
      FastCheck.property(
        backoff.filter(({ cap }) => Duration.toMillis(cap) > 0),
        FastCheck.integer({ min: 0, max: 100_000 }),
        FastCheck.integer({ min: 1, max: 5000 }),
        (backoff, limit, callTakes) => {
          const schedule = backoff.pipe(Limit.elapsed(limit))
          const { calls: at } = calls(schedule, () => "down", { callTakes })
          // Counted from the first failure; what starts at the limit itself is too late.
          assert.isTrue(at.slice(1).every((time) => time - callTakes < Math.max(limit, 0)))
        }
      )
    )
  })
})

describe("distributions, within 3.5 standard errors over 20,000 draws", () => {
  const wait = 1000
  const draws = 20_000
  const constant = Backoff.constant({ delay: wait })
  /** Mean and standard deviation of a uniform distribution over the whole numbers of an interval. */
  const uniform = (low: number, high: number) => ({
    mean: (low + high) / 2,
    deviation: Math.sqrt(((high - low + 1) ** 2 - 1) / 12)
  })

  it.each([
    { jitter: "full", schedule: Jitter.full(constant), expected: uniform(0, wait) },
    { jitter: "equal", schedule: Jitter.equal(constant), expected: uniform(wait / 2, wait) },
    {
      jitter: "proportional",
      schedule: Jitter.proportional(constant, { ratio: 0.3, cap: "1 minute" }),
      expected: uniform(700, 1300)
    },
    { jitter: "proportional at the cap", schedule: Jitter.proportional(constant, 0.25), expected: uniform(600, wait) }
  ])("$jitter has the mean and the spread of its formula", ({ expected, schedule }) => {
    const drawn = waits(schedule, "down", { count: draws })
    const mean = Distribution.mean(drawn)
    const deviation = Math.sqrt(Distribution.mean(drawn.map((value) => (value - mean) ** 2)))
    assert.closeTo(mean, expected.mean, (3.5 * expected.deviation) / Math.sqrt(draws))
    // Standard error of the deviation of a uniform distribution, whose kurtosis is 1.8.
    assert.closeTo(deviation, expected.deviation, 3.5 * expected.deviation * Math.sqrt(0.8 / (4 * draws)))
  })
})

describe("a schedule is a value", () => {
  it("one that 1,000 retries share behaves as if each had its own", () => {
    const schedule = Backoff.exponential({ base: "100 millis" }).pipe(
      RetryAfter.respect({ of: () => undefined }),
      Limit.elapsed("1 minute"),
      Limit.attempts(5)
    )
    const client = (startsAt: number) =>
      Effect.gen(function* () {
        yield* Effect.sleep(startsAt)
        const times: Array<number> = []
        yield* Effect.flatMap(Clock.currentTimeMillis, (now) => {
          times.push(now - startsAt)
          return Effect.fail("down")
        }).pipe(Effect.retry(schedule), Effect.ignore)
        return times
      })
    const clients = Effect.forEach(
      Array.from({ length: 1000 }, (_, index) => index * 7),
      client,
      { concurrency: "unbounded" }
    )
    for (const times of Effect.runSync(VirtualTime.run(clients))) assert.deepStrictEqual(times, [0, 100, 300, 700, 1500])
  })

  it("draws for each of many retries apart where they share a jittered schedule", () => {
    const schedule = Backoff.constant({ delay: "1 minute" }).pipe(Jitter.full, Limit.attempts(2))
    const client = Effect.gen(function* () {
      yield* Effect.ignore(Effect.retry(Effect.fail("down"), schedule))
      return yield* Clock.currentTimeMillis
    })
    const ends = Effect.runSync(
      VirtualTime.run(
        Effect.all(
          Array.from({ length: 1000 }, () => client),
          { concurrency: "unbounded" }
        )
      )
    )
    assert.isAbove(new Set(ends).size, 950)
  })
})

describe("piped with Effect's own combinators a schedule keeps its promise", () => {
  const exponential = Backoff.exponential({ base: 100, cap: 800 })
  const full = Jitter.full(exponential)

  it("intersect takes the longer wait and ends with the shorter schedule", () => {
    const schedule = exponential.pipe(Schedule.intersect(Schedule.recurs(3)))
    assert.deepStrictEqual(calls(schedule, () => "down").calls, [0, 100, 300, 700])
    const longer = full.pipe(Schedule.intersect(Schedule.spaced(500)))
    assert.isTrue(waits(longer, "down", { count: 50 }).every((wait) => wait >= 500 && wait <= 800))
  })

  it("union takes the shorter wait", () => {
    const schedule = exponential.pipe(Schedule.union(Schedule.spaced(300)))
    assert.deepStrictEqual(waits(schedule, "down", { count: 4 }), [100, 200, 300, 300])
  })

  it("andThen starts the second where the first has ended", () => {
    const schedule = exponential.pipe(
      Limit.retries(2),
      Schedule.andThen(Backoff.constant({ delay: 5000 }).pipe(Limit.retries(2)))
    )
    assert.deepStrictEqual(calls(schedule, () => "down").calls, [0, 100, 300, 5300, 10_300])
  })

  it("whileInput ends it by the error", () => {
    const schedule = full.pipe(Schedule.whileInput((error: string) => error === "down"))
    assert.strictEqual(calls(schedule, (call) => (call < 4 ? "down" : "fatal")).calls.length, 4)
  })

  it("tapOutput sees the waits before jitter", () => {
    const seen: Array<number> = []
    const schedule = full.pipe(Schedule.tapOutput((out) => Effect.sync(() => seen.push(Duration.toMillis(out)))))
    waits(schedule, "down", { count: 5 })
    assert.deepStrictEqual(seen, [100, 200, 400, 800, 800])
  })

  it("modifyDelay sees and changes the wait that would be slept", () => {
    const schedule = full.pipe(
      Schedule.modifyDelay((_, delay) => Duration.min(delay, "50 millis")),
      Limit.retries(40)
    )
    assert.isTrue(waits(schedule, "down", { count: 40 }).every((wait) => wait <= 50))
  })

  it("a limit around a schedule of Effect changes none of its waits", () => {
    const windowed = Schedule.windowed(1000)
    const limited = calls(windowed.pipe(Limit.attempts(4)), () => "down", { callTakes: 300 })
    // Windows are counted from the first failure.
    assert.deepStrictEqual(limited.calls, [0, 1300, 2300, 3300])
    assert.deepStrictEqual(
      calls(windowed.pipe(Schedule.intersect(Schedule.recurs(3))), () => "down", { callTakes: 300 }),
      limited
    )
  })
})
