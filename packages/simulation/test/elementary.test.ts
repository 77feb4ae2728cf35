import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { exp, log, normalQuantile } from "../src/internal/elementary.js"

const relative = (value: number, expected: number) => Math.abs(value - expected) / Math.abs(expected)

describe("how far are the elementary functions from the engine's?", () => {
  it("log: a few units in the last place for any positive number", () => {
    const positive = FastCheck.double({ min: 2 ** -1022, max: Number.MAX_VALUE, noNaN: true })
    FastCheck.assert(
      FastCheck.property(positive, (x) => {
        assert.isBelow(Math.abs(log(x) - Math.log(x)), 1e-15 * Math.max(1, Math.abs(Math.log(x))))
      }),
      { numRuns: 5000 }
    )
    assert.strictEqual(log(1), 0)
  })

  it("log: relative 1e-14 for every kind of draw, however near to 1", () => {
    for (let step = 1; step <= 53; step++) {
      for (const x of [2 ** -step, 1 - 2 ** -step, 0.75 * 2 ** -step, 1 - 0.75 * 2 ** -step]) {
        if (x < 1) assert.isBelow(relative(log(x), Math.log(x)), 1e-14, `log(${x})`)
      }
    }
  })

  it("exp: relative 1e-13 between underflow and overflow", () => {
    const exponent = FastCheck.double({ min: -708, max: 709, noNaN: true })
    FastCheck.assert(
      FastCheck.property(exponent, (x) => assert.isBelow(relative(exp(x), Math.exp(x)), 1e-13)),
      { numRuns: 5000 }
    )
    assert.deepStrictEqual([exp(0), exp(-Infinity), exp(-800), exp(800), exp(NaN)], [1, 0, 0, Infinity, NaN])
  })
})

describe("normalQuantile", () => {
  // From tables with 15 digits.
  it.each([
    [0.5, 0],
    [0.75, 0.674489750196082],
    [0.9, 1.2815515655446],
    [0.975, 1.95996398454005],
    [0.99, 2.32634787404084],
    [0.999, 3.09023230616781],
    [1e-6, -4.7534243088229],
    [1e-9, -5.99780701500769],
    [1e-12, -7.03448382523443],
    [1e-15, -7.941345326171]
  ])("a standard normal variable stays below it with probability %d", (p, quantile) => {
    assert.closeTo(normalQuantile(p), quantile, 1e-9)
  })

  it("is odd around a half and rises", () => {
    const probability = FastCheck.integer({ min: 1, max: 2 ** 20 - 1 }).map((n) => n / 2 ** 20)
    FastCheck.assert(
      FastCheck.property(probability, (p) => {
        assert.closeTo(normalQuantile(p), -normalQuantile(1 - p), 1e-12)
        assert.isBelow(normalQuantile(p * 0.999), normalQuantile(p))
      })
    )
  })
})
