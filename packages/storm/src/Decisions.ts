/**
 * What the policies of a run decided, next to what happened. The simulator knows no policy, so its trace cannot say how long a
 * wait could have been, nor why an operation was given up; `RetryObserver` can.
 *
 * ```text
 * trace:      attempt fails             next attempt        attempt fails   operation ends
 * decisions:  wait 40 ms of at most 100                     gave up: exhausted
 * ```
 *
 * Whoever does not tell `RetryObserver`, such as a plain schedule of Effect, leaves no decisions; the trace is there all the same.
 *
 * @since 0.1.0
 */
import { RetryObserver } from "@breakwater/schedule"
import { type Scenario, Simulation, Trace, type VirtualTime } from "@breakwater/simulation"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * Plain data in the units of a trace: whole microseconds from the start of the run, clients and operations from 0. `attempt` is
 * the policy's own count, which a local refusal moves too: it may be ahead of the attempts in the trace.
 *
 * @category models
 * @since 0.1.0
 */
export type Decision =
  | {
      readonly _tag: "Retrying"
      readonly at: number
      readonly client: number
      readonly operation: number
      readonly attempt: number
      /** The wait as it was drawn. */
      readonly wait: number
      /** The longest wait that chance could have drawn. */
      readonly maximumWait: number
    }
  | {
      readonly _tag: "GaveUp"
      readonly at: number
      readonly client: number
      readonly operation: number
      readonly attempt: number
      readonly reason: RetryObserver.Reason
    }

/**
 * @category models
 * @since 0.1.0
 */
export interface Recording {
  /** The trace of `Simulation.run`, byte for byte. */
  readonly trace: Trace.Trace
  /** In the order in which they were made. */
  readonly decisions: ReadonlyArray<Decision>
}

// -----------------------------------------------------------------------------
// running
// -----------------------------------------------------------------------------

/**
 * Runs a scenario once and keeps what its clients' policies decide. Retries inside the service, by the layers of a chain, are not
 * the clients' and are left out. So is a retry that something around the schedule forbade after all.
 *
 * @example
 * ```ts
 * import { Decisions, SixClients } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const { scenario, seed } = SixClients.fullJitter
 * const { decisions } = Effect.runSync(Decisions.record(scenario, { seed }))
 * console.log(decisions.filter(({ _tag }) => _tag === "Retrying").length) // 13
 * ```
 * @category running
 * @since 0.1.0
 */
export const record = (
  scenario: Scenario.Scenario,
  options: { readonly seed: number }
): Effect.Effect<Recording, VirtualTime.VirtualTimeError> =>
  Effect.suspend(() => {
    const told: Array<Decision> = []
    const watched = watching(told)
    const { client } = scenario
    return Effect.map(
      Simulation.run({ ...scenario, client: Effect.isEffect(client) ? Effect.map(client, watched) : watched(client) }, options),
      (trace) => ({ trace, decisions: carriedOut(trace, told) })
    )
  })

/** A client whose policy tells, while what it calls tells nobody. */
const watching = (told: Array<Decision>) => {
  const begun: Array<number> = []
  return (client: Scenario.Client): Scenario.Client =>
    (call, number) => {
      const operation = begun[number] ?? 0
      begun[number] = operation + 1
      const unheard = Effect.provideService(call, RetryObserver.RetryObserver, undefined)
      return Effect.provideService(client(unheard, number), RetryObserver.RetryObserver, (event) =>
        Effect.clockWith((clock) =>
          Effect.sync(() => {
            told.push(decision(event, Number(clock.unsafeCurrentTimeNanos() / 1000n), number, operation))
          })
        )
      )
    }
}

const decision = (event: RetryObserver.Event, at: number, client: number, operation: number): Decision => {
  const where = { at, client, operation, attempt: event.attempt }
  return event._tag === "GaveUp"
    ? { _tag: "GaveUp", ...where, reason: event.reason }
    : { _tag: "Retrying", ...where, wait: micros(event.wait), maximumWait: micros(event.maximumWait) }
}

/** Rounded as the engine rounds a sleep. */
const micros = (duration: Duration.Duration): number =>
  Math.min(Number.MAX_SAFE_INTEGER, Math.round(1000 * Duration.toMillis(duration)))

/** Without what came after the end of the watch, and without last retries of operations that were given up on the spot. */
const carriedOut = (trace: Trace.Trace, told: ReadonlyArray<Decision>): ReadonlyArray<Decision> => {
  const operations = new Map(Trace.operations(trace).map((operation) => [keyOf(operation), operation]))
  const last = new Map(told.map((decision) => [keyOf(decision), decision]))
  return told.filter((decision) => {
    const operation = operations.get(keyOf(decision))
    if (operation === undefined || decision.at > trace.until) return false
    const isForbidden =
      decision._tag === "Retrying" &&
      last.get(keyOf(decision)) === decision &&
      operation.outcome === "gave up" &&
      operation.endedAt === decision.at
    return !isForbidden
  })
}

/**
 * Names an operation among those of a run.
 *
 * @internal
 */
export const keyOf = ({ client, operation }: { readonly client: number; readonly operation: number }): string =>
  `${client}/${operation}`
