/**
 * A storm: a scenario that is known to end in certain figures, with the source that says so, and the check that they come out.
 *
 * @since 0.1.0
 */
import { Scenario, Simulation, Summary, type Trace, type VirtualTime } from "@breakwater/simulation"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Storm {
  /** Short name in the catalogue: `A2`. */
  readonly id: string
  readonly title: string
  /** What someone should take away from it. */
  readonly lesson: string
  /** The policy under test, in words. */
  readonly policy: string
  readonly scenario: Scenario.Scenario
  /** The run that is shown. */
  readonly seed: number
  /** How many further runs its figures are taken from: seeds 1 to this. 0 where chance plays no part. */
  readonly replicas: number
  readonly figures: ReadonlyArray<Figure>
  /** Where the figures come from. */
  readonly source: string
}

/**
 * A figure the storm must give.
 *
 * @category models
 * @since 0.1.0
 */
export interface Figure {
  readonly name: string
  /** In words: `120`, `0.405 +- 0.0125`. */
  readonly expected: string
  readonly measure: (outcome: Outcome) => number
  readonly holds: (measured: number) => boolean
  /** Digits behind the point when the figure is printed. */
  readonly digits: number
}

/**
 * What running a storm gave.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outcome {
  readonly trace: Trace.Trace
  readonly summary: Summary.Summary
  /** The replicas, in order of their seeds. */
  readonly replicas: ReadonlyArray<Summary.Summary>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Checked {
  readonly storm: Storm
  readonly outcome: Outcome
  readonly figures: ReadonlyArray<{ readonly figure: Figure; readonly measured: number; readonly holds: boolean }>
  /** Whether every figure came out. */
  readonly holds: boolean
}

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface OnceOptions
  extends Pick<Storm, "id" | "title" | "lesson" | "policy" | "figures" | "source">, Omit<Scenario.Scenario, "name" | "until"> {
  readonly until: Duration.DurationInput
}

/**
 * A storm that one run says all about: its scenario bears its title, its seed is 1.
 *
 * @category make
 * @since 0.1.0
 */
export const once = ({ figures, id, lesson, policy, source, title, ...scenario }: OnceOptions): Storm => ({
  id,
  title,
  lesson,
  policy,
  figures,
  source,
  scenario: Scenario.make({ ...scenario, name: title }),
  seed: 1,
  replicas: 0
})

// -----------------------------------------------------------------------------
// figures
// -----------------------------------------------------------------------------

/**
 * @category figures
 * @since 0.1.0
 */
export const exactly = (name: string, expected: number, measure: Figure["measure"]): Figure => ({
  name,
  expected: String(expected),
  measure,
  holds: (measured) => measured === expected,
  digits: 0
})

/**
 * @category figures
 * @since 0.1.0
 */
export const within = (
  name: string,
  expected: number,
  tolerance: number,
  digits: number,
  measure: Figure["measure"]
): Figure => ({
  name,
  expected: `${expected} ± ${tolerance}`,
  measure,
  holds: (measured) => Math.abs(measured - expected) <= tolerance,
  digits
})

/**
 * @category figures
 * @since 0.1.0
 */
export const atLeast = (name: string, expected: number, digits: number, measure: Figure["measure"]): Figure => ({
  name,
  expected: `≥ ${expected}`,
  measure,
  holds: (measured) => measured >= expected,
  digits
})

/**
 * @category figures
 * @since 0.1.0
 */
export const atMost = (name: string, expected: number, digits: number, measure: Figure["measure"]): Figure => ({
  name,
  expected: `≤ ${expected}`,
  measure,
  holds: (measured) => measured <= expected,
  digits
})

// -----------------------------------------------------------------------------
// running
// -----------------------------------------------------------------------------

/**
 * Runs a storm and checks its figures. `replicate` gives the figures of its many runs, seeds 1 to its number of replicas; by default
 * they are run here, one after the other.
 *
 * @example
 * ```ts
 * import { SixClients, Storm } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const checked = Effect.runSync(Storm.check(SixClients.retryAtOnce))
 * console.log(checked.holds, checked.outcome.summary.attempts) // true 120
 * ```
 * @category running
 * @since 0.1.0
 */
export const check = <E = VirtualTime.VirtualTimeError, R = never>(
  storm: Storm,
  replicate: (storm: Storm) => Effect.Effect<ReadonlyArray<Summary.Summary>, E, R> = here as never
): Effect.Effect<Checked, VirtualTime.VirtualTimeError | E, R> =>
  Effect.gen(function* () {
    const trace = yield* Simulation.run(storm.scenario, { seed: storm.seed })
    const replicas = storm.replicas === 0 ? [] : yield* replicate(storm)
    const outcome: Outcome = { trace, summary: Summary.of(trace), replicas }
    const figures = storm.figures.map((figure) => {
      const measured = figure.measure(outcome)
      return { figure, measured, holds: figure.holds(measured) }
    })
    return { storm, outcome, figures, holds: figures.every((figure) => figure.holds) }
  })

const here = ({ replicas, scenario }: Storm): Effect.Effect<ReadonlyArray<Summary.Summary>, VirtualTime.VirtualTimeError> =>
  Simulation.replicate(scenario, { seeds: replicas })
