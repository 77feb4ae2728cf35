import { AttemptTimeout, RandomStream } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"

/** Latencies of a dependency, cut at the limit of the moment; `count` attempts, 10 ms apart. How many were cut. */
const attempts = (rule: AttemptTimeout.Adaptive, count: number, from: number, latency: () => number): number => {
  let cut = 0
  for (let i = 0; i < count; i++) {
    const now = from + 10 * i
    const limit = rule.limit(now)
    const takes = latency()
    if (takes < limit) rule.succeeded(takes, now)
    else {
      rule.cut(limit, now)
      cut++
    }
  }
  return cut
}

/** Mostly 20 to 40 ms, a twentieth of them up to 100 ms. */
const dependency = (slowness = 1) => {
  const random = RandomStream.make(7, "latency", slowness)
  return () => slowness * (random.next() < 0.05 ? 40 + 60 * random.next() : 20 + 20 * random.next())
}

describe("an adaptive limit", () => {
  it.each([
    [{}, 1000, 10_000],
    [{ falseTimeouts: 0.01, ceiling: 2000 }, 100, 2000],
    [{ warmUp: 1 }, 1, 10_000],
    [{ warmUp: 70 }, 70, 10_000]
  ])(
    "is the ceiling until enough was seen, by default what shows the accepted rate once, and not longer: %j",
    (options, warmUp, ceiling) => {
      const rule = AttemptTimeout.adaptive(options)
      for (let seen = 0; seen < warmUp; seen++) {
        assert.deepStrictEqual([rule.limit(0), rule.median(0)], [ceiling, undefined])
        rule.succeeded(50, 0)
      }
      assert.isTrue(rule.limit(0) >= 50 && rule.limit(0) <= 51, String(rule.limit(0)))
      assert.isTrue(rule.median(0)! >= 50 && rule.median(0)! <= 51)
    }
  )

  it("is p99.9 of what was seen, by default: never too short, at most a 64th too long, in whole milliseconds", () => {
    const rule = AttemptTimeout.adaptive()
    const latency = dependency()
    const seen = Array.from({ length: 10_000 }, () => latency())
    seen.forEach((takes, i) => rule.succeeded(takes, 5 * i))
    const truth = seen.sort((a, b) => a - b)[9_990 - 1]!
    const limit = rule.limit(50_000)
    assert.isTrue(limit >= truth && limit <= Math.ceil((truth + 0.001) * (1 + 1 / 64) + 0.001), `${limit} for ${truth}`)
    assert.isTrue(Number.isInteger(limit))
  })

  it("is rounded up to whole milliseconds, so that what was seen is not cut", () => {
    const rule = AttemptTimeout.adaptive({ warmUp: 1 })
    rule.succeeded(50.001, 0)
    assert.strictEqual(rule.limit(0), 51)
  })

  it("is looked up anew after 64 observations and not before", () => {
    const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: 1000 })
    for (let seen = 0; seen < 100; seen++) rule.succeeded(50, 0)
    const before = rule.limit(0)
    for (let seen = 0; seen < 63; seen++) rule.succeeded(400, 0)
    assert.strictEqual(rule.limit(0), before)
    rule.succeeded(400, 0)
    assert.isAtLeast(rule.limit(0), 400)
  })

  it("is looked up anew when a window ends, however little was seen", () => {
    const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: 1000, window: 1000 })
    for (let seen = 0; seen < 100; seen++) rule.succeeded(400, 0)
    for (let seen = 0; seen < 100; seen++) rule.succeeded(50, 1000)
    assert.isAtLeast(rule.limit(1999), 400)
    assert.isAtMost(rule.limit(2000), 51)
  })

  it("is the quantile that fits the rate, and cuts about as many", () => {
    const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: 1000 })
    const latency = dependency()
    attempts(rule, 5000, 0, latency)
    // 99 of 100: four fifths of the slow twentieth lie below 88 ms.
    assert.isTrue(rule.limit(50_000) >= 86 && rule.limit(50_000) <= 94, String(rule.limit(50_000)))
    const median = rule.median(50_000)!
    assert.isTrue(median >= 30 && median <= 32, String(median))
    const cut = attempts(rule, 10_000, 50_000, latency)
    assert.isAtMost(cut / 10_000, 0.01)
  })

  it("grows with a dependency that has become three times slower, and cuts few again", () => {
    const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: 1000, window: 10_000 })
    attempts(rule, 3000, 0, dependency())
    const slower = dependency(3)
    attempts(rule, 3000, 30_000, slower)
    assert.isAtLeast(rule.limit(60_000), 250)
    assert.isAtMost(attempts(rule, 30_000, 60_000, slower) / 30_000, 0.01)
  })

  it("does not starve on what it cuts: where all is slower than it, it doubles up to the ceiling", () => {
    const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: 1000 })
    attempts(rule, 200, 0, () => 10)
    attempts(rule, 2000, 2000, () => 5000)
    assert.strictEqual(rule.limit(22_000), 1000)
  })

  it("is never shorter than the median, so that who has the time of the limit may make an attempt", () => {
    const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: 1000 })
    attempts(rule, 2000, 0, () => 5000)
    assert.deepStrictEqual([rule.limit(20_000), rule.median(20_000)], [1000, 1000])
  })

  it("comes down when the dependency is quick again, a window later", () => {
    const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: 1000, window: 10_000 })
    attempts(rule, 1000, 0, () => 400)
    assert.isAtLeast(rule.limit(10_000), 400)
    attempts(rule, 3000, 10_000, () => 20)
    assert.isAtMost(rule.limit(40_000), 21)
  })

  it("is the ceiling again after a long pause", () => {
    const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: 1000 })
    attempts(rule, 1000, 0, () => 20)
    assert.strictEqual(rule.limit(3_600_000), 1000)
  })

  it("is never below its floor or above its ceiling, and a whole number", () => {
    const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.1, floor: 30, ceiling: 50 })
    attempts(rule, 200, 0, () => 1.5)
    assert.strictEqual(rule.limit(2000), 30)
    attempts(rule, 2000, 2000, () => 49.7)
    assert.strictEqual(rule.limit(22_000), 50)
  })
})

describe("wrong options", () => {
  it.each([
    [{ falseTimeouts: 0 }, "falseTimeouts must be a number from 0.00001 to 0.5, got 0"],
    [{ falseTimeouts: NaN }, "falseTimeouts must be a number from 0.00001 to 0.5, got NaN"],
    [{ floor: 0 }, "floor must be a whole number of milliseconds, at least 1, got 0"],
    [{ floor: 20, ceiling: 10 }, "floor must be at most the ceiling, 10, got 20"],
    [{ ceiling: Infinity }, "ceiling must be a whole number of milliseconds, at least 1, got Infinity"],
    [{ warmUp: 0 }, "warmUp must be a whole number, at least 1, or Infinity, got 0"],
    [{ window: 0.5 }, "window must be a whole number of milliseconds, at least 1, got 0.5"]
  ])("%j", (options, message) => {
    assert.throws(() => AttemptTimeout.adaptive(options), `AttemptTimeout.adaptive: ${message}`)
  })
})
