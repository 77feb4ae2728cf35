import { VirtualTime } from "@breakwater/simulation"
import { Backoff, Jitter, Limit, RetryAfter, RetryObserver } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

/** What an observer is told while a call that always fails is retried. */
const told = <E>(schedule: Schedule.Schedule<unknown, E>, error: E) => {
  const events: Array<RetryObserver.Event> = []
  const program = Effect.fail(error).pipe(
    Effect.retry(schedule),
    RetryObserver.observe((event) => Effect.sync(() => events.push(event))),
    Effect.ignore
  )
  Effect.runSync(VirtualTime.run(program))
  return events
}

const summary = (events: ReadonlyArray<RetryObserver.Event>) =>
  events.map((event) =>
    event._tag === "Retrying"
      ? `${event.attempt}: ${Duration.toMillis(event.wait)} of ${Duration.toMillis(event.maximumWait)}`
      : `${event.attempt}: ${event.reason}`
  )

const backoff = Backoff.exponential({ base: "100 millis" })

describe("RetryObserver", () => {
  it("is told of every failed attempt: the wait, the longest it could have been, and why it ended", () => {
    assert.deepStrictEqual(summary(told(backoff.pipe(Limit.attempts(3)), "down")), [
      "1: 100 of 100",
      "2: 200 of 200",
      "3: exhausted"
    ])
  })

  it("is told the longest wait that jitter could have drawn", () => {
    const longest = (schedule: Schedule.Schedule<unknown>) =>
      told(schedule.pipe(Limit.attempts(4)), "down").flatMap((event) =>
        event._tag === "Retrying" ? [Duration.toMillis(event.maximumWait)] : []
      )
    assert.deepStrictEqual(longest(Jitter.full(backoff)), [100, 200, 400])
    assert.deepStrictEqual(longest(Jitter.equal(backoff)), [100, 200, 400])
    assert.deepStrictEqual(longest(Jitter.proportional(backoff, 0.5)), [150, 300, 600])
    assert.strictEqual(longest(Backoff.decorrelated({ base: "100 millis" }))[0], 300)
  })

  it("is told the longest wait with a server's time in it", () => {
    const schedule = backoff.pipe(
      Jitter.full,
      RetryAfter.respect({ of: () => Duration.seconds(3), jitter: 0.5 }),
      Limit.attempts(2)
    )
    const [event] = told(schedule, "down")
    assert.isTrue(event?._tag === "Retrying" && Duration.toMillis(event.maximumWait) === 4500)
    // The own backoff could have been drawn longer than the server's time.
    const own = Backoff.constant({ delay: "10 seconds" }).pipe(
      Jitter.full,
      RetryAfter.respect({ of: () => Duration.seconds(3) })
    )
    const [longer] = told(own.pipe(Limit.attempts(2)), "down")
    assert.isTrue(longer?._tag === "Retrying" && Duration.toMillis(longer.maximumWait) === 10_000)
  })

  it.each([
    { what: "attempts", schedule: backoff.pipe(Limit.attempts(1)), reason: "exhausted" },
    { what: "retries", schedule: backoff.pipe(Limit.retries(0)), reason: "exhausted" },
    { what: "time", schedule: backoff.pipe(Limit.elapsed("1 milli")), reason: "elapsed" },
    { what: "a server's time", schedule: RetryAfter.respect(backoff, { of: () => Duration.hours(1) }), reason: "retry-after" },
    { what: "a schedule of Effect inside", schedule: Schedule.recurs(0).pipe(Limit.attempts(3)), reason: "exhausted" },
    {
      what: "time, with more of ours around it",
      schedule: backoff.pipe(Limit.elapsed("1 milli"), Jitter.full, Limit.attempts(9)),
      reason: "elapsed"
    }
  ])("is told the reason of the part that ended it: $what", ({ reason, schedule }) => {
    assert.deepStrictEqual(summary(told(schedule, "down")), [`1: ${reason}`])
  })

  it("is told once for each decision, also through combinators of Effect between ours", () => {
    const schedule = backoff.pipe(
      Jitter.full,
      Schedule.whileInput((error: string) => error !== "fatal"),
      Schedule.intersect(Schedule.recurs(9)),
      Limit.attempts(3)
    )
    const events = told(schedule, "down")
    assert.deepStrictEqual(
      events.map(({ _tag, attempt }) => `${_tag} ${attempt}`),
      ["Retrying 1", "Retrying 2", "GaveUp 3"]
    )
    assert.isTrue(events[1]?._tag === "Retrying" && Duration.toMillis(events[1].maximumWait) === 200)
    assert.deepStrictEqual(summary(told(schedule, "fatal")), ["1: exhausted"])
  })

  it("sees past combinators of Effect around ours where `observed` stands last", () => {
    const schedule = backoff.pipe(
      Schedule.whileInput((error: string) => error !== "fatal"),
      RetryObserver.observed
    )
    assert.deepStrictEqual(summary(told(schedule, "fatal")), ["1: exhausted"])
  })

  it("gets the error, and runs before the wait", () => {
    const order: Array<string> = []
    const program = Effect.sync(() => order.push("call")).pipe(
      Effect.zipRight(Effect.fail("down")),
      Effect.retry(Limit.attempts(backoff, 2)),
      RetryObserver.observe((event) => Effect.sync(() => order.push(`${event._tag} ${String(event.error)}`))),
      Effect.ignore
    )
    Effect.runSync(VirtualTime.run(program))
    assert.deepStrictEqual(order, ["call", "Retrying down", "call", "GaveUp down"])
  })

  it("changes nothing about the decisions: the same draws with and without one", () => {
    const schedule = backoff.pipe(Jitter.full, Limit.attempts(6))
    const times = (observe: boolean) => {
      const program = Effect.gen(function* () {
        yield* Effect.ignore(Effect.retry(Effect.fail("down"), schedule))
        return yield* Effect.clockWith((clock) => clock.currentTimeNanos)
      })
      return Effect.runSync(VirtualTime.run(observe ? RetryObserver.observe(program, () => Effect.void) : program, { seed: 3 }))
    }
    assert.strictEqual(times(true), times(false))
  })
})
