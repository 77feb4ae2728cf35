/**
 * How long to wait before the next retry, as a function of how many retries there have been: the growth of the wait, before
 * jitter. Use it to keep one client from asking again too soon; spreading many clients is the work of `Jitter`.
 *
 * ```text
 * retry      1      2      3      4      5
 * 100 ms   100    200    400    800    800      exponential, cap 800
 * ```
 *
 * Times are whole milliseconds. No wait is NaN, negative or above its cap, whatever the number of retries.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * A growth law in closed form.
 *
 * @category models
 * @since 0.1.0
 */
export interface Backoff {
  /** No wait is longer, in milliseconds; `Infinity` where the cap was lifted. */
  readonly cap: number
  /** The wait in milliseconds before the next retry, after `retries` retries (0 before the first). */
  readonly delay: (retries: number) => number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface ExponentialOptions {
  /** The wait before the first retry, in whole milliseconds. */
  readonly base: number
  /** What each wait is multiplied by; at least 1. Default 2. */
  readonly factor?: number | undefined
  /** No wait is longer, in whole milliseconds. `Infinity` lifts it. Default {@link defaultCap}. */
  readonly cap?: number | undefined
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * The cap of every backoff that is not given one: 30 seconds, as in undici's RetryAgent, go-retryablehttp and cockatiel. An
 * uncapped exponential passes an hour at its sixteenth wait from 100 ms, which nobody who forgot the option has asked for.
 *
 * @category constructors
 * @since 0.1.0
 */
export const defaultCap = 30_000

/**
 * `min(cap, base * factor^retries)`, rounded to the whole millisecond: capped exponential backoff (Brooker, "Exponential
 * Backoff And Jitter", AWS Architecture Blog, 2015). Without a cap it saturates at 8.64e15 ms instead of overflowing.
 *
 * Throws `InvalidOption` for a wrong option.
 *
 * @example
 * ```ts
 * import { Backoff } from "@breakwater/core"
 *
 * const backoff = Backoff.exponential({ base: 100, cap: 800 })
 * console.log([0, 1, 2, 3, 1_000_000].map(backoff.delay)) // [100, 200, 400, 800, 800]
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const exponential = (options: ExponentialOptions): Backoff => {
  const where = "Backoff.exponential"
  const base = InvalidOption.wholeMillis(where, "base", options.base)
  const factor = InvalidOption.between(where, "factor", options.factor ?? 2, 1, Number.MAX_VALUE)
  const cap = InvalidOption.wholeMillisOrInfinity(where, "cap", options.cap ?? defaultCap)
  const most = Math.min(cap, InvalidOption.maxMillis)
  return {
    cap,
    // A base of 0 stays 0: times a factor^n that has overflowed it would be NaN.
    delay: (retries) => (base === 0 ? 0 : Math.min(most, Math.round(base * factor ** retries)))
  }
}
