/**
 * Whether a failed attempt is followed by another one, and why not: the order in which the reasons are looked at. The retry
 * budget comes after all of these, because what is taken from it is taken at the decision.
 *
 * ```text
 * attempt fails -> worth it? -> schedule -> deadline -> budget -> wait -> next attempt
 * ```
 *
 * @since 0.1.0
 */

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * How an attempt failed.
 *
 * - `error`: with an error of its own
 * - `timed-out`: it was cut at its time limit, and may have been applied all the same
 * - `deadline`: it was cut because the time of the whole operation was up
 * - `refused-locally`: something on this side of the wire, such as a breaker, did not let it through
 * - `defect`: it died
 * - `interrupted`: it was interrupted from outside
 *
 * @category models
 * @since 0.1.0
 */
export type Failure = "error" | "timed-out" | "deadline" | "refused-locally" | "defect" | "interrupted"

/**
 * @category models
 * @since 0.1.0
 */
export interface Circumstances {
  /** Whether an error of this kind may pass; of no matter for any other failure. */
  readonly retryable: boolean
  /** Whether the operation may be repeated though an attempt without an answer may have been applied. */
  readonly idempotent: boolean
  /** Whether a caller further out retries, so that this operation must not. */
  readonly nested: boolean
}

/**
 * Why a failure is given to the caller without a look at the schedule.
 *
 * @category models
 * @since 0.1.0
 */
export type Final = "not-retryable" | "timed-out" | "deadline" | "refused-locally" | "nested" | "defect" | "interrupted"

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/**
 * Why this failure must not be retried, whatever the schedule says; `undefined` where it may.
 *
 * @example
 * ```ts
 * import { Retry } from "@breakwater/core"
 *
 * const unsafe = { retryable: true, idempotent: false, nested: false }
 * console.log(Retry.final("error", unsafe)) // undefined
 * console.log(Retry.final("timed-out", unsafe)) // timed-out
 * console.log(Retry.final("refused-locally", unsafe)) // refused-locally
 * ```
 * @category rules
 * @since 0.1.0
 */
export const final = (failure: Failure, circumstances: Circumstances): Final | undefined => {
  switch (failure) {
    case "error":
      if (!circumstances.retryable) return "not-retryable"
      break
    case "timed-out":
      if (!circumstances.idempotent) return "timed-out"
      break
    default:
      return failure
  }
  return circumstances.nested ? "nested" : undefined
}
