import { InvalidOption } from "@breakwater/core"
import { Backoff, Jitter, Limit, RetryAfter } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import { calls, waits } from "./schedule.js"

class Throttled {
  constructor(readonly retryAfter: Duration.Duration | undefined) {}
}

const backoff = Backoff.exponential({ base: "100 millis" })
const of = (error: Throttled) => error.retryAfter

describe("RetryAfter.respect", () => {
  it("waits exactly as long as the server says where jitter is off, and the backoff where it is longer", () => {
    const schedule = backoff.pipe(RetryAfter.respect({ of, jitter: 0 }))
    assert.deepStrictEqual(waits(schedule, new Throttled(Duration.millis(500)), { count: 5 }), [500, 500, 500, 800, 1600])
  })

  it("adds up to a tenth by default and never comes early, also after a jitter that shortens", () => {
    const schedule = backoff.pipe(Jitter.full, RetryAfter.respect({ of }))
    const drawn = waits(schedule, new Throttled(Duration.minutes(1)), { count: 200 })
    assert.isTrue(drawn.every((wait) => Number.isInteger(wait) && wait >= 60_000 && wait <= 66_000))
    assert.isAbove(new Set(drawn).size, 150)
  })

  it("gives up at once beyond the maximum, or waits for the maximum where asked to clamp", () => {
    const error = new Throttled(Duration.minutes(10))
    const strict = backoff.pipe(RetryAfter.respect({ of, max: "1 minute" }), Limit.attempts(3))
    assert.deepStrictEqual(
      calls(strict, () => error),
      { calls: [0], endedAt: 0, succeeded: false }
    )
    const clamped = backoff.pipe(RetryAfter.respect({ of, max: "1 minute", beyond: "clamp", jitter: 0 }))
    assert.deepStrictEqual(waits(clamped, error, { count: 2 }), [60_000, 60_000])
  })

  it("does not hang on a server that asks for ever", () => {
    const schedule = RetryAfter.respect(backoff, { of })
    assert.deepStrictEqual(calls(schedule, () => new Throttled(Duration.infinity)).calls, [0])
  })

  it("does not wait less than a fraction of a millisecond asks for", () => {
    const schedule = RetryAfter.respect(backoff, { of, jitter: 0 })
    assert.deepStrictEqual(waits(schedule, new Throttled(Duration.micros(500_100n)), { count: 1 }), [501])
  })

  it("says which field it refuses", () => {
    const refused = (options: Partial<RetryAfter.RespectOptions<Throttled>>) => () =>
      RetryAfter.respect({ of, ...options })(backoff)
    assert.throws(refused({ max: -1 }), InvalidOption.InvalidOption, "RetryAfter.respect: max must be")
    assert.throws(
      refused({ jitter: 2 }),
      InvalidOption.InvalidOption,
      "RetryAfter.respect: jitter must be a number from 0 to 1"
    )
  })
})

describe("RetryAfter.fromHeaders", () => {
  const now = Date.UTC(2026, 0, 5, 12)

  it.each([
    { what: "a record", headers: { "retry-after": "120" } },
    { what: "fetch's Headers", headers: new Headers({ "Retry-After": "120" }) },
    { what: "a date from now on", headers: { "retry-after": "Mon, 05 Jan 2026 12:02:00 GMT" } },
    { what: "a reset, seconds left", headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "120" } }
  ])("reads $what", ({ headers }) => {
    const read = RetryAfter.fromHeaders((response: { readonly headers: RetryAfter.Headers }) => response.headers)
    assert.deepStrictEqual(read({ headers }, now), Duration.seconds(120))
  })

  it("finds nothing where there are no headers or none that says so", () => {
    assert.isUndefined(RetryAfter.fromHeaders(() => undefined)("error", now))
    assert.isUndefined(RetryAfter.fromHeaders(() => ({}))("error", now))
  })
})

describe("RetryAfter.parse", () => {
  it("gives a duration, or nothing", () => {
    assert.deepStrictEqual(RetryAfter.parse("120", 0), Duration.seconds(120))
    assert.isUndefined(RetryAfter.parse("soon", 0))
  })
})
