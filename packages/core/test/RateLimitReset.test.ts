import { InvalidOption, RateLimitReset, RetryAfter } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

/** Mon, 05 Jan 2026 12:00:00 GMT */
const now = 1_767_614_400_000

describe("RateLimitReset.parse", () => {
  it.each([
    { what: "seconds from now", value: "30", millis: 30_000 },
    { what: "seconds from now, with decimals", value: "64.57", millis: 64_570 },
    { what: "seconds since 1970, a second later", value: "1767614520", millis: 121_000 },
    { what: "this very second, a second later", value: "1767614400", millis: 1000 },
    { what: "a second that has passed", value: "1767614395", millis: 0 },
    { what: "seconds since 1970 with decimals, exactly", value: "1767614410.250", millis: 10_250 },
    { what: "milliseconds since 1970, exactly", value: "1767614400500", millis: 500 },
    { what: "an instant to the second, a second later", value: "2026-01-05T12:00:10Z", millis: 11_000 },
    { what: "an instant with a fraction, exactly", value: "2026-01-05T12:00:10.500Z", millis: 10_500 },
    { what: "an instant below the millisecond, rounded up", value: "2026-01-05T12:00:10.5001Z", millis: 10_501 },
    { what: "an instant with an offset", value: "2026-01-05T13:00:10+01:00", millis: 11_000 },
    { what: "a duration", value: "6m0s", millis: 360_000 },
    { what: "a duration with decimals", value: "1.1s", millis: 1100 },
    { what: "a duration of milliseconds", value: "20ms", millis: 20 },
    { what: "a duration below a millisecond, rounded up", value: "1h0m0.0001s", millis: 3_600_001 },
    { what: "more than can be waited for", value: "9".repeat(400), millis: InvalidOption.maxMillis }
  ])("reads $what: $value", ({ millis, value }) => {
    assert.strictEqual(RateLimitReset.parse(value, now), millis)
  })

  it.each(["", "-30", "+30", "1e3", "soon", "6 m", "m", "2026-13-05T12:00:10Z", "2026-01-05", "Mon, 05 Jan 2026 12:02:00 GMT"])(
    "takes %j for no field at all",
    (value) => {
      assert.isUndefined(RateLimitReset.parse(value, now))
    }
  )

  it("gives a whole number of milliseconds from 0 on, or nothing, for any text, in linear time", () => {
    const text = FastCheck.oneof(FastCheck.string(), FastCheck.stringMatching(/^[0-9.dhmsuµnTZ:+-]*$/))
    FastCheck.assert(
      FastCheck.property(text, (value) => {
        const millis = RateLimitReset.parse(value, now)
        assert.isTrue(millis === undefined || (Number.isInteger(millis) && millis >= 0 && millis <= InvalidOption.maxMillis))
      })
    )
    // Would take for ever where a pattern backtracks.
    for (const hostile of ["1".repeat(60_000) + "x", "1s".repeat(30_000) + "x", "1.1.".repeat(15_000)]) {
      assert.isUndefined(RateLimitReset.parse(hostile, now))
    }
  })
})

describe("RateLimitReset.fromHeaders", () => {
  it.each([
    { what: "nothing left", headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30" }, millis: 30_000 },
    { what: "it does not say what is left", headers: { "x-ratelimit-reset": "30" }, millis: 30_000 },
    { what: "something is left", headers: { "x-ratelimit-remaining": "12", "x-ratelimit-reset": "30" }, millis: undefined },
    {
      what: "of several limits only the one that is used up",
      headers: {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-tokens": "9000",
        "x-ratelimit-reset-tokens": "6m0s"
      },
      millis: 1000
    },
    {
      what: "of several used up the latest",
      headers: {
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2026-01-05T12:00:10Z",
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": "2026-01-05T12:01:00Z"
      },
      millis: 61_000
    },
    { what: "the RateLimit field", headers: { ratelimit: '"default";r=0;t=30' }, millis: 30_000 },
    { what: "the RateLimit field, something left", headers: { ratelimit: '"default";r=5;t=30' }, millis: undefined },
    { what: "several policies", headers: { ratelimit: '"burst";r=0;t=5, "daily";r=100;t=3600' }, millis: 5000 },
    { what: "the RateLimit field of draft 07", headers: { ratelimit: "limit=10, remaining=0, reset=30" }, millis: 30_000 },
    { what: "the same, something left", headers: { ratelimit: "limit=10, remaining=3, reset=30" }, millis: undefined },
    { what: "no such field", headers: {}, millis: undefined }
  ])("$what: $millis", ({ headers, millis }) => {
    const fields: Record<string, string> = headers
    assert.strictEqual(
      RateLimitReset.fromHeaders((name) => fields[name], now),
      millis
    )
  })

  it("comes after retry-after-ms and Retry-After, 0 included, and before nothing", () => {
    const of = (fields: Record<string, string>) => RetryAfter.fromHeaders((name) => fields[name], now)
    assert.strictEqual(of({ "retry-after": "0", "x-ratelimit-reset": "30" }), 0)
    assert.strictEqual(of({ "retry-after": "soon", "x-ratelimit-reset": "30" }), 30_000)
    assert.strictEqual(of({ "x-ratelimit-reset": "30" }), 30_000)
  })
})
