/**
 * Spreads the waits of a schedule at random, so that clients that failed together do not come back together. Put it after the
 * backoff and before the limits.
 *
 * ```text
 *                 0        d/2        d     d(1+p)
 * full            [-------------------]              fewest calls; the default choice
 * equal                     [---------]              never at once
 * proportional                  [----------]         mean stays the wait; moved down to end at the cap
 * ```
 *
 * Waits stay whole milliseconds and stay below the cap. Chance comes from Effect's `Random` alone, one number per wait.
 *
 * @since 0.1.0
 */
import { Jitter as Rule } from "@breakwater/core"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Random from "effect/Random"
import type * as Schedule from "effect/Schedule"
import type { Backoff } from "./Backoff.js"
import { toMillis } from "./DurationOption.js"
import { adjust } from "./internal/step.js"

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Waits a uniform time over the whole milliseconds from 0 to the wait of the schedule, both included ("full jitter", Brooker
 * 2015).
 *
 * @example
 * ```ts
 * import { Backoff, Jitter } from "@breakwater/schedule"
 *
 * // up to 100 ms, up to 200 ms, up to 400 ms, ...
 * const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Jitter.full)
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const full = <Out, In, R>(self: Schedule.Schedule<Out, In, R>): Schedule.Schedule<Out, In, R> =>
  jittered(self, Rule.full)

/**
 * Waits half of the schedule's wait for certain and a uniform share of the other half ("equal jitter", Brooker 2015).
 *
 * @example
 * ```ts
 * import { Backoff, Jitter } from "@breakwater/schedule"
 *
 * // 50 to 100 ms, 100 to 200 ms, 200 to 400 ms, ...
 * const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Jitter.equal)
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const equal = <Out, In, R>(self: Schedule.Schedule<Out, In, R>): Schedule.Schedule<Out, In, R> =>
  jittered(self, Rule.equal)

/**
 * Waits the schedule's wait plus or minus a share of it, 0 to 1; the mean is the wait itself. A `Backoff` brings its cap with
 * it; for any other schedule the cap is given: `proportional({ ratio: 0.2, cap: "10 seconds" })`. Near the cap the whole
 * interval moves down to end there, so the spread survives and the cap holds.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Jitter } from "@breakwater/schedule"
 * import { Schedule } from "effect"
 *
 * const own = Backoff.exponential({ base: "100 millis", cap: "10 seconds" }).pipe(Jitter.proportional(0.2))
 * const other = Schedule.spaced("1 second").pipe(Jitter.proportional({ ratio: 0.2, cap: "1 minute" }))
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const proportional: {
  (options: {
    readonly ratio: number
    readonly cap: Duration.DurationInput
  }): <Out, In, R>(self: Schedule.Schedule<Out, In, R>) => Schedule.Schedule<Out, In, R>
  (ratio: number): (self: Backoff) => Schedule.Schedule<Duration.Duration>
  <Out, In, R>(
    self: Schedule.Schedule<Out, In, R>,
    options: { readonly ratio: number; readonly cap: Duration.DurationInput }
  ): Schedule.Schedule<Out, In, R>
  (self: Backoff, ratio: number): Schedule.Schedule<Duration.Duration>
} = dual(2, (self: Backoff, options: number | { readonly ratio: number; readonly cap: Duration.DurationInput }) => {
  const { cap, ratio } = typeof options === "number" ? { ratio: options, cap: self.cap } : options
  return jittered(self, Rule.proportional({ ratio, cap: toMillis("Jitter.proportional", "cap", cap) }))
})

const jittered = <Out, In, R>(self: Schedule.Schedule<Out, In, R>, rule: Rule.Jitter): Schedule.Schedule<Out, In, R> =>
  adjust(self, undefined, (state, delay, { notes }) =>
    Effect.map(Random.next, (random) => {
      notes.maximum = rule(delay, Rule.highest)
      return [state, rule(delay, random)] as const
    })
  )
