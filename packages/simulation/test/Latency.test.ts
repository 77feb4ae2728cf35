import { InvalidOption, RandomStream } from "@breakwater/core"
import { Distribution, Latency } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import type { Duration } from "effect"

const count = 40_000

/** In milliseconds. */
const samples = (latency: Latency.Latency, seed = 1): ReadonlyArray<number> => {
  const random = RandomStream.make(seed, "latency")
  return Array.from({ length: count }, () => latency.sample(random) / 1000)
}

const { exp, log, PI, sqrt } = Math

describe("do samples follow their distribution?", () => {
  const folded = { mean: sqrt(2 / PI) * 10, deviation: 10 * sqrt(1 - 2 / PI) }
  const clamped = { mean: 10 / sqrt(2 * PI), deviation: 10 * sqrt(1 / 2 - 1 / (2 * PI)) }
  const median = 10
  const sigma = 0.5

  it.each([
    {
      what: "uniform",
      latency: Latency.uniform({ min: "5 millis", max: "15 millis" }),
      mean: 10,
      deviation: 10 / sqrt(12),
      quantiles: [
        [0.1, 6],
        [0.9, 14]
      ]
    },
    {
      what: "exponential",
      latency: Latency.exponential({ mean: "20 millis" }),
      mean: 20,
      deviation: 20,
      quantiles: [
        [0.5, 20 * log(2)],
        [0.99, 20 * log(100)]
      ]
    },
    {
      what: "normal, far from zero",
      latency: Latency.normal({ mean: "10 millis", deviation: "2 millis", folded: true }),
      mean: 10,
      deviation: 2,
      quantiles: [
        [0.025, 10 - 2 * 1.95996398],
        [0.84134475, 12]
      ]
    },
    {
      what: "normal, clamped at zero",
      latency: Latency.normal({ mean: 0, deviation: "10 millis" }),
      ...clamped,
      quantiles: [[0.84134475, 10]]
    },
    {
      what: "normal, folded at zero",
      latency: Latency.normal({ mean: 0, deviation: "10 millis", folded: true }),
      ...folded,
      quantiles: [[0.68268949, 10]]
    },
    {
      what: "logNormal",
      latency: Latency.logNormal({ median: "10 millis", sigma }),
      mean: median * exp(sigma ** 2 / 2),
      deviation: median * exp(sigma ** 2 / 2) * sqrt(exp(sigma ** 2) - 1),
      quantiles: [
        [0.5, median],
        [0.95, median * exp(1.64485363 * sigma)]
      ]
    },
    {
      what: "empirical",
      latency: Latency.empirical([
        [0, 0],
        [0.5, "10 millis"],
        [1, "50 millis"]
      ]),
      // Half of it uniform over 0 to 10, half over 10 to 50.
      mean: (5 + 30) / 2,
      deviation: sqrt((100 / 3 + (10 ** 2 + 10 * 50 + 50 ** 2) / 3) / 2 - 17.5 ** 2),
      quantiles: [
        [0.25, 5],
        [0.5, 10],
        [0.75, 30]
      ]
    }
  ])("$what: mean and quantiles within 3.5 standard errors", ({ deviation, latency, mean, quantiles }) => {
    const values = samples(latency)
    assert.closeTo(Distribution.mean(values), mean, (3.5 * deviation) / sqrt(count))
    for (const [p, quantile] of quantiles) {
      // Also where the distribution is steep: by the share below, whose standard error is known.
      const below = Distribution.share(values, (value) => value <= quantile!)
      assert.closeTo(below, p!, 3.5 * sqrt((p! * (1 - p!)) / count), `share below ${quantile}`)
    }
  })

  it("a constant is always the same and takes no draw", () => {
    const random = RandomStream.make(1, "constant")
    assert.strictEqual(Latency.constant("1.5 millis").sample(random), 1500)
    assert.strictEqual(random.next(), RandomStream.make(1, "constant").next())
  })
})

describe("is a sample fit for a trace?", () => {
  const all = {
    uniform: Latency.uniform({ min: 0, max: "1 second" }),
    exponential: Latency.exponential({ mean: "1.234 millis" }),
    normal: Latency.normal({ mean: "1 millis", deviation: "3 millis" }),
    folded: Latency.normal({ mean: "1 millis", deviation: "3 millis", folded: true }),
    logNormal: Latency.logNormal({ median: "1 millis", sigma: 2 }),
    empirical: Latency.empirical([
      [0, "1 millis"],
      [0.3, "1 millis"],
      [1, "7 millis"]
    ])
  }

  it.each(Object.entries(all))("%s: a whole number of microseconds, at least 0", (_name, latency) => {
    const random = RandomStream.make(2, "whole")
    for (let i = 0; i < 5000; i++) {
      const sample = latency.sample(random)
      assert.isTrue(Number.isSafeInteger(sample) && sample >= 0, String(sample))
    }
  })

  it.each(Object.entries(all))("%s: takes one draw", (_name, latency) => {
    const random = RandomStream.make(3, "draws")
    const twin = RandomStream.make(3, "draws")
    for (let i = 0; i < 100; i++) {
      latency.sample(random)
      twin.next()
    }
    assert.strictEqual(random.next(), twin.next())
  })

  it.each(Object.entries(all))("%s: at the lowest and the highest draw too", (_name, latency) => {
    for (const draw of [0, 1 - 2 ** -53]) {
      assert.isTrue(Number.isSafeInteger(latency.sample({ next: () => draw, nextUint32: () => 0 })))
    }
  })

  // From a port to Python, over 100,000 samples each.
  it.each([
    ["uniform", [961478, 209828, 969151], 620109918],
    ["exponential", [4019, 291, 4293], 1750728265],
    ["normal", [6304, 0, 6605], -2064209718],
    ["folded", [6304, 1421, 6605], 515512860],
    ["logNormal", [34336, 199, 41967], -138408806],
    ["empirical", [6670, 1000, 6736], 1511671923]
  ] as const)("%s: the same numbers in another language", (name, first, hash) => {
    const random = RandomStream.make(14, "golden")
    const values = Array.from({ length: 100_000 }, () => all[name].sample(random))
    assert.deepStrictEqual(values.slice(0, 3), [...first])
    assert.strictEqual(
      values.reduce((sum, value) => (Math.imul(sum, 31) + value) | 0, 0),
      hash
    )
  })
})

describe("which latencies are refused?", () => {
  const refused = (make: () => unknown, message: string) => assert.throws(make, InvalidOption.InvalidOption, message)

  it("times that never end, are negative or no times at all", () => {
    for (const time of [Infinity, -1, NaN, "-1 millis", "soon", "Infinity"]) {
      refused(
        () => Latency.constant(time as Duration.DurationInput),
        "Latency.constant: time must be a finite time, at least 0"
      )
    }
  })

  it("a range upside down, a sigma out of bounds", () => {
    refused(() => Latency.uniform({ min: 2, max: 1 }), "Latency.uniform: max must be at least min, got 1")
    refused(() => Latency.logNormal({ median: 1, sigma: -1 }), "Latency.logNormal: sigma must be a number from 0 to 10, got -1")
  })

  it.each([
    [[]],
    [[[0, 1]]],
    [
      [
        [0.1, 1],
        [1, 2]
      ]
    ],
    [
      [
        [0, 1],
        [0.9, 2]
      ]
    ],
    [
      [
        [0, 1],
        [0.5, 3],
        [1, 2]
      ]
    ],
    [
      [
        [0, 1],
        [0.5, 2],
        [0.5, 3],
        [1, 4]
      ]
    ]
  ] as ReadonlyArray<[ReadonlyArray<readonly [number, number]>]>)("quantiles that are none: %j", (quantiles) => {
    refused(() => Latency.empirical(quantiles), "Latency.empirical: quantiles must be shares that rise from 0 to 1")
  })
})
