/**
 * A function that retries, tested without waiting: with `it.virtual`, where time moves by itself, and with `it.effect`, where the
 * test moves it. How to choose: docs/testing-retries.md
 */
import { RandomStream } from "@breakwater/core"
import { Backoff, Jitter, Limit, RetryObserver } from "@breakwater/schedule"
import { SeededRandom } from "@breakwater/simulation"
import { it } from "@breakwater/simulation/vitest"
import { Clock, Duration, Effect, Fiber, TestClock } from "effect"
import { describe, expect } from "vitest"

/** What is tested: four attempts of a second each at the most, with waits drawn at random. */
const getPrice = (ask: Effect.Effect<string, "down" | "too slow">) =>
  ask.pipe(
    Effect.timeoutFail({ duration: "1 second", onTimeout: () => "too slow" as const }),
    Effect.retry(Backoff.exponential({ base: "100 millis", cap: "1 second" }).pipe(Jitter.full, Limit.attempts(4)))
  )

/** A service that answers as told, attempt by attempt, and knows when it was asked. */
const service = (answer: (attempt: number) => Effect.Effect<string, "down">) => {
  const askedAt: Array<number> = []
  const ask = Effect.flatMap(Clock.currentTimeMillis, (now) => answer(askedAt.push(now)))
  return { ask, askedAt }
}

describe("time moves by itself: what comes out in the end?", () => {
  it.virtual("the price, where the third attempt succeeds", () =>
    Effect.gen(function* () {
      const { ask, askedAt } = service((attempt) => (attempt < 3 ? Effect.fail("down") : Effect.succeed("12 €")))
      expect(yield* getPrice(ask)).toBe("12 €")
      expect(askedAt.length).toBe(3)
    })
  )

  it.virtual("the last error after four attempts, where the service hangs", () =>
    Effect.gen(function* () {
      const { ask, askedAt } = service(() => Effect.never)
      const [took, error] = yield* Effect.timed(Effect.flip(getPrice(ask)))
      expect([error, askedAt.length]).toEqual(["too slow", 4])
      // Four time-outs and waits of at most 100, 200 and 400 ms: a bound that holds under any seed.
      expect(Duration.toMillis(took)).toBeGreaterThanOrEqual(4000)
      expect(Duration.toMillis(took)).toBeLessThanOrEqual(4700)
    })
  )

  it.virtual("decisions, told by an observer", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const observer: RetryObserver.Observer = (event) =>
        Effect.sync(() => {
          told.push(event._tag === "Retrying" ? `at most ${Duration.format(event.maximumWait)}` : event.reason)
        })
      yield* getPrice(Effect.fail("down")).pipe(RetryObserver.observe(observer), Effect.ignore)
      expect(told).toEqual(["at most 100ms", "at most 200ms", "at most 400ms", "exhausted"])
    })
  )

  it.virtual.each([1, 2, 3])("the same waits for the same seed, %i", (seed) =>
    Effect.gen(function* () {
      const times = Effect.suspend(() => {
        const { ask, askedAt } = service(() => Effect.fail("down"))
        return getPrice(ask).pipe(Effect.ignore, Effect.as(askedAt))
      })
      const seeded = Effect.suspend(() => Effect.withRandom(times, SeededRandom.make(RandomStream.make(seed, "waits"))))
      const first = yield* seeded
      const start = yield* Clock.currentTimeMillis
      expect((yield* seeded).map((time) => time - start)).toEqual(first)
    })
  )
})

describe("the test moves time: what is the state in between?", () => {
  it.effect("a second attempt is made once the first has timed out and the longest wait is over", () =>
    Effect.gen(function* () {
      const { ask, askedAt } = service((attempt) => (attempt === 1 ? Effect.never : Effect.succeed("12 €")))
      const asking = yield* Effect.fork(getPrice(ask)) // fork,
      yield* TestClock.adjust("999 millis") // adjust,
      expect(askedAt).toEqual([0])
      yield* TestClock.adjust("101 millis")
      expect(askedAt.length).toBe(2)
      expect(yield* Fiber.join(asking)).toBe("12 €") // join
    })
  )

  it.effect("an interrupted caller asks no more", () =>
    Effect.gen(function* () {
      const { ask, askedAt } = service(() => Effect.fail("down"))
      const asking = yield* Effect.fork(getPrice(Effect.delay(ask, "10 millis")))
      yield* TestClock.adjust("10 millis")
      yield* Fiber.interrupt(asking)
      yield* TestClock.adjust("1 hour")
      expect(askedAt).toEqual([10])
    })
  )
})
