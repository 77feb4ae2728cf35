import { Simulation, type Summary } from "@breakwater/simulation"
import { SixClients } from "@breakwater/storm"
import * as Comparison from "@breakwater/storm/Comparison"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const summary = (changes: Partial<Summary.Summary>): Summary.Summary => ({
  seed: 1,
  operations: 10,
  attempts: 10,
  retries: 0,
  succeeded: 10,
  gaveUp: 0,
  unfinished: 0,
  amplification: 1,
  peakInFlight: 4,
  timeOverCapacity: 0,
  allSucceededAt: 100,
  recovery: undefined,
  work: 1000,
  wastedWork: 0,
  calls: {},
  ...changes
})

const runs = (count: number, of: (run: number) => Partial<Summary.Summary>): ReadonlyArray<Summary.Summary> =>
  Array.from({ length: count }, (_, run) => summary(of(run)))

const standings = (comparison: Comparison.Comparison, measure: Comparison.Measure) =>
  comparison.policies.map(({ standing }) => standing[measure])

describe("an estimate", () => {
  it("of a mean has Student's interval", () => {
    // t(0.975, 4) = 2.7764; standard deviation 1.5811, over the root of 5: 0.70711.
    const { interval, value } = Comparison.mean([1, 2, 3, 4, 5])
    assert.strictEqual(value, 3)
    assert.closeTo(interval!.high - 3, 2.7764 * Math.SQRT1_2, 0.005)
    assert.closeTo(3 - interval!.low, 2.7764 * Math.SQRT1_2, 0.005)
    // t(0.975, 1) = 12.7062
    assert.closeTo(Comparison.mean([0, 2]).interval!.high, 1 + 12.7062, 0.0001)
  })

  it("of a share has Wilson's interval", () => {
    // The example of Newcombe (1998): 81 of 263 is 0.2553 to 0.3662.
    const { interval } = Comparison.share(
      Array.from({ length: 263 }, (_, index) => index),
      (index) => index < 81
    )
    assert.closeTo(interval!.low, 0.2553, 0.00005)
    assert.closeTo(interval!.high, 0.3662, 0.00005)
    const always = Comparison.share([true, true], (holds) => holds)
    assert.strictEqual(always.interval!.high, 1)
    assert.closeTo(always.interval!.low, 0.3424, 0.0001)
  })

  it("of one run has none", () => {
    assert.deepStrictEqual(Comparison.mean([7]), { value: 7, interval: null })
  })
})

describe("the measures of many runs", () => {
  it("take runs that never get well for no number", () => {
    const recovering = runs(8, (run) => ({
      allSucceededAt: undefined,
      recovery: run < 6 ? { _tag: "Recovered", after: 100 * (run + 1) } : { _tag: "NotRecovered", within: 9e6 }
    }))
    const { recovered, recovery } = Comparison.measures(recovering)
    assert.strictEqual(recovered.value, 0.75)
    assert.strictEqual(recovery!.value, 300)
    const never = runs(3, () => ({ recovery: { _tag: "NotRecovered", within: 1 } }))
    assert.isNull(Comparison.measures(never).recovery)
  })

  it("go by when all had succeeded where nothing disturbs the scenario", () => {
    const { recovered, recovery } = Comparison.measures(runs(4, (run) => (run === 0 ? { allSucceededAt: undefined } : {})))
    assert.deepStrictEqual([recovered.value, recovery!.value], [0.75, 100])
  })

  it("are means over the runs, and shares stay shares", () => {
    const { amplification, gaveUp, succeeded } = Comparison.measures(
      runs(2, (run) => ({ succeeded: run === 0 ? 10 : 8, gaveUp: run === 0 ? 0 : 2, amplification: 1 + run }))
    )
    assert.deepStrictEqual([amplification.value, gaveUp.value, succeeded.value], [1.5, 1, 0.9])
    assert.strictEqual(succeeded.interval!.high, 1)
    assert.strictEqual(gaveUp.interval!.low, 0)
  })
})

describe("a comparison", () => {
  it("marks the best of each column, and what it cannot tell from the best", () => {
    const comparison = Comparison.of({
      few: runs(50, (run) => ({ attempts: 10 + (run % 3) })),
      "about as few": runs(50, (run) => ({ attempts: 10 + ((run + 1) % 3) })),
      many: runs(50, (run) => ({ attempts: 20 + (run % 3), succeeded: 9 }))
    })
    assert.deepStrictEqual(standings(comparison, "attempts"), ["tied", "tied", "worse"])
    assert.deepStrictEqual(standings(comparison, "succeeded"), ["tied", "tied", "worse"])
    const two = Comparison.of({ few: runs(50, () => ({ attempts: 10 })), many: runs(50, () => ({ attempts: 20 })) })
    assert.deepStrictEqual(standings(two, "attempts"), ["best", "worse"])
  })

  it("tells nothing apart by one run each", () => {
    const comparison = Comparison.of({ few: runs(1, () => ({ attempts: 10 })), many: runs(1, () => ({ attempts: 20 })) })
    assert.deepStrictEqual(standings(comparison, "attempts"), ["tied", "tied"])
  })

  it("takes a policy that never recovers for worse than any that does", () => {
    const comparison = Comparison.of({ never: runs(9, () => ({ allSucceededAt: undefined })), slow: runs(9, () => ({})) })
    assert.deepStrictEqual(standings(comparison, "recovery"), ["worse", "best"])
  })

  it("is data that JSON keeps", () => {
    const comparison = Comparison.of({ never: runs(2, () => ({ allSucceededAt: undefined })), once: runs(1, () => ({})) })
    assert.deepStrictEqual(JSON.parse(JSON.stringify(comparison)), comparison)
  })

  it("is a table of at most 120 columns, with nothing cut off, and colours only where asked for", () => {
    const comparison = Comparison.of({
      "a name that is longer than its column": runs(30, (run) => ({
        attempts: 1_234_567 + 9999 * run,
        allSucceededAt: 123_456 + 999 * run
      })),
      another: runs(30, (run) => ({ timeOverCapacity: 1234.5678 * run, wastedWork: 98_765.4 + run, peakInFlight: 1234 }))
    })
    const text = Comparison.table(comparison, { colours: false })
    assert.isTrue(
      text.split("\n").every((line) => line.length <= 120),
      text
    )
    assert.notInclude(text, "…")
    assert.notInclude(text, "\u001b")
    assert.include(Comparison.table(comparison, { colours: true }), "\u001b[32m")
    assert.notMatch(Comparison.table(Comparison.of({ alone: runs(3, () => ({})) }), { colours: false }), /[*~]/)
  })
})

describe("full jitter against exponential backoff, six clients for four slots", () => {
  it("succeeds where the other never does, for two thirds of the attempts", async () => {
    const replicate = ({ scenario }: { readonly scenario: Parameters<typeof Simulation.replicate>[0] }) =>
      Simulation.replicate(scenario, { seeds: 200 })
    const comparison = Comparison.of(
      await Effect.runPromise(
        Effect.all({ exponential: replicate(SixClients.exponentialBackoff), "full jitter": replicate(SixClients.fullJitter) })
      )
    )
    const [exponential, fullJitter] = comparison.policies.map(({ measures }) => measures)
    // No chance in it: five waves of six, none of which succeeds.
    assert.deepStrictEqual(exponential!.attempts, { value: 30, interval: { low: 30, high: 30 } })
    assert.strictEqual(exponential!.succeeded.value, 0)
    assert.isNull(exponential!.recovery)
    // Over 20,000 runs the mean is 20.77 attempts, 99.6 % recover, the median in 718 ms.
    const { attempts, recovered, recovery } = fullJitter!
    assert.isTrue(attempts.interval!.low < 20.77 + 0.35 && 20.77 - 0.35 < attempts.interval!.high)
    assert.isAbove(recovered.interval!.high, 0.996)
    assert.isTrue(recovery!.interval!.low <= 730 && 706 <= recovery!.interval!.high)
    for (const measure of ["attempts", "succeeded", "recovered", "recovery", "wastedWork", "timeOverCapacity"] as const) {
      assert.deepStrictEqual(standings(comparison, measure), ["worse", "best"], measure)
    }
    assert.deepStrictEqual(standings(comparison, "peakInFlight"), ["tied", "tied"])
  })
})
