/**
 * The figures of one run, computed from its trace alone.
 *
 * @since 0.1.0
 */
import * as Trace from "./Trace.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * Times are milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Summary {
  readonly seed: number
  readonly operations: number
  /** All calls, the first ones included. */
  readonly attempts: number
  /** Attempts beyond the first of each operation. */
  readonly retries: number
  readonly succeeded: number
  /** Operations that ended in an error. */
  readonly gaveUp: number
  /** Operations that had not ended when the run did. */
  readonly unfinished: number
  /** Attempts for each operation: 1 is no retry at all. */
  readonly amplification: number
  /** The most attempts in flight at one time. */
  readonly peakInFlight: number
  /** How long more attempts were in flight than the service can carry; 0 where its model has no such number. */
  readonly timeOverCapacity: number
  /** When the last operation succeeded, counted from the start; `undefined` unless all of them did. */
  readonly recoveredAt: number | undefined
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * @example
 * ```ts
 * import { Clients, Scenario, Service, Simulation, Summary } from "@breakwater/simulation"
 * import { Effect } from "effect"
 *
 * const crowd = Scenario.make({
 *   name: "six at once, no retry",
 *   service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
 *   clients: Clients.together(6),
 *   client: (call) => call,
 *   until: "1 second"
 * })
 * const summary = Summary.of(Effect.runSync(Simulation.run(crowd, { seed: 1 })))
 * console.log(summary.succeeded, summary.gaveUp, summary.peakInFlight) // 0 6 6
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const of = (trace: Trace.Trace): Summary => {
  const operations = Trace.operations(trace)
  const inFlight = Trace.inFlight(trace)
  const attempts = operations.reduce((sum, operation) => sum + operation.attempts.length, 0)
  const first = operations.filter((operation) => operation.attempts.length > 0).length
  const succeeded = operations.filter((operation) => operation.outcome === "succeeded")
  return {
    seed: trace.seed,
    operations: operations.length,
    attempts,
    retries: attempts - first,
    succeeded: succeeded.length,
    gaveUp: operations.filter((operation) => operation.outcome === "gave up").length,
    unfinished: operations.filter((operation) => operation.outcome === undefined).length,
    amplification: attempts / operations.length,
    peakInFlight: inFlight.reduce((peak, step) => Math.max(peak, step.count), 0),
    timeOverCapacity: timeOver(inFlight, trace.slots ?? Infinity, trace.until) / 1000,
    recoveredAt:
      succeeded.length === operations.length
        ? succeeded.reduce((last, operation) => Math.max(last, operation.endedAt!), 0) / 1000
        : undefined
  }
}

const timeOver = (steps: ReturnType<typeof Trace.inFlight>, slots: number, until: number): number =>
  steps.reduce((sum, step, index) => (step.count > slots ? sum + (steps[index + 1]?.at ?? until) - step.at : sum), 0)
