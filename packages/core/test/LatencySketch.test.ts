import { InvalidOption, LatencySketch, RandomStream } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { serialize } from "node:v8"

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

  /** Latencies count in whole microseconds, rounded up. */
  const assertTold = (told: number, truth: number) => {
    assert.isAtLeast(told, truth)
    assert.isAtMost(told, (truth + 0.001) * (1 + 1 / 64) + 0.001)
  }

  it("is never too small, and at most a 64th and a microsecond too large", () => {
    fc.assert(
      fc.property(
        fc.array(latency, { minLength: 1, maxLength: 500, size: "max" }),
        fc.constantFrom(0.01, 0.5, 0.9, 0.99, 0.999, 1),
        (latencies, q) => {
          assertTold(sketchOf(latencies).quantile(q)!, quantileOf(latencies, q))
        }
      ),
      { numRuns: 2000 }
    )
  })

  it.each<[string, (random: number) => number]>([
    ["uniform", (random) => 100 * random],
    ["of a heavy tail", (random) => 10 / (1 - random)],
    ["always the same", () => 50],
    ["tiny", (random) => 0.01 * random],
    ["huge, up to 18 hours", (random) => 3_600_000 * (1 + 17 * random)],
    ["in two groups", (random) => (random < 0.995 ? 20 + random : 2000 * random)]
  ])("is as exact for ten thousand latencies that are %s", (name, latency) => {
    const random = RandomStream.make(11, name, 0)
    const latencies = Array.from({ length: 10_000 }, () => latency(random.next()))
    const sketch = sketchOf(latencies)
    for (const q of [0.5, 0.9, 0.99, 0.999, 1]) assertTold(sketch.quantile(q)!, quantileOf(latencies, q))
  })

  it("is as exact around every power of two, where the buckets get wider", () => {
    for (let exponent = 0; exponent < 36; exponent++) {
      for (const micros of [2 ** exponent - 1, 2 ** exponent, 2 ** exponent + 1, 1.5 * 2 ** exponent]) {
        assertTold(sketchOf([micros / 1000]).quantile(1)!, micros / 1000)
      }
    }
  })

  it("of what is below 128 microseconds is exact", () => {
    for (let micros = 0; micros < 128; micros++) {
      assert.strictEqual(sketchOf([micros / 1000]).quantile(0.5), Math.ceil((micros / 1000) * 1000) / 1000)
    }
  })

  it("there is none where nothing was seen", () => {
    assert.isUndefined(sketchOf([]).quantile(0.5))
  })

  it("of what takes longer than 19 hours is the longest it can tell", () => {
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

  it("takes the same memory however much there is of it, and however often it is forgotten", () => {
    const sketch = new LatencySketch.LatencySketch("test", 1000)
    const sizes = [0, 1, 2, 3, 1e9].map((period) => {
      for (let i = 0; i < 20_000; i++) sketch.observe(1.001 ** i, 1000 * period)
      return serialize(sketch).length
    })
    // The numbers of the counts and of the window are written with some bytes more when they are large.
    for (const size of sizes) assert.isAtMost(Math.abs(size - sizes[0]!), 32)
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
