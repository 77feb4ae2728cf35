/**
 * A retry loop with an exact account: every attempt counted, every wait inside the deadline, every retry granted by a budget, and
 * never a doubt why it stopped. What a plain `Effect.retry` with a schedule cannot know stands here in one place and in one order.
 *
 * ```text
 *           +------------------------------------------------------------------+
 *           v                                                                  |
 * start -> attempt -> success                                                  |
 *           |                                                                  |
 *           +-> failure -> worth it? -> schedule -> fits deadline? -> budget? -+ wait
 *                            no          ended         no              no
 *                            +-----------+-------------+---------------+--> the LAST error, unchanged
 * ```
 *
 * | what happened                                    | error                                        | reason                 |
 * | ------------------------------------------------ | -------------------------------------------- | ---------------------- |
 * | attempts or schedule at their end                | the last error                               | `exhausted`, ...       |
 * | an error not worth a retry                       | that error                                   | `not-retryable`        |
 * | the next wait or attempt does not fit            | the last error, at once                      | `deadline`             |
 * | the budget grants no retry                       | the last error, at once                      | `budget-exhausted`     |
 * | the deadline cuts a running attempt              | `DeadlineExceeded` with the last known error | `deadline`             |
 * | the attempt time-out cuts an attempt             | `AttemptTimedOut`, retried if `idempotent`   | `timed-out`            |
 * | a breaker, bulkhead or throttle refuses at first | its error, with the time to wait             | `refused-locally`      |
 * | the same for a later attempt                     | the last real error                          | `refused-locally`      |
 * | a caller further out retries                     | the error of the single attempt              | `nested`               |
 * | the call died                                    | the defect                                   | `defect`               |
 * | interrupted                                      | interruption, everything given back          | `interrupted`          |
 *
 * On the happy path nothing of this is paid for: the schedule is built at the first failure, an attempt that ends without waiting
 * starts no timer.
 *
 * @since 0.1.0
 */
import type { RetryObserver } from "@breakwater/schedule"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import type { AttemptTimedOut, AttemptTimeout } from "./AttemptTimeout.js"
import type { DeadlineExceeded } from "./Deadline.js"
import * as Loop from "./internal/retryLoop.js"
import type { Kind, RetryBudget } from "./RetryBudget.js"
import type { Nested, NestedRetry } from "./RetryScope.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Options<E> {
  /** In metrics, logs and spans. Default "default". */
  readonly name?: string | undefined
  /**
   * When to come back, and how often. It sees the caller's errors only: a time-out takes its step, not its input, so that
   * `RetryAfter.respect` reads nothing from it. (A predicate of Effect over the input, such as `Schedule.whileInput`, is given the
   * error before, and where there is none the time-out itself: put such a predicate into `while`.)
   */
  readonly schedule: Schedule.Schedule<unknown, E, unknown>
  /** Which errors are worth a retry. Default: all; a time-out is, where the operation is `idempotent`. */
  readonly while?: ((error: E) => boolean) | undefined
  /**
   * Whether the operation may be repeated though an attempt that was cut, and so gave no answer, may have been applied. Default
   * true.
   */
  readonly idempotent?: boolean | undefined
  /** The time limit of each attempt; a service of one is taken from the context. Default: none. */
  readonly attemptTimeout?: Duration.DurationInput | AttemptTimeout | Effect.Effect<AttemptTimeout, never, unknown> | undefined
  /** The time limit of the whole. Default: none but that of a `Deadline.within` around it. */
  readonly deadline?: Duration.DurationInput | undefined
  /**
   * No attempt is begun with less time left. Default 0; with an adaptive attempt time-out the median of what attempts take.
   */
  readonly minimumAttemptTime?: Duration.DurationInput | undefined
  /** Grants each retry, as the last one that is asked; a service of one is taken from the context. Default: no limit. */
  readonly budget?: RetryBudget | Effect.Effect<RetryBudget, never, unknown> | undefined
  /** What a retry of an error costs the budget. Default `failure`; a time-out is a `timeout`. */
  readonly kind?: ((error: E) => Kind) | undefined
  /** What to do inside of another retry. Default `single-attempt`. */
  readonly nested?: Nested | undefined
  /** Whether to log: a failure that is retried at level info, one that is final at level error. Default true. */
  readonly log?: boolean | undefined
}

/**
 * Options that look at the errors of one kind of effect.
 *
 * @category models
 * @since 0.1.0
 */
export type OptionsForErrors<E> = Options<E> &
  ({ readonly while: (error: E) => boolean } | { readonly kind: (error: E) => Kind })

/**
 * The errors that options can look at: what the effect may fail with that they are used for.
 *
 * @category models
 * @since 0.1.0
 */
export type Errors<O> = LooksAt<O, "while"> &
  LooksAt<O, "kind"> &
  (O extends { readonly schedule: Schedule.Schedule<unknown, infer In, unknown> } ? In : unknown)

type LooksAt<O, Key extends string> = O extends { readonly [K in Key]: (error: infer E) => unknown } ? E : unknown

/**
 * What an operation with these options can fail with.
 *
 * @category models
 * @since 0.1.0
 */
export type Failure<E, O> =
  | E
  | (Has<O, "attemptTimeout"> extends true ? AttemptTimedOut : never)
  | (Has<O, "deadline"> extends true
      ? DeadlineExceeded<E | (Has<O, "attemptTimeout"> extends true ? AttemptTimedOut : never)>
      : never)
  | (O extends { readonly nested: infer N } ? ("fail" extends N ? NestedRetry : never) : never)

type Has<O, Key extends string> = Key extends keyof O ? ([O[Key]] extends [undefined] ? false : true) : false

/**
 * What these options need from the context.
 *
 * @category models
 * @since 0.1.0
 */
export type Requirements<O> =
  | (O extends { readonly schedule: Schedule.Schedule<unknown, never, infer R> } ? R : never)
  | Needs<O, "budget">
  | Needs<O, "attemptTimeout">

type Needs<O, Key extends string> = O extends { readonly [K in Key]: infer Service }
  ? [Extract<Service, Effect.Effect<unknown, unknown, unknown>>] extends [never]
    ? never
    : Extract<Service, Effect.Effect<unknown, unknown, unknown>> extends Effect.Effect<unknown, unknown, infer R>
      ? R
      : never
  : never

/**
 * One attempt in the account of an operation.
 *
 * @category models
 * @since 0.1.0
 */
export interface Attempt<E> {
  /** 1 for the first. */
  readonly number: number
  /** From the start of the operation. */
  readonly startedAt: Duration.Duration
  readonly endedAt: Duration.Duration
  /** What it failed with; nothing where it succeeded, died or was interrupted. */
  readonly error: Option.Option<E>
  readonly decision: Decision
}

/**
 * What was decided after an attempt.
 *
 * @category models
 * @since 0.1.0
 */
export type Decision =
  | { readonly _tag: "Succeeded" }
  | {
      readonly _tag: "Retrying"
      readonly wait: Duration.Duration
      /** The longest wait that chance could have drawn. */
      readonly maximumWait: Duration.Duration
    }
  | { readonly _tag: "GaveUp"; readonly reason: RetryObserver.Reason }

/**
 * The account of an operation.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report<A, E> {
  readonly exit: Exit.Exit<A, E>
  /** Calls that reached the wire, the first one included; what a breaker did not let through is none. */
  readonly attempts: number
  /** Why there was no further attempt; nothing after a success. */
  readonly reason: Option.Option<RetryObserver.Reason>
  /** The last attempts, oldest first: at most {@link historyLength}, so that one that retries for ever keeps its size. */
  readonly history: ReadonlyArray<Attempt<E>>
}

/**
 * How many attempts a report tells of.
 *
 * @category models
 * @since 0.1.0
 */
export const historyLength: number = Loop.historyLength

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Runs an effect, and again where it fails with an error that is worth it. Defects and interruption are never retried.
 *
 * Given options alone it is a policy, to be made once and used for many effects. A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Retry } from "@breakwater/resilience"
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Data, Effect } from "effect"
 *
 * class ApiError extends Data.TaggedError("ApiError")<{ readonly status: number }> {}
 *
 * declare const charge: (order: string) => Effect.Effect<string, ApiError>
 *
 * const program = Effect.suspend(() => charge("order 7")).pipe(
 *   Retry.retry({
 *     name: "payments",
 *     schedule: Backoff.exponential({ base: "100 millis" }).pipe(Jitter.full, Limit.attempts(4)),
 *     while: (error) => error.status >= 500,
 *     attemptTimeout: "2 seconds",
 *     deadline: "10 seconds"
 *   }),
 *   Effect.catchTags({
 *     AttemptTimedOut: () => Effect.succeed("unknown"),
 *     DeadlineExceeded: () => Effect.succeed("unknown")
 *   })
 * )
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const retry: {
  <E, const O extends OptionsForErrors<E>>(
    options: O
  ): <A, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, Failure<E, O>, R | Requirements<O>>
  <const O extends Options<never>>(
    options: O
  ): <A, E extends Errors<O>, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, Failure<E, O>, R | Requirements<O>>
  <A, E, R, const O extends Options<E>>(
    self: Effect.Effect<A, E, R>,
    options: O
  ): Effect.Effect<A, Failure<E, O>, R | Requirements<O>>
} = Loop.combinator("Retry.retry", (policy, self) => Loop.run(self, policy)) as never

/**
 * As {@link retry}, and gives the account of the operation instead of its outcome, which is in it. It never fails; interrupted it
 * is interrupted.
 *
 * @example
 * ```ts
 * import { Retry } from "@breakwater/resilience"
 * import { Backoff, Limit } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * const program = Effect.fail("unavailable").pipe(
 *   Retry.report({ schedule: Backoff.constant({ delay: "5 millis" }).pipe(Limit.attempts(3)), log: false })
 * )
 * const { attempts, history, reason } = await Effect.runPromise(program)
 * console.log(attempts, reason) // 3 { _id: 'Option', _tag: 'Some', value: 'exhausted' }
 * console.log(history.map(({ decision }) => decision._tag)) // [ 'Retrying', 'Retrying', 'GaveUp' ]
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const report: {
  <E, const O extends OptionsForErrors<E>>(
    options: O
  ): <A, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<Report<A, Failure<E, O>>, never, R | Requirements<O>>
  <const O extends Options<never>>(
    options: O
  ): <A, E extends Errors<O>, R>(
    self: Effect.Effect<A, E, R>
  ) => Effect.Effect<Report<A, Failure<E, O>>, never, R | Requirements<O>>
  <A, E, R, const O extends Options<E>>(
    self: Effect.Effect<A, E, R>,
    options: O
  ): Effect.Effect<Report<A, Failure<E, O>>, never, R | Requirements<O>>
} = Loop.combinator("Retry.report", (policy, self) => Loop.report(self, policy)) as never
