/**
 * One parameter varied, everything else the same: how the measures of a policy go with it, and from where on it no longer holds.
 *
 * @since 0.1.0
 */
import type { Summary } from "@breakwater/simulation"
import Table from "cli-table3"
import * as Comparison from "./Comparison.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * What a policy must do to hold.
 *
 * @category models
 * @since 0.1.0
 */
export interface Condition {
  /** In a run that counts, all operations succeed; or it recovers from what disturbed it. */
  readonly run: "all succeeded" | "recovered"
  /** In at least this share of the runs, 0 to 1. */
  readonly share: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Sweep {
  readonly condition: Condition
  readonly points: ReadonlyArray<Point>
  /** The first value at which the condition is not met; `null` where it always is. */
  readonly stopsHolding: Point | null
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Point {
  /** Of the parameter. */
  readonly value: string | number | boolean
  readonly measures: Comparison.Measures
  /** The share of the runs that the condition is about. */
  readonly held: Comparison.Estimate
  /** Whether the condition is met. */
  readonly holds: boolean
  /** Whether the whole interval of the share lies on that side of the limit; else more runs may turn it over. */
  readonly certain: boolean
}

// -----------------------------------------------------------------------------
// sweep
// -----------------------------------------------------------------------------

/**
 * The points in the order in which they are given, each with the summaries of its runs.
 *
 * @example
 * ```ts
 * import { Simulation } from "@breakwater/simulation"
 * import { SixClients, Sweep } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const program = Effect.forEach(SixClients.largerCrowds({ replicas: 100 }), ({ scenario, title }) =>
 *   Effect.map(Simulation.replicate(scenario, { seeds: 100 }), (summaries) => ({ value: title, summaries }))
 * )
 * const sweep = Sweep.of(await Effect.runPromise(program), { run: "all succeeded", share: 0.9 })
 * console.log(sweep.stopsHolding?.value) // Full jitter, 10 clients, 100 runs
 * ```
 * @category sweep
 * @since 0.1.0
 */
export const of = (
  points: ReadonlyArray<{ readonly value: Point["value"]; readonly summaries: ReadonlyArray<Summary.Summary> }>,
  condition: Condition
): Sweep => {
  const measured = points.map(({ summaries, value }) => point(value, Comparison.measures(summaries), condition))
  return { condition, points: measured, stopsHolding: measured.find(({ holds }) => !holds) ?? null }
}

const point = (value: Point["value"], measures: Comparison.Measures, { run, share }: Condition): Point => {
  const held = run === "recovered" ? measures.recovered : measures.allSucceeded
  const holds = held.value >= share
  const certain = held.interval !== null && (holds ? held.interval.low >= share : held.interval.high < share)
  return { value, measures, held, holds, certain }
}

// -----------------------------------------------------------------------------
// text
// -----------------------------------------------------------------------------

/**
 * As a table no wider than 120 columns, and a sentence that says where the policy stops holding. `parameter` is the head of the
 * values.
 *
 * @category text
 * @since 0.1.0
 */
export const table = (
  sweep: Sweep,
  options: {
    readonly colours: boolean
    /** What is varied. Default "value". */
    readonly parameter?: string | undefined
  }
): string => {
  const parameter = options.parameter ?? "value"
  const first = [parameter.replaceAll(".", ".\n"), 10] as const
  const rows = new Table(Comparison.layout(first, options, [{ head: "holds", width: 7 }]))
  for (const { certain, holds, measures, value } of sweep.points) {
    rows.push([String(value), ...Comparison.cells(measures, options), `${holds ? "yes" : "NO"}${certain ? "" : "?"}`])
  }
  return `${rows.toString()}\n${verdict(sweep, parameter)}`
}

const verdict = ({ condition, points, stopsHolding }: Sweep, parameter: string): string => {
  const required = `in at least ${percent(condition.share)} of the runs`
  if (stopsHolding === null) return `Holds at all ${points.length} values: ${condition.run} ${required}.`
  const { certain, held, value } = stopsHolding
  const between = held.interval === null ? "" : ` (${percent(held.interval.low)} to ${percent(held.interval.high)})`
  const doubt = certain ? "" : " More runs may say otherwise."
  return `Stops holding at ${parameter} = ${value}:\n${condition.run} in ${percent(held.value)}${between}, not ${required}.${doubt}`
}

const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`
