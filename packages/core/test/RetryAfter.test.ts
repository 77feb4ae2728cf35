import { HttpDate, InvalidOption, RetryAfter } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

/** Mon, 05 Jan 2026 12:00:00 GMT */
const now = 1_767_614_400_000

describe("RetryAfter.parse", () => {
  it.each([
    { value: "120", millis: 120_000 },
    { value: "0", millis: 0 },
    { value: " 120\t", millis: 120_000 },
    { value: "1.5", millis: 1500 },
    { value: "1.1", millis: 1100 },
    { value: "0.0001", millis: 1 },
    { value: "Mon, 05 Jan 2026 12:02:00 GMT", millis: 120_000 },
    { value: "Monday, 05-Jan-26 12:02:00 GMT", millis: 120_000 },
    { value: "Mon Jan  5 12:02:00 2026", millis: 120_000 },
    { value: "Mon, 05 Jan 2026 11:59:30 GMT", millis: 0 },
    { value: "9".repeat(400), millis: InvalidOption.maxMillis }
  ])("reads $value as $millis ms", ({ millis, value }) => {
    assert.strictEqual(RetryAfter.parse(value, now), millis)
  })

  it.each(["", "   ", "-3", "+3", "1e3", "0x10", ".5", "1.", "soon", "NaN", "Infinity", "Mon, 32 Foo 2026 99:00:00 GMT"])(
    "takes %j for no field at all",
    (value) => {
      assert.isUndefined(RetryAfter.parse(value, now))
    }
  )

  it("gives a whole number of milliseconds from 0 on, or nothing, for any text", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.oneof(FastCheck.string(), FastCheck.stringMatching(/^[0-9.eE+-]*$/)), (value) => {
        const millis = RetryAfter.parse(value, now)
        assert.isTrue(millis === undefined || (Number.isInteger(millis) && millis >= 0))
      })
    )
  })
})

describe("RetryAfter.fromHeaders", () => {
  it.each([
    { headers: { "retry-after-ms": "0", "retry-after": "30" }, millis: 0 },
    { headers: { "retry-after-ms": "1500", "retry-after": "30" }, millis: 1500 },
    { headers: { "retry-after-ms": "abc", "retry-after": "30" }, millis: 30_000 },
    { headers: { "retry-after": "5" }, millis: 5000 },
    { headers: {}, millis: undefined }
  ])("takes the milliseconds first, then the field: $headers", ({ headers, millis }) => {
    const fields: Record<string, string> = headers
    assert.strictEqual(
      RetryAfter.fromHeaders((name) => fields[name], now),
      millis
    )
  })
})

describe("HttpDate.parse", () => {
  it.each([
    { date: "Sun, 06 Nov 1994 08:49:37 GMT", instant: Date.UTC(1994, 10, 6, 8, 49, 37) },
    { date: "Sunday, 06-Nov-94 08:49:37 GMT", instant: Date.UTC(1994, 10, 6, 8, 49, 37) },
    { date: "Sun Nov  6 08:49:37 1994", instant: Date.UTC(1994, 10, 6, 8, 49, 37) },
    { date: "Thu, 29 Feb 2024 00:00:00 GMT", instant: Date.UTC(2024, 1, 29) },
    { date: "Sat, 31 Dec 2016 23:59:60 GMT", instant: Date.UTC(2017, 0, 1) }
  ])("reads $date", ({ date, instant }) => {
    assert.strictEqual(HttpDate.parse(date, now), instant)
  })

  it.each([
    "Thu, 29 Feb 2023 00:00:00 GMT",
    "Mon, 05 Jan 2026 24:00:00 GMT",
    "Mon, 05 Jan 2026 12:60:00 GMT",
    "Mon, 05 Jan 2026 12:00:00 UTC",
    "Mon, 5 Jan 2026 12:00:00 GMT",
    "mon, 05 jan 2026 12:00:00 gmt",
    "2026-01-05T12:00:00Z",
    "1767614400"
  ])("reads no date out of %s", (date) => {
    assert.isUndefined(HttpDate.parse(date, now))
  })

  it("takes a two-digit year for the past where it seems more than 50 years ahead", () => {
    assert.strictEqual(HttpDate.parse("Monday, 05-Jan-76 00:00:00 GMT", now), Date.UTC(2076, 0, 5))
    assert.strictEqual(HttpDate.parse("Monday, 05-Jan-77 00:00:00 GMT", now), Date.UTC(1977, 0, 5))
  })

  it("reads back every date that JavaScript writes in this form", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.integer({ min: 0, max: 253_402_300_799 }), (second) => {
        assert.strictEqual(HttpDate.parse(new Date(second * 1000).toUTCString(), now), second * 1000)
      })
    )
  })
})

describe("RetryAfter.respect", () => {
  const wait = RetryAfter.respect({ jitter: 0.5 })

  it.each([
    { what: "no server time: the backoff", backoff: 1000, server: undefined, random: 0.9, delay: 1000 },
    { what: "a floor, never shortened", backoff: 500, server: 3000, random: 0, delay: 3000 },
    { what: "jitter only on top", backoff: 500, server: 3000, random: 0.999, delay: 4499 },
    { what: "0 is a time, and the backoff the longer one", backoff: 1000, server: 0, random: 0.5, delay: 1000 },
    { what: "the maximum itself", backoff: 500, server: 60_000, random: 0, delay: 60_000 }
  ])("waits $delay: $what", ({ backoff, delay, random, server }) => {
    assert.deepStrictEqual(wait(backoff, server, random), { _tag: "Wait", delay })
  })

  it("gives up beyond the maximum, one minute by default", () => {
    assert.deepStrictEqual(wait(500, 60_001, 0), { _tag: "GiveUp" })
  })

  it("waits for the maximum where it was asked to clamp", () => {
    const clamped = RetryAfter.respect({ max: 10_000, beyond: "clamp", jitter: 0 })
    assert.deepStrictEqual(clamped(500, 600_000, 0.5), { _tag: "Wait", delay: 10_000 })
  })

  it("never waits less than the server asks, whatever the draw", () => {
    const any = {
      integer: FastCheck.integer({ min: 0, max: 60_000 }),
      unit: FastCheck.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    }
    FastCheck.assert(
      FastCheck.property(any.integer, any.integer, any.unit, any.unit, (backoff, server, jitter, random) => {
        const decision = RetryAfter.respect({ jitter })(backoff, server, random)
        assert.isTrue(
          decision._tag === "Wait" && Number.isInteger(decision.delay) && decision.delay >= Math.max(server, backoff)
        )
      })
    )
  })
})
