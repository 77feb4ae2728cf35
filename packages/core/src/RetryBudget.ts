/**
 * What bounds the retries of all calls of a client together: one protocol over five ledgers.
 *
 * ```text
 * started   an operation begins: its first attempt is about to be made
 * settled   an attempt has ended, with an outcome; a retry's permit is used up by it
 * retry     may one retry of such a failure be made? a permit, or nothing
 * returned  the retry of a permit never reached the wire: once, and then nothing is settled with it
 * ended     the operation is over, however
 * ```
 *
 * A failure is settled before its retry is asked for: gRPC's throttle counts it first. States are values, so several budgets can
 * be asked before any of them has taken something.
 *
 * @since 0.1.0
 */
import * as FixedRate from "./internal/retryBudgetFixedRate.js"
import * as InFlight from "./internal/retryBudgetInFlight.js"
import * as Ratio from "./internal/retryBudgetRatio.js"
import * as Throttle from "./internal/retryBudgetThrottle.js"
import * as Tokens from "./internal/retryBudgetTokens.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * Of the failure that is to be retried.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = "failure" | "timeout" | "throttled"

/**
 * Of an attempt. `ignored` is what says nothing of the dependency: interrupted, refused on this side, not worth a retry.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = "success" | "failure" | "ignored"

/**
 * What was taken for one retry, and when.
 *
 * @category models
 * @since 0.1.0
 */
export interface Permit {
  readonly amount: number
  readonly slot: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Granted<S> {
  readonly state: S
  readonly permit: Permit
}

/**
 * A ledger: pure functions of a state, an event and the time, in milliseconds of a monotonic clock. None changes what it is
 * given, and a permit is good for the ledger that gave it. Who asks several ledgers stores their new states only if all grant.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ledger<S = unknown> {
  readonly name: string
  initial(now: number): S
  started(state: S, now: number): S
  settled(state: S, outcome: Outcome, permit: Permit | undefined, now: number): S
  ended(state: S, now: number): S
  retry(state: S, kind: Kind, now: number): Granted<S> | undefined
  returned(state: S, permit: Permit, now: number): S
  /** How many retries of a `failure` it would grant now, one after the other. */
  balance(state: S, now: number): number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RatioOptions {
  /** Retries as a share of the operations, in percent, 0 to 1000. Default 10. */
  readonly percent?: number | undefined
  /** Retries that are granted on top, for each second of the window; all of them at once, if need be. Default 1. */
  readonly reservePerSecond?: number | undefined
  /** How far back is counted, in milliseconds, at least 10. Default 10,000. */
  readonly window?: number | undefined
  /** What the percentage is of: the operations, or all attempts, this retry included. Default "operations". */
  readonly of?: "operations" | "attempts" | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TokensOptions {
  /** The most there are. Default 500. */
  readonly capacity?: number | undefined
  /** What a retry takes. Default 14, for a time-out what a failure takes, when throttled 5 (or that, if it is less). */
  readonly cost?: { readonly [kind in Kind]?: number | undefined } | undefined
  /** What a success without a retry gives. Default 1. */
  readonly success?: number | undefined
  /** Whether a retry that succeeds gives back what it took. Default true. */
  readonly refund?: boolean | undefined
  /** What time gives. Default 0. */
  readonly refillPerSecond?: number | undefined
  /** What there is at first. Default the capacity. */
  readonly initial?: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface ThrottleOptions {
  /** The most tokens there are, and what there is at first, 1 to 1000. Default 10, the example of the gRFC. */
  readonly maxTokens?: number | undefined
  /** What a success gives, 0.001 to 1000. Default 0.1, the example of the gRFC. */
  readonly tokenRatio?: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface InFlightOptions {
  /** Retries as a share of the operations in flight, in percent, 0 to 100. Default 20. */
  readonly percent?: number | undefined
  /** So many are granted however little is in flight. Default 3. */
  readonly minimum?: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface FixedRateOptions {
  /** Default 60. */
  readonly retries?: number | undefined
  /** Any span of this length has no more, in milliseconds, at least 1. Default 60,000. */
  readonly per?: number | undefined
}

// -----------------------------------------------------------------------------
// ledgers
// -----------------------------------------------------------------------------

/**
 * Retries at most as a share of the operations of a moving window, and a reserve. The window moves in tenths, so it reaches back
 * between nine and ten tenths of its length. Deposits and withdrawals go with the tenth they came in.
 *
 * Sources: Finagle, `RetryBudget` (a leaky bucket of deposits and withdrawals over 10 s); SRE book, chapter 21 (10 %).
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/core"
 *
 * const ledger = RetryBudget.ratio({ percent: 20, reservePerSecond: 0 })
 * let state = ledger.initial(0)
 * for (let operation = 0; operation < 10; operation++) state = ledger.started(state, 0)
 * console.log(ledger.balance(state, 0), ledger.balance(state, 10_000)) // 2 0
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const ratio: (options?: RatioOptions) => Ledger = Ratio.ratio

/**
 * A bucket of tokens: a retry takes some, a success gives some, time may give some.
 *
 * Never fewer than none or more than the capacity. A cost above the capacity is never granted.
 *
 * Source: `@smithy/core`, `StandardRetryStrategy` (500 tokens, 1 for a success, a retry's cost back when it succeeds).
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/core"
 *
 * const ledger = RetryBudget.tokens({ capacity: 10, cost: { failure: 5 }, refillPerSecond: 1 })
 * const taken = ledger.retry(ledger.initial(0), "failure", 0)!
 * console.log(ledger.balance(taken.state, 0)) // 1
 * // What was never sent is given back; so is what a retry that succeeds has cost.
 * console.log(ledger.balance(ledger.returned(taken.state, taken.permit, 0), 0)) // 2
 * console.log(ledger.balance(ledger.settled(taken.state, "success", taken.permit, 0), 0)) // 2
 * console.log(ledger.balance(taken.state, 5000)) // 2
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const tokens: (options?: TokensOptions) => Ledger = Tokens.tokens

/**
 * The AWS SDK's standard mode of 2026: a retry costs 14, when throttled 5.
 *
 * Source: `@smithy/core` 3.41.1, `retries-2026-config`.
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/core"
 *
 * const ledger = RetryBudget.tokens(RetryBudget.awsStandard)
 * console.log(ledger.balance(ledger.initial(0), 0)) // 35
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const awsStandard: TokensOptions = {
  capacity: 500,
  cost: { failure: 14, timeout: 14, throttled: 5 },
  success: 1,
  refund: true
}

/**
 * The AWS SDK's standard mode before 2026: a retry costs 10 after a transient error, time-outs among them, else 5.
 *
 * A `failure` is charged as a transient error: most of what is worth a retry and not throttling is one.
 *
 * Source: `@smithy/core` 3.39.0 without `SMITHY_NEW_RETRIES_2026`.
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/core"
 *
 * const ledger = RetryBudget.tokens(RetryBudget.awsStandardBefore2026)
 * console.log(ledger.balance(ledger.initial(0), 0)) // 50
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const awsStandardBefore2026: TokensOptions = {
  capacity: 500,
  cost: { failure: 10, timeout: 10, throttled: 5 },
  success: 1,
  refund: true
}

/**
 * A failure takes a token, a success gives a share of one; no retry while at most half of the tokens are left. A retry itself
 * takes nothing.
 *
 * Source: gRFC A6, "Throttling Retry Attempts and Hedged RPCs".
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/core"
 *
 * const ledger = RetryBudget.throttle()
 * let tokens = ledger.initial(0)
 * for (let failure = 0; failure < 5; failure++) tokens = ledger.settled(tokens, "failure", undefined, 0)
 * console.log(ledger.balance(tokens, 0)) // 0
 * console.log(ledger.balance(ledger.settled(tokens, "success", undefined, 0), 0)) // Infinity
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const throttle: (options?: ThrottleOptions) => Ledger = Throttle.throttle

/**
 * So many retries at the same time, as a share of the operations in flight. An operation is in flight from its start to its end,
 * its waits included; a permit is in use from its grant on.
 *
 * Source: Envoy, `retry_budget` (20 %, at least 3).
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/core"
 *
 * const ledger = RetryBudget.inFlight({ percent: 20, minimum: 3 })
 * let state = ledger.initial(0)
 * console.log(ledger.balance(state, 0)) // 3
 * for (let operation = 0; operation < 25; operation++) state = ledger.started(state, 0)
 * console.log(ledger.balance(state, 0)) // 5
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const inFlight: (options?: InFlightOptions) => Ledger = InFlight.inFlight

/**
 * Never more than so many retries in any span of so much time. Time is cut into sixtieths of the span, and a retry counts until
 * its sixtieth is certainly out of it: a right may come back up to a sixtieth of the span late, never early.
 *
 * Source: SRE book, chapter 22 (60 retries a minute for a process).
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/core"
 *
 * const ledger = RetryBudget.fixedRate({ retries: 1, per: 60_000 })
 * const { state } = ledger.retry(ledger.initial(0), "failure", 0)!
 * console.log(ledger.balance(state, 60_000), ledger.balance(state, 61_000)) // 0 1
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const fixedRate: (options?: FixedRateOptions) => Ledger = FixedRate.fixedRate

const constant = (name: string, grants: boolean): Ledger<undefined> => ({
  name,
  initial: () => undefined,
  started: () => undefined,
  settled: () => undefined,
  ended: () => undefined,
  retry: () => (grants ? { state: undefined, permit: { amount: 0, slot: 0 } } : undefined),
  returned: () => undefined,
  balance: () => (grants ? Infinity : 0)
})

/**
 * Grants no retry.
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/core"
 *
 * console.log(RetryBudget.empty.balance(RetryBudget.empty.initial(0), 0)) // 0
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const empty: Ledger = constant("empty", false)

/**
 * Grants every retry.
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/core"
 *
 * console.log(RetryBudget.unlimited.balance(RetryBudget.unlimited.initial(0), 0)) // Infinity
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const unlimited: Ledger = constant("unlimited", true)
