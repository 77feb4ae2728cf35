/**
 * Marks what runs inside a retry, so that another retry further in does not multiply it: four layers of three attempts make 3
 * calls, not 81. An inner retry that finds the mark makes a single attempt, unless it is told otherwise.
 *
 * ```text
 * Retry (3 attempts)            mark: attempt 1, 2, 3
 *   Retry (3 attempts)          sees the mark: 1 attempt each
 *     the call                  3 in all
 * ```
 *
 * The mark goes with the fiber and the fibers it forks. It does not reach siblings, and it ends with the operation that set it,
 * also for a daemon that lives on. As a header it crosses a hop.
 *
 * @since 0.1.0
 */
import { RetryScope as Rule } from "@breakwater/core"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import * as Handle from "./internal/handle.js"
import * as Marks from "./internal/retryMarks.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * What a retry does that finds itself inside another one.
 *
 * - `single-attempt`: makes one attempt and leaves the retrying to the outer one (default)
 * - `warn`: retries all the same, and logs a warning
 * - `fail`: fails with {@link NestedRetry} and makes no attempt
 * - `allow`: retries all the same
 *
 * @category models
 * @since 0.1.0
 */
export type Nested = Rule.Nested

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * A retry that must not be nested was found inside another one.
 *
 * @category errors
 * @since 0.1.0
 */
export class NestedRetry extends Data.TaggedError("NestedRetry")<{
  /** The policy of the retry that refused. */
  readonly policy: string
}> {
  override get message(): string {
    return `The retry of "${this.policy}" runs inside another retry, which would multiply its attempts; retry in one place only`
  }
}

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * The number of the attempt that the fiber is in, 1 for the first; nothing outside of a retry.
 *
 * @example
 * ```ts
 * import { Retry, RetryScope } from "@breakwater/resilience"
 * import { Effect, Schedule } from "effect"
 *
 * const call = Effect.gen(function* () {
 *   console.log(yield* RetryScope.attempt)
 *   return yield* Effect.fail("down")
 * })
 * await Effect.runPromise(call.pipe(Retry.retry({ schedule: Schedule.recurs(1), log: false }), Effect.ignore))
 * // prints: { _id: 'Option', _tag: 'Some', value: 1 }
 * //         { _id: 'Option', _tag: 'Some', value: 2 }
 * ```
 * @category getters
 * @since 0.1.0
 */
export const attempt: Effect.Effect<Option.Option<number>> = Effect.withFiberRuntime((fiber) =>
  Effect.succeed(Option.map(Option.fromNullable(Marks.of(fiber)), ({ value }) => value.attempt))
)

/**
 * The mark as the value of a request header, nothing outside of a retry: the number of the attempt. Which header, both sides
 * agree on; `breakwater-retry-attempt` if you have no name of your own.
 *
 * @category getters
 * @since 0.1.0
 */
export const header: Effect.Effect<Option.Option<string>> = Effect.map(attempt, Option.map(Rule.toHeader))

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Runs an effect as if it stood in no retry: those inside of it retry as they say. For work that only happens to be started
 * there, such as an audit record that must be written whatever becomes of the operation.
 *
 * @category combinators
 * @since 0.1.0
 */
export const allow = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => Marks.marked(self, () => undefined)

/**
 * Runs an effect inside the retry of the caller that sent this header. What cannot be read, or was not sent, is no mark.
 *
 * @example
 * ```ts
 * import { RetryScope } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * // on the server
 * const handler = (headers: { readonly [name: string]: string | undefined }) =>
 *   RetryScope.attempt.pipe(RetryScope.fromHeader(headers["breakwater-retry-attempt"]))
 *
 * console.log(Effect.runSync(handler({ "breakwater-retry-attempt": "2" }))) // { _id: 'Option', _tag: 'Some', value: 2 }
 * console.log(Effect.runSync(handler({ "breakwater-retry-attempt": "1e9" }))) // { _id: 'Option', _tag: 'None' }
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const fromHeader: {
  (value: string | undefined): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, value: string | undefined): Effect.Effect<A, E, R>
} = dual(
  (args) => Effect.isEffect(args[0]),
  <A, E, R>(self: Effect.Effect<A, E, R>, value: string | undefined): Effect.Effect<A, E, R> => {
    const attempt = value === undefined ? undefined : Rule.parseHeader(value)
    if (attempt === undefined) return self
    return Marks.marked(self, (outer) => Handle.open({ attempt }, outer))
  }
)
