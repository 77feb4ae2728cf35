import { AdaptiveThrottle } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"

/** A throttle after so many calls of each kind, all at time 0. */
const after = (options: AdaptiveThrottle.Options, calls: { readonly accepted?: number; readonly overload?: number }) => {
  const rules = AdaptiveThrottle.make(options)
  let state = rules.initial(0)
  for (const outcome of ["accepted", "overload"] as const) {
    for (let call = 0; call < (calls[outcome] ?? 0); call++) state = rules.settle(state, outcome, 0)
  }
  return { rules, state, probability: (now = 0) => rules.probability(state, now) }
}

describe("the probability", () => {
  it.each([
    { multiplier: 2, accepted: 0, overload: 0, probability: 0 },
    { multiplier: 2, accepted: 0, overload: 1, probability: 1 / 2 },
    { multiplier: 2, accepted: 0, overload: 99, probability: 99 / 100 },
    { multiplier: 2, accepted: 100, overload: 0, probability: 0 },
    { multiplier: 2, accepted: 50, overload: 50, probability: 0 },
    { multiplier: 2, accepted: 50, overload: 51, probability: 1 / 102 },
    { multiplier: 2, accepted: 10, overload: 89, probability: 79 / 100 },
    { multiplier: 1, accepted: 50, overload: 49, probability: 49 / 100 },
    { multiplier: 1.1, accepted: 10, overload: 1, probability: 0 },
    { multiplier: 1.1, accepted: 10, overload: 2, probability: 1 / 13 },
    { multiplier: 100, accepted: 1, overload: 99, probability: 0 }
  ])("is $probability after $accepted accepted and $overload refused, multiplier $multiplier", (row) => {
    assert.closeTo(after(row, row).probability(), row.probability, 1e-12)
  })

  it("counts a call that was held back as wanted", () => {
    const { rules, state } = after({}, { overload: 1 })
    const held = rules.admit(state, 0.49, 0)
    assert.isFalse(held.admitted)
    assert.strictEqual(rules.probability(held.state, 0), 2 / 3)
    const let_ = rules.admit(state, 0.5, 0)
    assert.isTrue(let_.admitted)
    assert.strictEqual(rules.probability(let_.state, 0), 1 / 2)
  })

  it("does not hold the first calls of a client back because none has ended yet", () => {
    const rules = AdaptiveThrottle.make()
    let state = rules.initial(0)
    for (let call = 0; call < 1000; call++) {
      const admission = rules.admit(state, 0, 0)
      assert.isTrue(admission.admitted)
      state = admission.state
    }
  })

  it("learns nothing from what says nothing of the dependency", () => {
    const { rules, state } = after({}, { overload: 3 })
    assert.deepStrictEqual(rules.settle(state, "ignored", 5), state)
  })

  it("is never higher than was asked for", () => {
    assert.strictEqual(after({ maxProbability: 0.8 }, { overload: 1000 }).probability(), 0.8)
    assert.strictEqual(after({ maxProbability: 0.8 }, { overload: 1 }).probability(), 0.5)
    assert.isTrue(after({ maxProbability: 0 }, { overload: 1000 }).rules.admit(after({}, { overload: 9 }).state, 0, 0).admitted)
  })

  it("forgets what is further back than the window, in tenths of it", () => {
    const { probability } = after({ window: 1000 }, { overload: 1 })
    assert.deepStrictEqual([probability(899), probability(999), probability(1000)], [0.5, 0.5, 0])
    const default_ = after({}, { overload: 1 })
    assert.deepStrictEqual([default_.probability(119_999), default_.probability(120_000)], [0.5, 0])
  })
})

describe("wrong options", () => {
  it.each([
    [{ multiplier: 0.9 }, "AdaptiveThrottle.make: multiplier must be a number from 1 to 100, got 0.9"],
    [{ multiplier: NaN }, "AdaptiveThrottle.make: multiplier must be a number from 1 to 100, got NaN"],
    [{ window: 9 }, "AdaptiveThrottle.make: window must be a whole number of milliseconds, at least 10, got 9"],
    [{ maxProbability: 1.1 }, "AdaptiveThrottle.make: maxProbability must be a number from 0 to 1, got 1.1"]
  ])("%o", (options, message) => {
    assert.throws(() => AdaptiveThrottle.make(options), message)
  })
})

describe("laws", () => {
  const happening = fc.record({
    after: fc.integer({ min: 0, max: 400 }),
    outcome: fc.constantFrom<AdaptiveThrottle.Outcome>("accepted", "overload", "ignored"),
    chance: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  })
  const options = fc.record({
    multiplier: fc.integer({ min: 4, max: 40 }).map((quarters) => quarters / 4),
    window: fc.integer({ min: 10, max: 2000 }),
    maxProbability: fc.constantFrom(0, 0.5, 0.8, 1)
  })

  it("is the formula over all that was wanted and accepted in the tenths that count", () => {
    fc.assert(
      fc.property(
        options,
        fc.array(happening, { maxLength: 60, size: "max" }),
        ({ maxProbability, multiplier, window }, happenings) => {
          const rules = AdaptiveThrottle.make({ multiplier, window, maxProbability })
          const history: Array<{ readonly at: number; readonly accepted: boolean }> = []
          const expected = (now: number): number => {
            const tenth = (time: number) => Number((BigInt(time) * 10n) / BigInt(window))
            const counted = history.filter(({ at }) => tenth(now) - tenth(at) < 10)
            const accepts = counted.filter(({ accepted }) => accepted).length
            const wanted = counted.length
            return Math.min(maxProbability, Math.max(0, (wanted - multiplier * accepts) / (wanted + 1)))
          }
          let state = rules.initial(0)
          let now = 0
          for (const { after, chance, outcome } of happenings) {
            now += after
            const before = JSON.stringify(state)
            const probability = rules.probability(state, now)
            assert.strictEqual(probability, expected(now))
            assert.isTrue(probability >= 0 && probability < 1 && probability <= maxProbability)
            const admission = rules.admit(state, chance, now)
            assert.strictEqual(admission.admitted, chance >= probability)
            const next = admission.admitted ? rules.settle(admission.state, outcome, now) : admission.state
            assert.strictEqual(JSON.stringify(state), before, "a state is a value")
            state = next
            if (!admission.admitted) history.push({ at: now, accepted: false })
            else if (outcome !== "ignored") history.push({ at: now, accepted: outcome === "accepted" })
          }
        }
      )
    )
  })
})
