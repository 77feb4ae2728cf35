import { InvalidOption, Limit } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"

describe("Limit", () => {
  it.each([
    { limit: "attempts(1)", allows: Limit.attempts(1), retries: 0 },
    { limit: "attempts(4)", allows: Limit.attempts(4), retries: 3 },
    { limit: "retries(0)", allows: Limit.retries(0), retries: 0 },
    { limit: "retries(3)", allows: Limit.retries(3), retries: 3 }
  ])("$limit allows $retries retries and no more", ({ allows, retries }) => {
    assert.deepStrictEqual(
      Array.from({ length: retries + 2 }, (_, done) => allows(done)),
      Array.from({ length: retries + 2 }, (_, done) => done < retries)
    )
  })

  it("allows any number where the limit is Infinity", () => {
    assert.isTrue(Limit.attempts(Infinity)(1e9) && Limit.retries(Infinity)(1e9))
  })

  it.each([
    { elapsed: 1000, delay: 2000, fits: true },
    { elapsed: 3000, delay: 1999, fits: true },
    { elapsed: 3000, delay: 2000, fits: false },
    { elapsed: 6000, delay: 0, fits: false }
  ])("a wait of $delay after $elapsed ms ends before 5 s: $fits", ({ delay, elapsed, fits }) => {
    assert.strictEqual(Limit.elapsed(5000)(elapsed, delay), fits)
  })

  it("refuses 0 attempts, half a retry and a negative time", () => {
    assert.throws(() => Limit.attempts(0), InvalidOption.InvalidOption, "attempts must be a whole number, at least 1")
    assert.throws(() => Limit.retries(0.5), InvalidOption.InvalidOption, "retries must be a whole number, at least 0")
    assert.throws(() => Limit.elapsed(-1), InvalidOption.InvalidOption, "limit must be a whole number of milliseconds")
  })
})
