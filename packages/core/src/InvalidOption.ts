/**
 * The one error for a wrong option, and the checks that raise it.
 *
 * An option that is wrong where it is written is a mistake of the program, not an outcome of a call: it is thrown when the
 * policy is built, never in the middle of a retry, and nothing is clamped to make it fit.
 *
 * @since 0.1.0
 */

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * Says which function refused which field, by which rule, and what it got.
 *
 * @example
 * ```ts
 * import { Backoff, InvalidOption } from "@breakwater/core"
 *
 * try {
 *   Backoff.exponential({ base: -1 })
 * } catch (error) {
 *   if (!(error instanceof InvalidOption.InvalidOption)) throw error
 *   console.log(error.message) // Backoff.exponential: base must be a whole number of milliseconds, at least 0, got -1
 * }
 * ```
 * @category errors
 * @since 0.1.0
 */
export class InvalidOption extends RangeError {
  readonly _tag = "InvalidOption"
  constructor(
    /** The function that was called, as the user writes it: `Backoff.exponential`. */
    readonly where: string,
    readonly field: string,
    /** What would have been right, to be read after "must be". */
    readonly rule: string,
    readonly value: unknown
  ) {
    super(`${where}: ${field} must be ${rule}, got ${show(value)}`)
    this.name = "InvalidOption"
  }
}

const show = (value: unknown): string => (typeof value === "string" ? JSON.stringify(value) : String(value))

// -----------------------------------------------------------------------------
// checks
// -----------------------------------------------------------------------------

/**
 * The longest time a rule works with, in milliseconds: the largest time value of ECMAScript, 8.64e15 (100,000,000 days).
 * Longer waits saturate here, which keeps `now + delay` an exact integer.
 *
 * @category checks
 * @since 0.1.0
 */
export const maxMillis = 8.64e15

/**
 * A time that counts whole milliseconds; `Infinity` only where the field says so.
 *
 * @category checks
 * @since 0.1.0
 */
export const wholeMillis = (where: string, field: string, value: number, least = 0): number => {
  if (Number.isInteger(value) && value >= least && value <= maxMillis) return value
  throw new InvalidOption(where, field, `a whole number of milliseconds, at least ${least}`, value)
}

/**
 * Like {@link wholeMillis}, or `Infinity` for "no limit".
 *
 * @category checks
 * @since 0.1.0
 */
export const wholeMillisOrInfinity = (where: string, field: string, value: number, least = 0): number => {
  if (value === Infinity) return value
  if (Number.isInteger(value) && value >= least && value <= maxMillis) return value
  throw new InvalidOption(where, field, `a whole number of milliseconds, at least ${least}, or infinite`, value)
}

/**
 * A count: a whole number from `least`, or `Infinity` for "no limit".
 *
 * @category checks
 * @since 0.1.0
 */
export const count = (where: string, field: string, value: number, least = 0): number => {
  if (value === Infinity || (Number.isSafeInteger(value) && value >= least)) return value
  throw new InvalidOption(where, field, `a whole number, at least ${least}, or Infinity`, value)
}

/**
 * A finite number between two bounds, both included.
 *
 * @category checks
 * @since 0.1.0
 */
export const between = (where: string, field: string, value: number, least: number, most: number): number => {
  if (value >= least && value <= most) return value
  throw new InvalidOption(where, field, `a number from ${least} to ${most}`, value)
}

/**
 * A number from 0 with at most three decimals, given back as a whole number of thousandths: what is added up many times is
 * counted in integers, which do not drift.
 *
 * @category checks
 * @since 0.1.0
 */
export const thousandths = (where: string, field: string, value: number, most: number): number => {
  const scaled = Math.round(value * 1000)
  if (value >= 0 && value <= most && Math.abs(scaled / 1000 - value) < 1e-9) return scaled
  throw new InvalidOption(where, field, `a number from 0 to ${most} with at most three decimals`, value)
}
