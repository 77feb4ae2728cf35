/**
 * Several policies in the same storm, side by side: what each costs and what it gives, how sure that is, and which is the best
 * where one is. Pure: from the summaries of many runs to data, and from that to text.
 *
 * A figure stands with the interval in which its true value lies in 95 cases of 100. Two figures whose intervals overlap are not
 * told apart: more runs may tell them.
 *
 * @since 0.1.0
 */
import { Distribution, type Summary } from "@breakwater/simulation"
import Table from "cli-table3"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * A figure of many runs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Estimate {
  readonly value: number
  /** Where the true value lies with 95 % confidence; `null` where there are too few runs to tell. */
  readonly interval: { readonly low: number; readonly high: number } | null
}

/**
 * Of one policy over many runs; times are milliseconds, and means are over the runs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Measures {
  readonly runs: number
  /** All calls, the first ones included. */
  readonly attempts: Estimate
  /** Attempts for each operation. */
  readonly amplification: Estimate
  /** The share of the operations that succeeded. */
  readonly succeeded: Estimate
  /** The share of the runs in which all operations succeeded. */
  readonly allSucceeded: Estimate
  /** How many operations ended in an error. */
  readonly gaveUp: Estimate
  readonly peakInFlight: Estimate
  readonly timeOverCapacity: Estimate
  /** The share of the runs that got well; those that did not are no number, and no part of `recovery`. */
  readonly recovered: Estimate
  /**
   * The median of the runs that got well: from the end of what disturbed the scenario, or, where nothing does, from the start until
   * the last operation had succeeded. `null` where no run did.
   */
  readonly recovery: Estimate | null
  /** How long the service worked for nothing. */
  readonly wastedWork: Estimate
}

/**
 * How a policy stands in a measure. `tied`: it is the best, or not distinguishable from it, and it is not alone in that.
 *
 * @category models
 * @since 0.1.0
 */
export type Standing = "best" | "tied" | "worse"

/**
 * @category models
 * @since 0.1.0
 */
export interface Comparison {
  readonly policies: ReadonlyArray<Row>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Row {
  readonly policy: string
  readonly measures: Measures
  readonly standing: { readonly [name in Measure]: Standing }
}

/**
 * What policies are ranked by.
 *
 * @category models
 * @since 0.1.0
 */
export type Measure = Exclude<keyof Measures, "runs">

// -----------------------------------------------------------------------------
// estimates
// -----------------------------------------------------------------------------

/** Of the normal distribution: 95 % lies within so many standard deviations of the mean. */
const z = 1.959964

/**
 * The same of Student's distribution, which has to guess the deviation from n + 1 values: exact for one and two, then its expansion
 * by 1/n (Abramowitz and Stegun, 26.7.5), within 1 %.
 */
const student = (n: number): number => {
  if (n <= 2) return n === 1 ? 12.7062 : 4.3027
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384
  ]
  return terms.reduce((sum, term, index) => sum + term / n ** (index + 1), z)
}

/**
 * The mean of values that do not depend on each other, with Student's interval.
 *
 * @example
 * ```ts
 * import { Comparison } from "@breakwater/storm"
 *
 * console.log(Comparison.mean([19, 21, 20]).value) // 20
 * console.log(Comparison.mean([19]).interval) // null
 * ```
 * @category estimates
 * @since 0.1.0
 */
export const mean = (values: ReadonlyArray<number>): Estimate => {
  const value = Distribution.mean(values)
  if (values.length < 2) return { value, interval: null }
  const variance = values.reduce((sum, one) => sum + (one - value) ** 2, 0) / (values.length - 1)
  const margin = student(values.length - 1) * Math.sqrt(variance / values.length)
  return { value, interval: { low: value - margin, high: value + margin } }
}

/**
 * The share of values for which something holds, with Wilson's interval, which also serves where it always holds, or never.
 *
 * @example
 * ```ts
 * import { Comparison } from "@breakwater/storm"
 *
 * const { interval, value } = Comparison.share([true, true, true, true], (holds) => holds)
 * console.log(value, interval?.low.toFixed(2)) // 1 0.51
 * ```
 * @category estimates
 * @since 0.1.0
 */
export const share = <A>(values: ReadonlyArray<A>, holds: (value: A) => boolean): Estimate => {
  const value = Distribution.share(values, holds)
  const n = values.length
  const centre = (value + z ** 2 / (2 * n)) / (1 + z ** 2 / n)
  const margin = (z / (1 + z ** 2 / n)) * Math.sqrt((value * (1 - value)) / n + z ** 2 / (4 * n ** 2))
  return { value, interval: within(0, 1, { low: centre - margin, high: centre + margin }) }
}

/** The interval of a median: the values whose ranks a fair coin would fall between. */
const median = (values: ReadonlyArray<number>): Estimate | null => {
  if (values.length === 0) return null
  const value = Distribution.quantile(values, 0.5)
  // With fewer values even the smallest and the largest are not sure enough.
  if (values.length < 6) return { value, interval: null }
  const margin = (z * Math.sqrt(values.length)) / 2
  const rank = (rank: number) => Math.min(values.length, Math.max(1, rank)) / values.length
  return {
    value,
    interval: {
      low: Distribution.quantile(values, rank(Math.floor(values.length / 2 - margin))),
      high: Distribution.quantile(values, rank(Math.ceil(values.length / 2 + 1 + margin)))
    }
  }
}

const within = (least: number, most: number, { high, low }: NonNullable<Estimate["interval"]>) => ({
  low: Math.max(least, low),
  high: Math.min(most, high)
})

/** A mean that cannot leave these bounds. */
const bounded = (values: ReadonlyArray<number>, most = Infinity): Estimate => {
  const { interval, value } = mean(values)
  return { value, interval: interval && within(0, most, interval) }
}

// -----------------------------------------------------------------------------
// measures
// -----------------------------------------------------------------------------

/**
 * What many runs of one policy come to; at least one run.
 *
 * @example
 * ```ts
 * import { Simulation } from "@breakwater/simulation"
 * import { Comparison, SixClients } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const runs = await Effect.runPromise(Simulation.replicate(SixClients.fullJitter.scenario, { seeds: 200 }))
 * const { attempts } = Comparison.measures(runs)
 * console.log(attempts.value > 20 && attempts.value < 22) // true
 * ```
 * @category measures
 * @since 0.1.0
 */
export const measures = (runs: ReadonlyArray<Summary.Summary>): Measures => {
  const recoveries = runs.map(recoveryOf)
  const over = (measure: (run: Summary.Summary) => number, most?: number) => bounded(runs.map(measure), most)
  return {
    runs: runs.length,
    attempts: over((run) => run.attempts),
    amplification: over((run) => run.amplification),
    succeeded: over((run) => (run.operations === 0 ? 1 : run.succeeded / run.operations), 1),
    allSucceeded: share(runs, allSucceeded),
    gaveUp: over((run) => run.gaveUp),
    peakInFlight: over((run) => run.peakInFlight),
    timeOverCapacity: over((run) => run.timeOverCapacity),
    recovered: share(recoveries, (recovery) => recovery !== undefined),
    recovery: median(recoveries.flatMap((recovery) => recovery ?? [])),
    wastedWork: over((run) => run.wastedWork)
  }
}

const allSucceeded = (run: Summary.Summary): boolean => run.succeeded === run.operations

/** When a run was well again, by `Recovery` where it was disturbed, else when all had succeeded; nothing where it was not. */
const recoveryOf = ({ allSucceededAt, recovery }: Summary.Summary): number | undefined => {
  if (recovery === undefined) return allSucceededAt
  return recovery._tag === "Recovered" ? recovery.after : undefined
}

// -----------------------------------------------------------------------------
// comparison
// -----------------------------------------------------------------------------

/** Which way is better. */
const better: { readonly [name in Measure]: "less" | "more" } = {
  attempts: "less",
  amplification: "less",
  succeeded: "more",
  allSucceeded: "more",
  gaveUp: "less",
  peakInFlight: "less",
  timeOverCapacity: "less",
  recovered: "more",
  recovery: "less",
  wastedWork: "less"
}

/**
 * Sets policies side by side by the summaries of their runs, which should be of the same scenario under the same seeds.
 *
 * @example
 * ```ts
 * import { Simulation } from "@breakwater/simulation"
 * import { Comparison, SixClients } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const runs = ({ scenario }: typeof SixClients.fullJitter) => Simulation.replicate(scenario, { seeds: 100 })
 * const program = Effect.map(
 *   Effect.all({ exponential: runs(SixClients.exponentialBackoff), "full jitter": runs(SixClients.fullJitter) }),
 *   Comparison.of
 * )
 * const { policies } = await Effect.runPromise(program)
 * console.log(policies.map(({ standing }) => standing.attempts)) // [ 'worse', 'best' ]
 * ```
 * @category comparison
 * @since 0.1.0
 */
export const of = (runs: { readonly [policy: string]: ReadonlyArray<Summary.Summary> }): Comparison => {
  const measured = Object.entries(runs).map(([policy, summaries]) => ({ policy, measures: measures(summaries) }))
  const all = measured.map(({ measures }) => measures)
  return {
    policies: measured.map(({ measures, policy }) => ({
      policy,
      measures,
      standing: mapMeasures((name) => standingOf(measures, all, name))
    }))
  }
}

const mapMeasures = <A>(f: (name: Measure) => A): { readonly [name in Measure]: A } =>
  Object.fromEntries(Object.keys(better).map((name) => [name, f(name as Measure)])) as { readonly [name in Measure]: A }

const standingOf = (measures: Measures, all: ReadonlyArray<Measures>, name: Measure): Standing => {
  const isTied = (one: Measures) => !isTold(one[name], best[name])
  const best = all.reduce((best, one) => (isBetter(one[name], best[name], better[name]) ? one : best))
  if (!isTied(measures)) return "worse"
  return all.filter(isTied).length === 1 ? "best" : "tied"
}

/** What never comes is worse than whatever comes. */
const isBetter = (one: Estimate | null, other: Estimate | null, way: "less" | "more"): boolean => {
  if (one === null || other === null) return other === null && one !== null
  return way === "less" ? one.value < other.value : one.value > other.value
}

/** Whether two figures are distinguishable: one of them is none, or their intervals do not meet. */
const isTold = (one: Estimate | null, other: Estimate | null): boolean => {
  if (one === null || other === null) return one !== other
  if (one === other) return false
  if (one.interval === null || other.interval === null) return false
  return one.interval.high < other.interval.low || other.interval.high < one.interval.low
}

// -----------------------------------------------------------------------------
// text
// -----------------------------------------------------------------------------

/**
 * As a table no wider than 120 columns: each figure over its interval, what is the best marked.
 *
 * @example
 * ```ts
 * import { Simulation } from "@breakwater/simulation"
 * import { Comparison, SixClients } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const runs = Effect.runSync(Simulation.replicate(SixClients.exponentialBackoff.scenario, { seeds: 2 }))
 * console.log(Comparison.table(Comparison.of({ exponential: runs }), { colours: false }))
 * ```
 * @category text
 * @since 0.1.0
 */
export const table = ({ policies }: Comparison, options: { readonly colours: boolean }): string => {
  const rows = new Table(layout(["policy", 18], options))
  // Alone, everything is the best.
  const ranked = policies.length > 1
  for (const { measures, policy, standing } of policies) {
    rows.push([policy, ...cells(measures, options, ranked ? standing : undefined)])
  }
  const runs = runsOf(policies.map(({ measures }) => measures.runs))
  return [rows.toString(), runs, ...(ranked ? ["* best   ~ best, or not distinguishable from the best"] : [])].join("\n")
}

const runsOf = (runs: ReadonlyArray<number>): string => {
  const [least, most] = [Math.min(...runs), Math.max(...runs)]
  return `${least === most ? least : `${least} to ${most}`} runs each; under a figure where it lies with 95 % confidence.`
}

interface Column {
  readonly head: string
  readonly width: number
  readonly measure: Measure
  readonly show: (estimate: Estimate) => Shown
}

interface Shown {
  readonly value: string
  readonly interval: string
}

/** With as many digits as say something, and few enough for a narrow column. */
const short = (value: number): string => {
  if (Math.abs(value) >= 10_000) {
    return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(value)
  }
  return String(Number(value.toFixed(Math.abs(value) < 100 ? 2 : Math.abs(value) < 1000 ? 1 : 0)))
}

const percent = (share: number): string => String(Number((100 * share).toFixed(1)))

const asMean = ({ interval, value }: Estimate): Shown => ({
  value: short(value),
  interval: interval === null ? "" : `± ${short((interval.high - interval.low) / 2)}`
})

const asShare = ({ interval, value }: Estimate): Shown => ({
  value: `${percent(value)} %`,
  interval: interval === null ? "" : between(percent(interval.low), percent(interval.high))
})

const asMedian = ({ interval, value }: Estimate): Shown => ({
  value: short(Math.round(value)),
  interval: interval === null ? "" : between(short(Math.round(interval.low)), short(Math.round(interval.high)))
})

/** In two lines where one would be too long. */
const between = (low: string, high: string): string => `${low}–${low.length + high.length > 8 ? "\n" : ""}${high}`

const columns: ReadonlyArray<Column> = [
  { head: "attempts", width: 10, measure: "attempts", show: asMean },
  { head: "ampli-\nfication", width: 10, measure: "amplification", show: asMean },
  { head: "succeeded", width: 11, measure: "succeeded", show: asShare },
  { head: "gave up", width: 9, measure: "gaveUp", show: asMean },
  { head: "peak in flight", width: 9, measure: "peakInFlight", show: asMean },
  { head: "ms over capacity", width: 10, measure: "timeOverCapacity", show: asMean },
  { head: "recovered", width: 11, measure: "recovered", show: asShare },
  { head: "median ms to recover", width: 11, measure: "recovery", show: asMedian },
  { head: "ms of wasted work", width: 10, measure: "wastedWork", show: asMean }
]

/**
 * A table of measures; its first column is what is measured, and one more may follow.
 *
 * @internal
 */
export const layout = (
  [first, width]: readonly [head: string, width: number],
  { colours }: { readonly colours: boolean },
  last: ReadonlyArray<{ readonly head: string; readonly width: number }> = []
) => ({
  head: [first, ...[...columns, ...last].map(({ head }) => head)],
  colWidths: [width, ...[...columns, ...last].map(({ width }) => width)],
  wordWrap: true,
  style: colours ? { head: ["bold"], border: ["gray"] } : { head: [], border: [] }
})

/**
 * A cell for each column of {@link layout}.
 *
 * @internal
 */
export const cells = (
  measures: Measures,
  options: { readonly colours: boolean },
  standing?: Row["standing"]
): ReadonlyArray<string> =>
  columns.map(({ measure, show }) => {
    const estimate = measures[measure]
    if (estimate === null) return "never"
    const { interval, value } = show(estimate)
    return `${marked(value, standing?.[measure] ?? "worse", options)}${interval === "" ? "" : `\n${interval}`}`
  })

const marks: { readonly [standing in Standing]: string } = { best: " *", tied: " ~", worse: "" }

const marked = (value: string, standing: Standing, { colours }: { readonly colours: boolean }): string => {
  const text = `${value}${marks[standing]}`
  return colours && standing === "best" ? `\u001b[32m${text}\u001b[39m` : text
}
