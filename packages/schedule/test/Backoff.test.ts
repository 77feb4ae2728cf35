import { InvalidOption } from "@breakwater/core"
import { Backoff, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import { calls, waits } from "./schedule.js"

describe("Backoff", () => {
  const base = "100 millis"
  const cap = "800 millis"

  it.each([
    { law: "constant", schedule: Backoff.constant({ delay: base }), expected: [100, 100, 100, 100, 100, 100] },
    { law: "linear", schedule: Backoff.linear({ base, cap }), expected: [100, 200, 300, 400, 500, 600] },
    {
      law: "linear with an increment",
      schedule: Backoff.linear({ base, cap, increment: "300 millis" }),
      expected: [100, 400, 700, 800, 800, 800]
    },
    { law: "fibonacci", schedule: Backoff.fibonacci({ base, cap }), expected: [100, 100, 200, 300, 500, 800] },
    { law: "exponential", schedule: Backoff.exponential({ base, cap }), expected: [100, 200, 400, 800, 800, 800] },
    {
      law: "exponential by 3",
      schedule: Backoff.exponential({ base, cap: "1 minute", factor: 3 }),
      expected: [100, 300, 900, 2700, 8100, 24_300]
    },
    {
      law: "exponential, first at once",
      schedule: Backoff.exponential({ base, cap, immediateFirst: true }),
      expected: [0, 100, 200, 400, 800, 800]
    },
    {
      law: "constant, first at once",
      schedule: Backoff.constant({ delay: base, immediateFirst: true }),
      expected: [0, 100, 100, 100, 100, 100]
    }
  ])("waits as its law says between the calls of Effect.retry: $law", ({ expected, schedule }) => {
    assert.deepStrictEqual(waits(schedule, "down", { count: 6 }), expected)
  })

  it("is decorrelated: whole waits between the base and three times the one before, or the cap", () => {
    const drawn = waits(Backoff.decorrelated({ base, cap }), "down", { count: 300 })
    drawn.forEach((wait, index) => {
      const most = Math.min(800, 3 * (index === 0 ? 100 : drawn[index - 1]!))
      assert.isTrue(Number.isInteger(wait) && wait >= 100 && wait <= most, `wait ${index}: ${wait}`)
    })
    // The published formula gives the cap itself in two of three waits there.
    assert.isBelow(drawn.filter((wait) => wait === 800).length, 10)
    assert.strictEqual(waits(Backoff.decorrelated({ base, cap, immediateFirst: true }), "down", { count: 3 })[0], 0)
  })

  it("is capped at 30 seconds unless told otherwise, and says so", () => {
    for (const make of [Backoff.exponential, Backoff.linear, Backoff.fibonacci, Backoff.decorrelated]) {
      assert.strictEqual(Duration.toMillis(make({ base }).cap), 30_000)
      assert.isFalse(Duration.isFinite(make({ base, cap: Duration.infinity }).cap))
    }
    assert.strictEqual(Duration.toMillis(Backoff.constant({ delay: base }).cap), 100)
  })

  it("does not end by itself, and succeeds as soon as the call does", () => {
    assert.deepStrictEqual(
      calls(Backoff.constant({ delay: base }), (call) => (call < 1000 ? "down" : undefined)).calls.length,
      1000
    )
  })

  it.each([
    { options: { base: -1 }, message: "Backoff.exponential: base must be a whole number of milliseconds, at least 0, got -1" },
    { options: { base: "-5 seconds" as const }, message: "base must be a whole number of milliseconds, at least 0, got -5000" },
    { options: { base: NaN }, message: "base must be a whole number of milliseconds, at least 0, got NaN" },
    { options: { base: "500 micros" as const }, message: "base must be a whole number of milliseconds, at least 0, got 0.5" },
    { options: { base: -1_000_000n }, message: "base must be a whole number of milliseconds, at least 0, got -1" },
    { options: { base: "soon" as "1 second" }, message: 'base must be a duration, for example "100 millis", got "soon"' },
    { options: { base: 1, factor: 0 }, message: "Backoff.exponential: factor must be a number from 1 to" }
  ])("refuses $options where Duration would have made it zero", ({ message, options }) => {
    assert.throws(() => Backoff.exponential(options), InvalidOption.InvalidOption, message)
  })

  it("names the function that was called and the field, whichever it is", () => {
    assert.throws(() => Backoff.linear({ base, increment: -1 }), InvalidOption.InvalidOption, "Backoff.linear: increment must")
    assert.throws(() => Backoff.fibonacci({ base, cap: -1 }), InvalidOption.InvalidOption, "Backoff.fibonacci: cap must")
    assert.throws(() => Backoff.constant({ delay: -1 }), InvalidOption.InvalidOption, "Backoff.constant: delay must")
    assert.throws(
      () => Backoff.decorrelated({ base: "1 second", cap: "100 millis" }),
      InvalidOption.InvalidOption,
      "Backoff.decorrelated: cap must be at least the base, 1000, got 100"
    )
  })

  it("retries at once where the wait is 0", () => {
    assert.deepStrictEqual(
      calls(Backoff.constant({ delay: 0 }).pipe(Limit.attempts(3)), () => "down"),
      {
        calls: [0, 0, 0],
        endedAt: 0,
        succeeded: false
      }
    )
  })
})
