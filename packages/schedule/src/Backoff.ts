/**
 * Schedules that say how long to wait before the next retry. They never end by themselves (see `Limit`) and do not spread
 * clients (see `Jitter`).
 *
 * ```text
 * retry       1    2    3    4    5
 * wait      100  200  400  800  800      exponential({ base: "100 millis", cap: "800 millis" })
 * ```
 *
 * @since 0.1.0
 */
import { Backoff as Rule } from "@breakwater/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { toMillis, toMillisOrUndefined } from "./internal/duration.js"
import { continueAfter } from "./internal/step.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * A schedule whose waits grow by a fixed law up to a cap. Its output is the wait itself, before any jitter.
 *
 * @category models
 * @since 0.1.0
 */
export interface Backoff extends Schedule.Schedule<Duration.Duration> {
  /** No wait is longer; `Duration.infinity` where the cap was lifted. `Jitter.proportional` reads it. */
  readonly cap: Duration.Duration
}

/**
 * @category models
 * @since 0.1.0
 */
export interface ExponentialOptions {
  /** The wait before the first retry. */
  readonly base: Duration.DurationInput
  /** What each wait is multiplied by; at least 1. Default 2. */
  readonly factor?: number | undefined
  /** No wait is longer. Default 30 seconds; `Duration.infinity` lifts it. */
  readonly cap?: Duration.DurationInput | undefined
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * Waits `min(cap, base * factor^n)`, n from 0 for the first retry, in whole milliseconds: capped exponential backoff (Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). Without a cap it saturates instead of overflowing.
 *
 * A wrong option throws `InvalidOption`, which names the field and the rule.
 *
 * @example
 * ```ts
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * const patient = Backoff.exponential({ base: "100 millis", cap: "10 seconds" }).pipe(Jitter.full, Limit.attempts(4))
 *
 * const program = Effect.fail("unavailable").pipe(Effect.retry(patient))
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const exponential = (options: ExponentialOptions): Backoff => {
  const where = "Backoff.exponential"
  return fromRule(
    Rule.exponential({
      base: toMillis(where, "base", options.base),
      factor: options.factor,
      cap: toMillisOrUndefined(where, "cap", options.cap)
    })
  )
}

const fromRule = (rule: Rule.Backoff): Backoff =>
  Object.assign(
    Schedule.makeWithState(0, (now, _input: unknown, retries) => {
      const delay = rule.delay(retries)
      return Effect.succeed([retries + 1, Duration.millis(delay), continueAfter(now, delay)] as const)
    }),
    { cap: Duration.millis(rule.cap) }
  )
