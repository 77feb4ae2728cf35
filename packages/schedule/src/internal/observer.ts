import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * Why no further attempt is made.
 *
 * - `exhausted`: the allowed attempts are used up, or a schedule ended of itself
 * - `elapsed`: the next wait would not end in the allowed time
 * - `retry-after`: the server asks for more than the maximum
 *
 * What only a retry loop of its own knows, such as `Retry` of `@breakwater/resilience`:
 *
 * - `not-retryable`: the failure is not worth a retry
 * - `timed-out`: the attempt was cut, and the operation must not be repeated without an answer
 * - `deadline`: the operation's time is up, or the next attempt would not fit into it
 * - `budget-exhausted`: the retry budget grants none
 * - `refused-locally`: a breaker, a bulkhead or a throttle let the attempt not through
 * - `nested`: a caller further out retries already
 * - `defect`: the attempt died
 * - `interrupted`: the operation was interrupted; metrics count it, but nobody is told by a fiber that has to go
 *
 * @category models
 * @since 0.1.0
 */
export type Reason =
  | "exhausted"
  | "elapsed"
  | "retry-after"
  | "not-retryable"
  | "timed-out"
  | "deadline"
  | "budget-exhausted"
  | "refused-locally"
  | "nested"
  | "defect"
  | "interrupted"

/**
 * What was decided after a failed attempt. `attempt` is its number, 1 for the first call.
 *
 * @category models
 * @since 0.1.0
 */
export type Event =
  | {
      readonly _tag: "Retrying"
      readonly attempt: number
      readonly error: unknown
      /** The wait that follows. */
      readonly wait: Duration.Duration
      /** The longest wait that chance could have drawn. */
      readonly maximumWait: Duration.Duration
    }
  | {
      readonly _tag: "GaveUp"
      readonly attempt: number
      readonly error: unknown
      readonly reason: Reason
    }

/**
 * @category models
 * @since 0.1.0
 */
export type Observer = (event: Event) => Effect.Effect<void>

// -----------------------------------------------------------------------------
// service
// -----------------------------------------------------------------------------

/**
 * The observer of the running fiber. Default: none.
 *
 * @category service
 * @since 0.1.0
 */
export class RetryObserver extends Context.Reference<RetryObserver>()("@breakwater/schedule/RetryObserver", {
  defaultValue: (): Observer | undefined => undefined
}) {}
