import { InvalidOption, LatencySketch } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"

const sketchOf = (latencies: ReadonlyArray<number>) => {
  const sketch = new LatencySketch.LatencySketch("test", 60_000)
  for (const latency of latencies) sketch.observe(latency, 0)
  return sketch
}

/** The true quantile by its definition: the value of rank ceil(q n). */
const quantileOf = (latencies: ReadonlyArray<number>, q: number): number =>
  latencies.slice().sort((a, b) => a - b)[Math.max(1, Math.ceil(q * latencies.length)) - 1]!

describe("a quantile", () => {
  const latency = fc.oneof(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.double({ min: 0, max: 1000, noNaN: true }),
    fc.integer({ min: 0, max: 1000 }),
    // A heavy tail: up to half a day.
    fc.double({ min: -3, max: 7.6, noNaN: true }).map((exponent) => 10 ** exponent)
  )

  it("is never too small, and at most a 64th and a microsecond too large", () => {
    fc.assert(
      fc.property(
        fc.array(latency, { minLength: 1, maxLength: 500 }),
        fc.constantFrom(0.01, 0.5, 0.9, 0.99, 0.999, 1),
        (latencies, q) => {
          const truth = quantileOf(latencies, q)
          const told = sketchOf(latencies).quantile(q)!
          assert.isAtLeast(told, truth)
          // Latencies count in whole microseconds, rounded up.
          assert.isAtMost(told, (truth + 0.001) * (1 + 1 / 64) + 0.001)
        }
      ),
      { numRuns: 2000 }
    )
  })

  it("of one value many times is that value", () => {
    const told = sketchOf(new Array<number>(10_000).fill(50)).quantile(0.999)!
    assert.isTrue(told >= 50 && told <= 50 * (1 + 1 / 64))
  })

  it("there is none where nothing was seen", () => {
    assert.isUndefined(sketchOf([]).quantile(0.5))
  })

  it("of what takes longer than a day is the longest it can tell", () => {
    const longest = (2 ** 36 - 1) / 1000
    assert.deepStrictEqual([sketchOf([1e12]).quantile(1), sketchOf([Infinity]).quantile(1)], [longest, longest])
  })

  it("does not count what is no time", () => {
    assert.strictEqual(sketchOf([NaN, -1, 5]).count(0), 1)
  })
})

describe("what counts", () => {
  it("is forgotten when it is between one and two windows old", () => {
    const sketch = new LatencySketch.LatencySketch("test", 1000)
    sketch.observe(10, 500)
    sketch.observe(20, 1500)
    assert.deepStrictEqual(
      [500, 999, 1500, 1999, 2000, 2999, 3000].map((now) => sketch.count(now)),
      // The second one begins to count only when it is there; time does not go back.
      [2, 2, 2, 2, 1, 1, 0]
    )
  })

  it("is nothing after a long pause, and what comes then counts alone", () => {
    const sketch = new LatencySketch.LatencySketch("test", 1000)
    for (let i = 0; i < 100; i++) sketch.observe(10, i)
    sketch.observe(500, 1e12)
    assert.strictEqual(sketch.count(1e12), 1)
    assert.isAtLeast(sketch.quantile(0.5)!, 500)
  })

  it("stays as it is where the time given goes back", () => {
    const sketch = new LatencySketch.LatencySketch("test", 1000)
    sketch.observe(10, 5000)
    sketch.observe(10, 1000)
    assert.strictEqual(sketch.count(1000), 2)
  })
})

it("a wrong window names the function that was given it", () => {
  assert.throws(
    () => new LatencySketch.LatencySketch("AttemptTimeout.adaptive", 0),
    InvalidOption.InvalidOption,
    "AttemptTimeout.adaptive: window must be a whole number of milliseconds, at least 1, got 0"
  )
})
