import { Backoff, Jitter, Limit, RetryAfter } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import { callTimes } from "./schedule.js"

class Throttled {
  constructor(readonly retryAfter: Duration.Duration | undefined) {}
}

const backoff = Backoff.exponential({ base: "100 millis" })
const of = (error: Throttled) => error.retryAfter

describe("RetryAfter.respect", () => {
  it("waits exactly as long as the server says where jitter is off, and the backoff where it is longer", async () => {
    const schedule = backoff.pipe(RetryAfter.respect({ of, jitter: 0 }), Limit.attempts(6))
    const { calls } = await callTimes(schedule, new Throttled(Duration.millis(500)), { for: 10_000 })
    assert.deepStrictEqual(calls, [0, 500, 1000, 1500, 2300, 3900])
  })

  it("adds up to a tenth by default and never comes early, also after a jitter that shortens", async () => {
    const schedule = backoff.pipe(Jitter.full, RetryAfter.respect({ of }), Limit.attempts(200))
    const { calls } = await callTimes(schedule, new Throttled(Duration.minutes(1)), { for: 200 * 66_000 })
    const waits = calls.slice(1).map((at, index) => at - calls[index]!)
    assert.strictEqual(waits.length, 199)
    assert.isTrue(waits.every((wait) => Number.isInteger(wait) && wait >= 60_000 && wait <= 66_000))
    assert.isAbove(new Set(waits).size, 150)
  })

  it("gives up at once beyond the maximum, or waits for the maximum where asked to clamp", async () => {
    const error = new Throttled(Duration.minutes(10))
    const strict = backoff.pipe(RetryAfter.respect({ of, max: "1 minute" }), Limit.attempts(3))
    assert.deepStrictEqual(await callTimes(strict, error, { for: 3_600_000 }), { calls: [0], endedAt: 0 })
    const clamped = backoff.pipe(RetryAfter.respect({ of, max: "1 minute", beyond: "clamp", jitter: 0 }), Limit.attempts(3))
    assert.deepStrictEqual((await callTimes(clamped, error, { for: 3_600_000 })).calls, [0, 60_000, 120_000])
  })

  it("does not wait less than a fraction of a millisecond asks for", async () => {
    const schedule = RetryAfter.respect(backoff, { of, jitter: 0 }).pipe(Limit.attempts(2))
    assert.deepStrictEqual(
      (await callTimes(schedule, new Throttled(Duration.micros(500_100n)), { for: 10_000 })).calls,
      [0, 501]
    )
  })
})

describe("RetryAfter.fromHeaders", () => {
  const now = Date.UTC(2026, 0, 5, 12)

  it.each([
    { what: "a record", headers: { "retry-after": "120" } },
    { what: "fetch's Headers", headers: new Headers({ "Retry-After": "120" }) },
    { what: "a date from now on", headers: { "retry-after": "Mon, 05 Jan 2026 12:02:00 GMT" } }
  ])("reads $what", ({ headers }) => {
    const read = RetryAfter.fromHeaders((response: { readonly headers: RetryAfter.Headers }) => response.headers)
    assert.deepStrictEqual(read({ headers }, now), Duration.seconds(120))
  })

  it("finds nothing where there are no headers or none that says so", () => {
    assert.isUndefined(RetryAfter.fromHeaders(() => undefined)("error", now))
    assert.isUndefined(RetryAfter.fromHeaders(() => ({}))("error", now))
  })
})
