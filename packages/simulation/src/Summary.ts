/**
 * The figures of one run, computed from its trace alone.
 *
 * @since 0.1.0
 */
import * as Recovery from "./Recovery.js"
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
  /** All calls of the clients, the first ones included. */
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
  readonly allSucceededAt: number | undefined
  /** Whether the run got well after what disturbed it, with the defaults of `Recovery`; `undefined` where nothing did. */
  readonly recovery: Recovery.Recovery | undefined
  /** How long the service worked, summed up over the calls it worked on at the same time. */
  readonly work: number
  /**
   * How much of that was for nothing: for attempts that did not succeed, because they were doomed, failed all the same, or
   * their client had gone. What the end of the run left undecided is not counted.
   */
  readonly wastedWork: number
  /** How many calls reached each layer, from the clients down; what reached the first are the attempts. */
  readonly calls: { readonly [layer: string]: number }
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
 * console.log(summary.succeeded, summary.gaveUp, summary.peakInFlight, summary.wastedWork) // 0 6 6 600
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const of = (trace: Trace.Trace): Summary => {
  const operations = Trace.operations(trace)
  const inFlight = Trace.inFlight(trace)
  let attempts = 0
  let retries = 0
  let succeeded = 0
  let gaveUp = 0
  let unfinished = 0
  let work = 0
  let wastedWork = 0
  let lastSuccess = 0
  for (const operation of operations) {
    attempts += operation.attempts.length
    retries += Math.max(0, operation.attempts.length - 1)
    if (operation.outcome === undefined) unfinished++
    if (operation.outcome === "gave up") gaveUp++
    if (operation.outcome === "succeeded") {
      succeeded++
      lastSuccess = Math.max(lastSuccess, operation.endedAt!)
    }
    for (const attempt of operation.attempts) {
      work += attempt.work
      if (attempt.outcome !== undefined && attempt.outcome !== "succeeded") wastedWork += attempt.work
    }
  }
  return {
    seed: trace.seed,
    operations: operations.length,
    attempts,
    retries,
    succeeded,
    gaveUp,
    unfinished,
    amplification: operations.length === 0 ? 1 : attempts / operations.length,
    peakInFlight: inFlight.reduce((peak, step) => Math.max(peak, step.count), 0),
    timeOverCapacity: timeOver(inFlight, trace.slots ?? Infinity, trace.until) / 1000,
    allSucceededAt: succeeded > 0 && succeeded === operations.length ? lastSuccess / 1000 : undefined,
    recovery: Recovery.among(trace, operations),
    work: work / 1000,
    wastedWork: wastedWork / 1000,
    calls: callsPerLayer(trace, attempts)
  }
}

const timeOver = (steps: ReturnType<typeof Trace.inFlight>, slots: number, until: number): number =>
  steps.reduce((sum, step, index) => (step.count > slots ? sum + (steps[index + 1]?.at ?? until) - step.at : sum), 0)

const callsPerLayer = ({ events, layers: [first, ...below] }: Trace.Trace, attempts: number): Record<string, number> => {
  const calls: Record<string, number> = { [first!]: attempts }
  if (below.length === 0) return calls
  for (const layer of below) calls[layer] = 0
  for (const event of events) if (event._tag === "LayerCalled") calls[event.layer]!++
  return calls
}
