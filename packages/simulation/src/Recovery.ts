/**
 * Whether and when a run got well again after what disturbed it.
 *
 * ```text
 * trigger ends    ill   ill   ill   well  well  well  well  well
 *      |--------|-----|-----|-----|-----|-----|-----|-----|-----|
 *                                 ^ recovered here, if five windows in a row are well
 * ```
 *
 * A window of time is well if at least 97 % of the operations that begin in it succeed, and the attempts that begin in it, of
 * whichever operation, are at most 1.25 for each of those operations: success alone lies, retries can hide a threefold load. A
 * window in which neither an operation nor an attempt begins says nothing and is passed over.
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import type * as Duration from "effect/Duration"
import { micros, microsAboveZero } from "./internal/micros.js"
import * as Trace from "./Trace.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * Not recovered is an outcome of its own, never a large number. Times are milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export type Recovery =
  | {
      readonly _tag: "Recovered"
      /** From the end of the trigger to the first instant from which all was well. */
      readonly after: number
    }
  | {
      readonly _tag: "NotRecovered"
      /** How long it was watched after the end of the trigger. */
      readonly within: number
    }

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** When the trigger was over, from the start of the run. Default: the end of the last disturbance of the scenario. */
  readonly after?: Duration.DurationInput | undefined
  /** Default 50 ms. */
  readonly window?: Duration.DurationInput | undefined
  /** How many windows in a row have to be well. Default 5. Together they should last three times a client's time limit. */
  readonly windows?: number | undefined
}

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * Looks for the recovery in a trace; `undefined` where nothing disturbed the scenario and no `after` is given.
 *
 * @example
 * ```ts
 * import { Clients, Recovery, Scenario, Service, Simulation } from "@breakwater/simulation"
 * import { Effect } from "effect"
 *
 * const blip = Scenario.make({
 *   name: "half a second away",
 *   service: Service.outage(Service.unlimited({ takes: "20 millis" }), {
 *     from: "1 second",
 *     to: "1.5 seconds",
 *     how: Service.refused(503)
 *   }),
 *   clients: Clients.evenlySpaced({ rate: 100 }),
 *   client: Effect.retry({ times: 1 }),
 *   until: "5 seconds"
 * })
 * const trace = Effect.runSync(Simulation.run(blip, { seed: 1 }))
 * console.log(Recovery.of(trace)) // { _tag: "Recovered", after: 0 }
 * ```
 * @category getters
 * @since 0.1.0
 */
export const of = (trace: Trace.Trace, options: Options = {}): Recovery | undefined =>
  among(trace, Trace.operations(trace), options)

/**
 * {@link of}, where the operations are there already.
 *
 * @internal
 */
export const among = (
  trace: Trace.Trace,
  operations: ReadonlyArray<Trace.Operation>,
  options: Options = {}
): Recovery | undefined => {
  const where = "Recovery.of"
  const length = microsAboveZero(where, "window", options.window ?? 50)
  const needed = InvalidOption.count(where, "windows", options.windows ?? 5, 1)
  const after = options.after === undefined ? lastDisturbance(trace) : micros(where, "after", options.after)
  if (after === undefined) return undefined
  const windows = windowsOf(trace, operations, after, length)
  let inARow = 0
  let since = 0
  for (let index = 0; index < windows.length; index++) {
    const state = health(windows[index]!)
    if (state === "unknown") continue
    if (state === "ill") {
      inARow = 0
      continue
    }
    if (inARow++ === 0) since = index
    if (inARow === needed) return { _tag: "Recovered", after: (since * length) / 1000 }
  }
  return { _tag: "NotRecovered", within: Math.max(0, trace.until - after) / 1000 }
}

const lastDisturbance = (trace: Trace.Trace): number | undefined =>
  trace.disturbances.length === 0 ? undefined : Math.max(...trace.disturbances.map(({ to }) => to))

/** What begins in a window of time. */
interface Window {
  operations: number
  /** Operations that begin in it and succeed, whenever that is. */
  succeeded: number
  attempts: number
}

/** The whole windows from the end of the trigger to the end of the run. */
const windowsOf = (
  { until }: Trace.Trace,
  operations: ReadonlyArray<Trace.Operation>,
  after: number,
  length: number
): ReadonlyArray<Window> => {
  const windows = Array.from({ length: Math.max(0, Math.floor((until - after) / length)) }, (): Window => ({
    operations: 0,
    succeeded: 0,
    attempts: 0
  }))
  const at = (time: number): Window | undefined => windows[Math.floor((time - after) / length)]
  for (const { attempts, outcome, startedAt } of operations) {
    const window = at(startedAt)
    if (window !== undefined) {
      window.operations++
      if (outcome === "succeeded") window.succeeded++
    }
    for (const attempt of attempts) {
      const busy = at(attempt.startedAt)
      if (busy !== undefined) busy.attempts++
    }
  }
  return windows
}

const health = ({ attempts, operations, succeeded }: Window): "well" | "ill" | "unknown" => {
  if (operations === 0 && attempts === 0) return "unknown"
  return succeeded >= 0.97 * operations && attempts <= 1.25 * operations ? "well" : "ill"
}
