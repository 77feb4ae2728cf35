/**
 * A storm as a value: a service, its clients, what each client does with a call, and how long to watch.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Clients } from "./Clients.js"
import { microsAboveZero } from "./internal/micros.js"
import type { Failure, Service } from "./Service.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Scenario {
  readonly name: string
  readonly service: Service
  readonly clients: Clients
  /** What each client does; an effect that makes it is run once for each run, for what its clients share, such as a budget. */
  readonly client: Client | Effect.Effect<Client>
  /** An attempt counts if it starts before, an outcome if it is there by then. */
  readonly until: Duration.Duration
}

/**
 * One operation of a client, made of calls: anything Effect can do with the call, most often a retry. Each run of `call` is an
 * attempt. Clients are numbered from 0, in the order in which they come.
 *
 * @category models
 * @since 0.1.0
 */
export type Client = (call: Effect.Effect<void, Failure>, client: number) => Effect.Effect<unknown, unknown>

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * @example
 * ```ts
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Clients, Scenario, Service } from "@breakwater/simulation"
 * import { Effect } from "effect"
 *
 * const noon = Scenario.make({
 *   name: "checkout at noon",
 *   service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
 *   clients: Clients.together(6),
 *   client: (call) =>
 *     call.pipe(
 *       Effect.retry(Backoff.exponential({ base: "100 millis", cap: "800 millis" }).pipe(Jitter.full, Limit.attempts(5)))
 *     ),
 *   until: "2 seconds"
 * })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: Omit<Scenario, "until"> & {
    readonly until: Duration.DurationInput
  }
): Scenario => {
  microsAboveZero("Scenario.make", "until", options.until)
  return { ...options, until: Duration.decode(options.until) }
}
