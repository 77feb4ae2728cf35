import { InvalidOption } from "@breakwater/core"
import { Backoff, Jitter, Limit, Preview, RetryAfter } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { calls } from "./schedule.js"

const backoff = Backoff.exponential({ base: "100 millis" })

const waits = ({ retries }: Preview.Preview) => retries.map(({ wait }) => Duration.toMillis(wait))

describe("Preview", () => {
  it("shows the waits, when each retry starts, and why it ends", () => {
    const preview = Effect.runSync(Preview.of(backoff.pipe(Limit.attempts(4)), { callTakes: "50 millis" }))
    assert.deepStrictEqual(waits(preview), [100, 200, 400])
    assert.deepStrictEqual(
      preview.retries.map(({ startsAt }) => Duration.toMillis(startsAt)),
      [150, 400, 850]
    )
    assert.strictEqual(preview.ended, "exhausted")
  })

  it("looks ahead as far as it is asked to, ten retries by default, where the schedule goes on", () => {
    const preview = Effect.runSync(Preview.of(backoff))
    assert.strictEqual(preview.retries.length, 10)
    assert.isUndefined(preview.ended)
    assert.strictEqual(Effect.runSync(Preview.of(backoff, { retries: 2 })).retries.length, 2)
  })

  it("shows the same waits for the same seed, and the longest they could have been", () => {
    const schedule = Jitter.full(backoff)
    const of = (seed: number) => Effect.runSync(Preview.of(schedule, { seed, retries: 5 }))
    assert.deepStrictEqual(of(1), of(1))
    assert.notDeepEqual(waits(of(1)), waits(of(2)))
    assert.deepStrictEqual(
      of(1).retries.map(({ maximumWait }) => Duration.toMillis(maximumWait)),
      [100, 200, 400, 800, 1600]
    )
  })

  it("gives the error to a schedule that looks at it", () => {
    const schedule = backoff.pipe(
      RetryAfter.respect({ of: (error: { readonly wait: number }) => Duration.millis(error.wait), jitter: 0 })
    )
    assert.deepStrictEqual(waits(Effect.runSync(Preview.of(schedule, { input: { wait: 300 }, retries: 3 }))), [300, 300, 400])
  })

  it("ends where Effect.retry ends: limits of time see the time of each failure", () => {
    const schedule = backoff.pipe(Limit.elapsed("1 second"))
    const preview = Effect.runSync(Preview.of(schedule, { callTakes: 80 }))
    const real = calls(schedule, () => "down", { callTakes: 80 })
    assert.deepStrictEqual([0, ...preview.retries.map(({ startsAt }) => Duration.toMillis(startsAt))], real.calls)
    assert.strictEqual(preview.ended, "elapsed")
  })

  it("shows schedules of Effect too", () => {
    const preview = Effect.runSync(Preview.of(Schedule.exponential(100).pipe(Schedule.intersect(Schedule.recurs(2)))))
    assert.deepStrictEqual(waits(preview), [100, 200])
    assert.strictEqual(preview.ended, "exhausted")
  })

  it("shows fractions of a millisecond where a schedule of Effect draws them", () => {
    const schedule = Schedule.jittered(Schedule.exponential("1 milli")).pipe(Schedule.intersect(Schedule.recurs(20)))
    assert.strictEqual(Effect.runSync(Preview.of(schedule, { retries: 20 })).retries.length, 20)
  })

  it("is a table as text", () => {
    const text = Preview.toText(Effect.runSync(Preview.of(backoff.pipe(Limit.attempts(3)))))
    assert.deepStrictEqual(text.split("\n"), [
      "retry           waits         at most       starts at",
      "    1           100ms           100ms           100ms",
      "    2           200ms           200ms           300ms",
      "gives up after 2 retries: exhausted"
    ])
    assert.match(Preview.toText(Effect.runSync(Preview.of(backoff, { retries: 1 }))), /goes on$/)
  })

  it("refuses what it cannot look at", () => {
    assert.throws(() => Preview.of(backoff, { retries: -1 }), InvalidOption.InvalidOption, "Preview.of: retries must be")
    assert.throws(() => Preview.of(backoff, { callTakes: -1 }), InvalidOption.InvalidOption, "Preview.of: callTakes must be")
  })
})
