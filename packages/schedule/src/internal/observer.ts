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
 * @category models
 * @since 0.1.0
 */
export type Reason = "exhausted" | "elapsed" | "retry-after"

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
