/**
 * Spreads the waits of clients that failed together, so that they do not come back together. Each rule takes the wait the
 * backoff asked for and a random number from 0 (included) to 1 (excluded), and gives a whole number of milliseconds.
 *
 * ```text
 *                 0        d/2        d     d(1+p)
 * full            [-------------------]              uniform over 0..d
 * equal                     [---------]              uniform over d/2..d
 * proportional                  [----------]         uniform over d(1-p)..d(1+p), moved down to stay below the cap
 * ```
 *
 * Randomness is an argument, so a rule can be tabulated and replayed. The distributions are those of Brooker, "Exponential
 * Backoff And Jitter" (AWS Architecture Blog, 2015), taken over whole milliseconds.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * From a wait and a random number in [0, 1) to the wait that is slept, both in whole milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export type Jitter = (delay: number, random: number) => number

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/**
 * Uniform over the whole milliseconds from 0 to the wait, both included: fewest calls and quickest recovery when many clients
 * contend, at the price that a single wait may be 0.
 *
 * @example
 * ```ts
 * import { Jitter } from "@breakwater/core"
 *
 * console.log([0, 0.5, 0.999].map((random) => Jitter.full(30_000, random))) // [0, 15000, 29970]
 * ```
 * @category rules
 * @since 0.1.0
 */
export const full: Jitter = (delay, random) => uniform(0, delay, random)

/**
 * Half of the wait for certain, the other half uniform: never retries at once.
 *
 * @example
 * ```ts
 * import { Jitter } from "@breakwater/core"
 *
 * console.log([0, 0.5, 0.999].map((random) => Jitter.equal(1000, random))) // [500, 750, 1000]
 * ```
 * @category rules
 * @since 0.1.0
 */
export const equal: Jitter = (delay, random) => uniform(Math.ceil(delay / 2), delay, random)

/**
 * The wait plus or minus a share of it, 0 <= `ratio` <= 1; the mean is the wait itself. Where that would pass the cap, the
 * whole interval moves down to end at the cap: clamping would give every client the cap itself and no spread at all.
 *
 * Throws `InvalidOption` for a wrong option.
 *
 * @example
 * ```ts
 * import { Jitter } from "@breakwater/core"
 *
 * const jitter = Jitter.proportional({ ratio: 0.2, cap: 60_000 })
 * console.log([0, 0.5, 0.999].map((random) => jitter(10_000, random))) // [8000, 10000, 11996]
 * console.log([0, 0.5, 0.999].map((random) => jitter(60_000, random))) // [40000, 50000, 59980]
 * ```
 * @category rules
 * @since 0.1.0
 */
export const proportional = (options: { readonly ratio: number; readonly cap: number }): Jitter => {
  const where = "Jitter.proportional"
  const ratio = InvalidOption.between(where, "ratio", options.ratio, 0, 1)
  const cap = InvalidOption.wholeMillisOrInfinity(where, "cap", options.cap)
  const most = Math.min(cap, InvalidOption.maxMillis)
  return (delay, random) => {
    const centre = Math.min(delay, most / (1 + ratio))
    return uniform(Math.round(centre * (1 - ratio)), Math.min(most, Math.round(centre * (1 + ratio))), random)
  }
}

/**
 * The largest random number below 1: with it a rule gives the longest wait it can draw.
 *
 * @category rules
 * @since 0.1.0
 */
export const highest = 1 - 2 ** -53

/**
 * A whole number from `low` to `high`, both included, each equally likely.
 *
 * @category rules
 * @since 0.1.0
 */
export const uniform = (low: number, high: number, random: number): number =>
  // The product can round up to high + 1 where the span is near 2^53.
  Math.min(high, low + Math.floor(random * (high - low + 1)))
