/**
 * What fits into the time that is left, and how that time is told to the next hop.
 *
 * @since 0.1.0
 */

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/**
 * Whether a wait and the attempt after it fit into what is left, in milliseconds; without a deadline that is `Infinity`. A wait
 * that ends exactly at the deadline does not fit: nothing could start there. An attempt needs at least its minimum.
 *
 * @example
 * ```ts
 * import { Deadline } from "@breakwater/core"
 *
 * console.log(Deadline.fits(1000, 999, 0), Deadline.fits(1000, 1000, 0), Deadline.fits(1000, 800, 250)) // true false false
 * ```
 * @category rules
 * @since 0.1.0
 */
export const fits = (left: number, wait: number, minimumAttemptTime: number): boolean =>
  left - wait > 0 && left - wait >= minimumAttemptTime

// -----------------------------------------------------------------------------
// header
// -----------------------------------------------------------------------------

/** The units of `grpc-timeout` that are whole milliseconds. */
const units: { readonly [unit: string]: number } = { H: 3_600_000, M: 60_000, S: 1000, m: 1 }

const mostDigits = 99_999_999

/**
 * Time left as a header value, in the grammar of gRPC's `grpc-timeout` (gRPC over HTTP/2, "Requests"): at most eight digits and a
 * unit. Rounded down, so that the next hop never has more than there is; nothing left is `0m`.
 *
 * @example
 * ```ts
 * import { Deadline } from "@breakwater/core"
 *
 * console.log(Deadline.toHeader(1500.7), Deadline.toHeader(-3), Deadline.toHeader(864_000_000)) // 1500m 0m 864000S
 * ```
 * @category header
 * @since 0.1.0
 */
export const toHeader = (millis: number): string => {
  if (!(millis > 0)) return "0m"
  for (const unit of ["m", "S", "M", "H"]) {
    const count = Math.floor(millis / units[unit]!)
    if (count <= mostDigits) return `${count}${unit}`
  }
  return `${mostDigits}H`
}

/**
 * The milliseconds that a header value leaves, or `undefined` where it is not one: whatever else a caller sends is as good as
 * nothing. At most 99,999,999 hours. Nanoseconds are rounded down to whole microseconds, the grain of the clocks, so that the time
 * left is never more than was sent.
 *
 * @example
 * ```ts
 * import { Deadline } from "@breakwater/core"
 *
 * console.log(Deadline.parseHeader("1500m"), Deadline.parseHeader("2S"), Deadline.parseHeader("1e9m")) // 1500 2000 undefined
 * ```
 * @category header
 * @since 0.1.0
 */
export const parseHeader = (value: string): number | undefined => {
  // Before anything looks at its content: it may be of any length.
  if (value.length > longestValue) return undefined
  const [, digits, unit] = /^[ \t]*([0-9]{1,8})([HMSmun])[ \t]*$/.exec(value) ?? []
  if (digits === undefined) return undefined
  const count = Number(digits)
  // Divided: a product with 0.001, which no number is exactly, can come out larger.
  if (unit === "u") return count / 1000
  if (unit === "n") return Math.floor(count / 1000) / 1000
  return count * units[unit!]!
}

/** Nine characters and some blanks around them. */
const longestValue = 32
