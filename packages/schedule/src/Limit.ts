/**
 * Ends a schedule: after so many attempts, so many retries, or so much time. A cap on the wait does not end the retrying; a
 * schedule without a limit goes on for ever.
 *
 * Words: **attempts** are all calls, the first one included; **retries** are attempts - 1.
 *
 * @since 0.1.0
 */
import { Limit as Rule } from "@breakwater/core"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Schedule from "effect/Schedule"
import { toMillis } from "./DurationOption.js"
import { adjust } from "./internal/step.js"

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * At most so many calls in all, the first one included; at least 1. The call that fails last gives its error at once: there is
 * no wait after it.
 *
 * A wrong number throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Limit } from "@breakwater/schedule"
 *
 * // waits 1, 2, 4 seconds between four calls
 * const schedule = Backoff.exponential({ base: "1 second" }).pipe(Limit.attempts(4))
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const attempts: {
  (most: number): <Out, In, R>(self: Schedule.Schedule<Out, In, R>) => Schedule.Schedule<Out, In, R>
  <Out, In, R>(self: Schedule.Schedule<Out, In, R>, most: number): Schedule.Schedule<Out, In, R>
} = dual(2, <Out, In, R>(self: Schedule.Schedule<Out, In, R>, most: number) => counted(self, Rule.attempts(most)))

/**
 * At most so many calls after the first one; 0 means none.
 *
 * A wrong number throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Limit } from "@breakwater/schedule"
 *
 * // waits 1, 2, 4 seconds between four calls
 * const schedule = Backoff.exponential({ base: "1 second" }).pipe(Limit.retries(3))
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const retries: {
  (most: number): <Out, In, R>(self: Schedule.Schedule<Out, In, R>) => Schedule.Schedule<Out, In, R>
  <Out, In, R>(self: Schedule.Schedule<Out, In, R>, most: number): Schedule.Schedule<Out, In, R>
} = dual(2, <Out, In, R>(self: Schedule.Schedule<Out, In, R>, most: number) => counted(self, Rule.retries(most)))

/**
 * Begins no wait that would not end before so much time has passed. Such a wait is not shortened either: the call that failed
 * last gives its error at once.
 *
 * Time counts from the **first failure**, which is when a schedule first learns of the run, and on the monotonic clock, so that
 * a step of the wall clock changes nothing. It never cuts a running call. For a limit on the whole operation, its first call
 * included, use a deadline.
 *
 * Put it after everything that changes the waits. A wrong limit throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Limit } from "@breakwater/schedule"
 *
 * // calls 0, 1 and 3 seconds after the first failure; the wait of 4 seconds would end at 7
 * const schedule = Backoff.exponential({ base: "1 second" }).pipe(Limit.elapsed("5 seconds"))
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const elapsed: {
  (limit: Duration.DurationInput): <Out, In, R>(self: Schedule.Schedule<Out, In, R>) => Schedule.Schedule<Out, In, R>
  <Out, In, R>(self: Schedule.Schedule<Out, In, R>, limit: Duration.DurationInput): Schedule.Schedule<Out, In, R>
} = dual(2, <Out, In, R>(self: Schedule.Schedule<Out, In, R>, limit: Duration.DurationInput) => {
  const fits = Rule.elapsed(toMillis("Limit.elapsed", "limit", limit))
  return adjust(self, undefined as bigint | undefined, (firstFailure, delay, { notes }) =>
    Effect.map(Clock.currentTimeNanos, (nanos) => {
      const start = firstFailure ?? nanos
      if (fits(Number(nanos - start) / 1e6, delay)) return [start, delay] as const
      notes.reason = "elapsed"
      return [start, undefined] as const
    })
  )
})

const counted = <Out, In, R>(
  self: Schedule.Schedule<Out, In, R>,
  allows: (retries: number) => boolean
): Schedule.Schedule<Out, In, R> =>
  adjust(self, undefined, (state, delay, { retries }) => Effect.succeed([state, allows(retries) ? delay : undefined] as const))
