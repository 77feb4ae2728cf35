/**
 * What a retry does that finds itself inside another one, and how the next hop is told.
 *
 * @since 0.1.0
 */

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * - `single-attempt`: makes one attempt and leaves the retrying to the outer one
 * - `warn`: retries all the same, and warns
 * - `fail`: makes no attempt at all
 * - `allow`: retries all the same
 *
 * @category models
 * @since 0.1.0
 */
export type Nested = "single-attempt" | "warn" | "fail" | "allow"

/**
 * @category models
 * @since 0.1.0
 */
export type Decision = "retry" | "single-attempt" | "warn" | "fail"

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/**
 * @example
 * ```ts
 * import { RetryScope } from "@breakwater/core"
 *
 * console.log(RetryScope.decide(false, "single-attempt"), RetryScope.decide(true, "single-attempt")) // retry single-attempt
 * ```
 * @category rules
 * @since 0.1.0
 */
export const decide = (inside: boolean, nested: Nested): Decision => (inside && nested !== "allow" ? nested : "retry")

// -----------------------------------------------------------------------------
// header
// -----------------------------------------------------------------------------

const most = 999

/**
 * The number of an attempt, 1 for the first, as a header value: at most 999.
 *
 * @example
 * ```ts
 * import { RetryScope } from "@breakwater/core"
 *
 * console.log(RetryScope.toHeader(2), RetryScope.toHeader(1000)) // 2 999
 * ```
 * @category header
 * @since 0.1.0
 */
export const toHeader = (attempt: number): string => String(Math.min(most, attempt))

/**
 * The number of the attempt that a header value tells, or `undefined` where it is not one.
 *
 * @example
 * ```ts
 * import { RetryScope } from "@breakwater/core"
 *
 * console.log(RetryScope.parseHeader("2"), RetryScope.parseHeader("1e3")) // 2 undefined
 * ```
 * @category header
 * @since 0.1.0
 */
export const parseHeader = (value: string): number | undefined =>
  value.length <= 16 && /^[ \t]*[1-9][0-9]{0,2}[ \t]*$/.test(value) ? Number(value) : undefined
