/**
 * When to stop. A cap on the wait does not end the retrying; one of these does.
 *
 * Words: **attempts** are all calls, the first one included; **retries** are attempts - 1.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/**
 * Whether one more retry is allowed after `retries` retries, given how many attempts are allowed in all.
 *
 * @example
 * ```ts
 * import { Limit } from "@breakwater/core"
 *
 * const allowed = Limit.attempts(3)
 * console.log([0, 1, 2].map(allowed)) // [true, true, false]
 * ```
 * @category rules
 * @since 0.1.0
 */
export const attempts = (most: number): ((retries: number) => boolean) => {
  InvalidOption.count("Limit.attempts", "attempts", most, 1)
  return (retries) => retries + 1 < most
}

/**
 * Whether one more retry is allowed after `retries` retries, given how many retries are allowed.
 *
 * @category rules
 * @since 0.1.0
 */
export const retries = (most: number): ((retries: number) => boolean) => {
  InvalidOption.count("Limit.retries", "retries", most)
  return (retries) => retries < most
}

/**
 * Whether a wait of `delay` that starts when `elapsed` has passed ends before the limit. Ending exactly at the limit is too
 * late: nothing could start there. Such a wait is not begun, and not shortened either. All in milliseconds.
 *
 * @example
 * ```ts
 * import { Limit } from "@breakwater/core"
 *
 * const fits = Limit.elapsed(5000)
 * console.log(fits(1000, 2000), fits(3000, 4000), fits(4000, 1000)) // true false false
 * ```
 * @category rules
 * @since 0.1.0
 */
export const elapsed = (limit: number): ((elapsed: number, delay: number) => boolean) => {
  InvalidOption.wholeMillisOrInfinity("Limit.elapsed", "limit", limit)
  return (elapsed, delay) => elapsed + delay < limit
}
