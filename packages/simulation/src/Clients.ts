/**
 * Who calls the service, and when each begins.
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import * as Duration from "effect/Duration"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * Clients with one operation each.
 *
 * @category models
 * @since 0.1.0
 */
export interface Clients {
  /** In words, for reports. */
  readonly description: string
  /** When each client's operation begins, from the start of the run; one entry a client. */
  readonly startsAt: ReadonlyArray<Duration.Duration>
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * All at the same instant, at the start of the run.
 *
 * @example
 * ```ts
 * import { Clients } from "@breakwater/simulation"
 *
 * const crowd = Clients.together(6)
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const together = (count: number): Clients => ({
  description: `${count} clients, all at once`,
  startsAt: starts("Clients.together", count, Duration.zero)
})

/**
 * One after the other, the first at the start of the run.
 *
 * @example
 * ```ts
 * import { Clients } from "@breakwater/simulation"
 *
 * const queue = Clients.staggered(6, "50 millis")
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const staggered = (count: number, every: Duration.DurationInput): Clients => ({
  description: `${count} clients, one every ${Duration.format(every)}`,
  startsAt: starts("Clients.staggered", count, every)
})

const starts = (where: string, count: number, every: Duration.DurationInput): ReadonlyArray<Duration.Duration> => {
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new InvalidOption.InvalidOption(where, "count", "a whole number, at least 1", count)
  }
  return Array.from({ length: count }, (_, client) => Duration.times(every, client))
}
