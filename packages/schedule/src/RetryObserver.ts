/**
 * Tells whoever wants to know what a retry policy decides, and why: after every failed attempt whether it is retried, how long
 * it waits and could have waited at most, or for what reason it is given up. This is how metrics, reports and charts see a
 * policy without knowing it. Nobody listens by default, and then it costs next to nothing.
 *
 * ```text
 * attempt fails -> Backoff -> Jitter -> RetryAfter -> Limit -> one event
 * ```
 *
 * A schedule of this package tells once for each failure, whatever it is made of. What stands outside of it (`while` in the
 * options of `Effect.retry`, a combinator of Effect around it) it cannot see; put {@link observed} last to include the
 * combinators.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Schedule from "effect/Schedule"
import { type Observer, RetryObserver } from "./internal/observer.js"
import { adjust } from "./internal/step.js"

// -----------------------------------------------------------------------------
// models, service
// -----------------------------------------------------------------------------

export {
  /** What was decided after a failed attempt. */
  type Event,
  /** Is told of every decision. */
  type Observer,
  /** Why no further attempt is made. */
  type Reason,
  /** The observer of the running fiber. Default: none. */
  RetryObserver
} from "./internal/observer.js"

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Runs an effect with an observer of the retries inside it.
 *
 * @example
 * ```ts
 * import { Backoff, Limit, RetryObserver } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * const program = Effect.fail("unavailable").pipe(
 *   Effect.retry(Backoff.constant({ delay: "1 milli" }).pipe(Limit.attempts(2))),
 *   RetryObserver.observe((event) => Effect.sync(() => console.log(event._tag, event.attempt))),
 *   Effect.ignore
 * )
 * await Effect.runPromise(program)
 * // prints: Retrying 1
 * //         GaveUp 2
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const observe: {
  (observer: Observer): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, observer: Observer): Effect.Effect<A, E, R>
} = dual(2, <A, E, R>(self: Effect.Effect<A, E, R>, observer: Observer) => Effect.provideService(self, RetryObserver, observer))

/**
 * A schedule that decides as the given one does, and tells of it: for a schedule that Effect's own combinators end or change.
 *
 * @example
 * ```ts
 * import { Backoff, RetryObserver } from "@breakwater/schedule"
 * import { Schedule } from "effect"
 *
 * const schedule = Backoff.exponential({ base: "100 millis" }).pipe(
 *   Schedule.whileInput((error: string) => error !== "fatal"),
 *   RetryObserver.observed
 * )
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const observed = <Out, In, R>(self: Schedule.Schedule<Out, In, R>): Schedule.Schedule<Out, In, R> =>
  adjust(self, undefined, (state, delay) => Effect.succeed([state, delay] as const))
