/**
 * Obeys the server that says when to come back. A `Retry-After` is a floor under the schedule's own backoff: the retry never
 * comes earlier, jitter is only added on top, and a value beyond the maximum ends the retrying at once instead of hanging the
 * caller.
 *
 * ```text
 * own backoff   |------|
 * server        |=============|
 * jitter                      |~~|
 * maximum       |---------------------|
 * ```
 *
 * @since 0.1.0
 */
import { Jitter, RetryAfter as Rule } from "@breakwater/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Random from "effect/Random"
import type * as Schedule from "effect/Schedule"
import { toMillisOrUndefined } from "./DurationOption.js"
import { adjust } from "./internal/step.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * Response headers as clients give them: a record (`@effect/platform`, Node, axios) or an object with `get` (fetch). Names in a
 * record are lower-case.
 *
 * @category models
 * @since 0.1.0
 */
export type Headers =
  { readonly [name: string]: string | ReadonlyArray<string> | undefined } | { readonly get: (name: string) => string | null }

/**
 * @category models
 * @since 0.1.0
 */
export interface RespectOptions<E> {
  /**
   * The wait that an error asks for, or `undefined`. `now` is the wall clock in milliseconds since 1970, for a server that
   * names a moment. {@link fromHeaders} makes one from a response's headers.
   */
  readonly of: (error: E, now: number) => Duration.Duration | undefined
  /** The longest server time that is waited for, itself included. Default 1 minute. */
  readonly max?: Duration.DurationInput | undefined
  /** Beyond the maximum: end the retrying at once, or wait for the maximum all the same. Default "give up". */
  readonly beyond?: "give up" | "clamp" | undefined
  /** How much is added to the server's time at random, as a share of it, 0 to 1. Default 0.1. */
  readonly jitter?: number | undefined
}

// -----------------------------------------------------------------------------
// parsing
// -----------------------------------------------------------------------------

/**
 * The wait that a `Retry-After` value asks for (RFC 9110 section 10.2.3): seconds, or one of the three forms of HTTP-date taken
 * from `now`, in milliseconds since 1970. `undefined` where it cannot be read, which is the same as no field.
 *
 * @example
 * ```ts
 * import { RetryAfter } from "@breakwater/schedule"
 *
 * const now = Date.UTC(2026, 0, 5, 12)
 * RetryAfter.parse("120", now) // 120 seconds
 * RetryAfter.parse("Mon, 05 Jan 2026 12:02:00 GMT", now) // 120 seconds
 * RetryAfter.parse("soon", now) // undefined
 * ```
 * @category parsing
 * @since 0.1.0
 */
export const parse = (value: string, now: number): Duration.Duration | undefined => toDuration(Rule.parse(value, now))

/**
 * Reads the wait from the headers of the response that an error carries, for {@link respect}. A readable `retry-after-ms` wins
 * over `Retry-After`.
 *
 * @example
 * ```ts
 * import { Backoff, RetryAfter } from "@breakwater/schedule"
 * import type { HttpClientError } from "@effect/platform"
 *
 * const schedule = Backoff.exponential({ base: "100 millis" }).pipe(
 *   RetryAfter.respect<HttpClientError.HttpClientError>({
 *     // Only an answer has headers; a RequestError never got one.
 *     of: RetryAfter.fromHeaders((error) => (error._tag === "ResponseError" ? error.response.headers : undefined))
 *   })
 * )
 * ```
 * @category parsing
 * @since 0.1.0
 */
export const fromHeaders =
  <E>(headers: (error: E) => Headers | undefined): ((error: E, now: number) => Duration.Duration | undefined) =>
  (error, now) => {
    const found = headers(error)
    return found === undefined ? undefined : toDuration(Rule.fromHeaders(lookUp(found), now))
  }

const lookUp =
  (headers: Headers) =>
  (name: string): string | undefined => {
    const value = typeof headers["get"] === "function" ? headers["get"](name) : (headers as Record<string, unknown>)[name]
    return typeof value === "string" ? value : undefined
  }

const toDuration = (millis: number | undefined): Duration.Duration | undefined =>
  millis === undefined ? undefined : Duration.millis(millis)

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Waits at least as long as the error says, and never resets the growth of the schedule under it. Put it after the jitter,
 * which must not shorten a server's time, and before the limits.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Jitter, Limit, RetryAfter } from "@breakwater/schedule"
 * import { Data, type Duration } from "effect"
 *
 * class ApiError extends Data.TaggedError("ApiError")<{ readonly retryAfter?: Duration.Duration }> {}
 *
 * const patient = Backoff.exponential({ base: "100 millis", cap: "10 seconds" }).pipe(
 *   Jitter.full,
 *   RetryAfter.respect({ of: (error: ApiError) => error.retryAfter, max: "1 minute" }),
 *   Limit.attempts(4)
 * )
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const respect: {
  <E>(options: RespectOptions<E>): <Out, In, R>(self: Schedule.Schedule<Out, In, R>) => Schedule.Schedule<Out, In & E, R>
  <Out, In, R, E>(self: Schedule.Schedule<Out, In, R>, options: RespectOptions<E>): Schedule.Schedule<Out, In & E, R>
} = dual(2, <Out, In, R, E>(self: Schedule.Schedule<Out, In, R>, options: RespectOptions<E>) => {
  const wait = Rule.respect({
    max: toMillisOrUndefined("RetryAfter.respect", "max", options.max),
    beyond: options.beyond,
    jitter: options.jitter
  })
  return adjust<Out, In, R, undefined, E, never>(self, undefined, (state, delay, { input, notes, now }) => {
    const server = notes.foreign ? undefined : options.of(input, now)
    if (server === undefined) return Effect.succeed([state, delay] as const)
    const decide = (backoff: number, random: number) => wait(backoff, Math.ceil(Duration.toMillis(server)), random)
    return Effect.map(Random.next, (random) => {
      const decision = decide(delay, random)
      const longest = decide(notes.maximum ?? delay, Jitter.highest)
      if (decision._tag === "GiveUp" || longest._tag === "GiveUp") {
        notes.reason = "retry-after"
        return [state, undefined] as const
      }
      notes.maximum = longest.delay
      return [state, decision.delay] as const
    })
  })
})
