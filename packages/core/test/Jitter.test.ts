import { Backoff, InvalidOption, Jitter } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

const random = FastCheck.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const delay = FastCheck.oneof(FastCheck.integer({ min: 0, max: 1e6 }), FastCheck.constant(InvalidOption.maxMillis))

describe("Jitter", () => {
  it.each([
    { jitter: "full", rule: Jitter.full, delay: 30_000, at: [0, 0.5, 0.999], waits: [0, 15_000, 29_970] },
    { jitter: "full", rule: Jitter.full, delay: 60_000, at: [0.1, 0.9], waits: [6000, 54_000] },
    { jitter: "full", rule: Jitter.full, delay: 0, at: [0, 0.999], waits: [0, 0] },
    { jitter: "equal", rule: Jitter.equal, delay: 1000, at: [0, 0.5, 0.999], waits: [500, 750, 1000] },
    { jitter: "equal", rule: Jitter.equal, delay: 5, at: [0, 0.999], waits: [3, 5] },
    {
      jitter: "proportional 0.3",
      rule: Jitter.proportional({ ratio: 0.3, cap: 60_000 }),
      delay: 10_000,
      at: [0, 0.5, 0.999],
      waits: [7000, 10_000, 12_994]
    },
    {
      jitter: "proportional 0.2 at the cap",
      rule: Jitter.proportional({ ratio: 0.2, cap: 60_000 }),
      delay: 60_000,
      at: [0, 0.25, 0.5, 0.75, 0.999],
      waits: [40_000, 45_000, 50_000, 55_000, 59_980]
    }
  ])("$jitter draws from $delay at $at what its formula says", ({ at, delay, rule, waits }) => {
    assert.deepStrictEqual(
      at.map((random) => rule(delay, random)),
      waits
    )
  })

  it("C02: draws from the cap, not from NaN, where the backoff has overflowed a million retries ago", () => {
    const backoff = Backoff.exponential({ base: 100, cap: 30_000 })
    for (const retries of [1018, 999_999]) {
      const waits = [0, 0.5, 0.999].map((random) => Jitter.full(backoff.delay(retries), random))
      assert.deepStrictEqual(waits, [0, 15_000, 29_970])
    }
  })

  it("stays whole and between 0 and the wait, for any wait and any draw", () => {
    FastCheck.assert(
      FastCheck.property(delay, random, (delay, random) => {
        for (const wait of [Jitter.full(delay, random), Jitter.equal(delay, random)]) {
          assert.isTrue(Number.isInteger(wait) && wait >= 0 && wait <= delay)
        }
        assert.isAtLeast(Jitter.equal(delay, random), delay / 2)
      })
    )
  })

  it("keeps its spread and the cap when it is proportional, for any wait below the cap", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1000, max: 1e9 }),
        FastCheck.double({ min: 0.01, max: 1, noNaN: true }),
        FastCheck.double({ min: 0.5, max: 1, noNaN: true }),
        random,
        (cap, ratio, share, random) => {
          const rule = Jitter.proportional({ ratio, cap })
          const delay = Math.floor(cap * share)
          const wait = rule(delay, random)
          assert.isTrue(Number.isInteger(wait) && wait >= 0 && wait <= cap)
          const [low, high] = [rule(delay, 0), rule(delay, 1 - 2 ** -53)]
          // As wide at the cap as below it, relative to where it stands; within a millisecond of rounding at each end.
          assert.closeTo((high - low) / (high + low), ratio, 4 / (high + low))
        }
      )
    )
  })

  it("refuses a ratio above 1, which would ask for negative waits", () => {
    assert.throws(
      () => Jitter.proportional({ ratio: 2, cap: 100 }),
      InvalidOption.InvalidOption,
      "Jitter.proportional: ratio must be a number from 0 to 1, got 2"
    )
  })
})
