/**
 * Whole policies: two of our own for the usual cases, and the retry behaviour of well-known clients for those who migrate from
 * one, must speak like one, or want to compare.
 *
 * A preset of a peer is faithful: it has that peer's numbers and formula, and where the peer exceeds its own maximum or loses
 * its spread there, so does the preset, and its text says so. Only the rounding to whole milliseconds (down) is ours. What a
 * peer does besides waiting (retry quotas, which errors it retries, time-outs) is not part of a schedule.
 *
 * @since 0.1.0
 */
import { InvalidOption, Presets as Rule } from "@breakwater/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Schedule from "effect/Schedule"
import * as Backoff from "./Backoff.js"
import { toMillis } from "./DurationOption.js"
import { continueAfter, type Given, make } from "./internal/step.js"
import * as Jitter from "./Jitter.js"
import * as Limit from "./Limit.js"
import * as RetryAfter from "./RetryAfter.js"

// -----------------------------------------------------------------------------
// our own
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface OwnOptions<E> {
  /** The wait that an error asks for, see `RetryAfter.respect`. Default: none. */
  readonly retryAfter?: RetryAfter.RespectOptions<E>["of"] | undefined
}

/**
 * For a request with someone waiting: three calls in all, waits of up to 100 and up to 200 ms, and nothing that would not end
 * within 2 seconds of the first failure; a server that asks for more is not waited for. Then say "try again later".
 *
 * The numbers are ours: two retries are what the AWS SDK's standard mode makes, and 2 seconds about what a person takes for an
 * answer. Azure's guidance is the shape: interactive work retries few times and for a short while.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/schedule"
 * import { Data, type Duration, Effect } from "effect"
 *
 * class Busy extends Data.TaggedError("Busy")<{ readonly retryAfter?: Duration.Duration }> {}
 *
 * const schedule = Presets.interactive({ retryAfter: (error: Busy) => error.retryAfter })
 * const program = Effect.fail(new Busy({})).pipe(Effect.retry(schedule))
 * ```
 * @category our own
 * @since 0.1.0
 */
export const interactive = <E>(options: OwnOptions<E> = {}): Schedule.Schedule<Duration.Duration, E> =>
  Backoff.exponential({ base: "100 millis", cap: "1 second" }).pipe(
    Jitter.full,
    RetryAfter.respect<E>({ of: options.retryAfter ?? noServerTime, max: "2 seconds" }),
    Limit.attempts(3),
    Limit.elapsed("2 seconds")
  )

/**
 * For work that nobody waits for: waits of up to 1 s, 2 s, 4 s, ... up to a minute, for a quarter of an hour from the first
 * failure; a server may ask for five minutes.
 *
 * The numbers are ours; the shape is Azure's guidance for batch work: exponential, longer, and with an end.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * const program = Effect.fail("unavailable").pipe(Effect.retry(Presets.batch()))
 * ```
 * @category our own
 * @since 0.1.0
 */
export const batch = <E>(options: OwnOptions<E> = {}): Schedule.Schedule<Duration.Duration, E> =>
  Backoff.exponential({ base: "1 second", cap: "1 minute" }).pipe(
    Jitter.full,
    RetryAfter.respect<E>({ of: options.retryAfter ?? noServerTime, max: "5 minutes" }),
    Limit.elapsed("15 minutes")
  )

const noServerTime = (): undefined => undefined

// -----------------------------------------------------------------------------
// AWS SDK
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface AwsOptions<E> {
  /** Which errors are throttling (429 and the codes that mean it): their waits start higher. Default: none. */
  readonly throttling?: ((error: E) => boolean) | undefined
  /** All calls, the first one included. Default 3. */
  readonly maxAttempts?: number | undefined
}

/**
 * AWS SDK, standard mode, as of 2026: three calls in all, waits uniform over 0 to `min(20 s, base * 2^n)` with base 50 ms, or
 * 1 s after throttling. A server's time is honoured up to five seconds beyond the own wait and cut to that: AWS comes back
 * before a server that asks for a minute wants it to.
 *
 * Source: `@smithy/core` 3.41.1 (`StandardRetryStrategy`, `DefaultRetryBackoffStrategy`, `retries-2026-config`).
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/schedule"
 *
 * const schedule = Presets.awsStandard2026({ throttling: (error: { readonly status: number }) => error.status === 429 })
 * ```
 * @category peers
 * @since 0.1.0
 */
export const awsStandard2026 = <E>(
  options: AwsOptions<E> & {
    /** The wait that an error asks for. Default: none. */
    readonly retryAfter?: ((error: E, now: number) => Duration.Duration | undefined) | undefined
  } = {}
): Schedule.Schedule<Duration.Duration, E> => aws(options, { base: 50, throttlingBase: 1000 }, options.retryAfter)

/**
 * AWS SDK, standard mode, before 2026: as {@link awsStandard2026} with base 100 ms, 500 ms after throttling.
 *
 * Source: `@smithy/core` 3.39.0 without `SMITHY_NEW_RETRIES_2026`.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/schedule"
 *
 * const schedule = Presets.awsStandardBefore2026()
 * ```
 * @category peers
 * @since 0.1.0
 */
export const awsStandardBefore2026 = <E>(options: AwsOptions<E> = {}): Schedule.Schedule<Duration.Duration, E> =>
  aws(options, { base: 100, throttlingBase: 500 })

const aws = <E>(
  options: AwsOptions<E>,
  bases: { readonly base: number; readonly throttlingBase: number },
  retryAfter: (error: E, now: number) => Duration.Duration | undefined = noServerTime
): Schedule.Schedule<Duration.Duration, E> =>
  make(undefined, (state, { input, notes, now, retries }: Given<E>) =>
    Effect.map(Random.next, (random) => {
      const base = !notes.foreign && options.throttling?.(input) === true ? bases.throttlingBase : bases.base
      const { delay: own, most } = Rule.aws(base, retries, random)
      const server = notes.foreign ? undefined : retryAfter(input, now)
      const longest = server === undefined ? 0 : Math.ceil(Duration.toMillis(server))
      const delay = Math.max(own, Math.min(longest, own + 5000))
      notes.maximum = Math.max(most, Math.min(longest, most + 5000))
      return [state, Duration.millis(delay), continueAfter(now, delay)] as const
    })
  ).pipe(Limit.attempts(options.maxAttempts ?? 3))

// -----------------------------------------------------------------------------
// gRPC
// -----------------------------------------------------------------------------

/**
 * gRPC: waits `min(initialBackoff * backoffMultiplier^n, maxBackoff)` times a factor uniform over 0.8 to 1.2, so it **passes
 * `maxBackoff`** by up to a fifth. More than 5 attempts count as 5.
 *
 * gRPC has no defaults: without a service config nothing is retried. Those here are the example of the gRFC: 4 attempts,
 * 100 ms, 1 s, 2. Google Cloud publishes its numbers as such configs; Cloud Storage has `{ maxAttempts: 5, initialBackoff:
 * "1 second", maxBackoff: "1 minute", backoffMultiplier: 2 }` (googleapis, `storage_grpc_service_config.json`).
 *
 * Source: gRFC A6.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/schedule"
 *
 * const schedule = Presets.grpc({ maxAttempts: 5, initialBackoff: "1 second", maxBackoff: "1 minute" })
 * ```
 * @category peers
 * @since 0.1.0
 */
export const grpc = (
  options: {
    /** All calls, the first one included; at least 2. Default 4. */
    readonly maxAttempts?: number | undefined
    /** Default 100 ms. */
    readonly initialBackoff?: Duration.DurationInput | undefined
    /** Default 1 second. */
    readonly maxBackoff?: Duration.DurationInput | undefined
    /** Default 2. */
    readonly backoffMultiplier?: number | undefined
  } = {}
): Schedule.Schedule<Duration.Duration> => {
  const where = "Presets.grpc"
  const maxAttempts = InvalidOption.count(where, "maxAttempts", options.maxAttempts ?? 4, 2)
  return fromLaw(
    Rule.grpc({
      initialBackoff: toMillis(where, "initialBackoff", options.initialBackoff ?? 100),
      maxBackoff: toMillis(where, "maxBackoff", options.maxBackoff ?? 1000),
      backoffMultiplier: options.backoffMultiplier ?? 2
    })
  ).pipe(Limit.attempts(Math.min(5, maxAttempts)))
}

// -----------------------------------------------------------------------------
// Polly
// -----------------------------------------------------------------------------

/**
 * Polly 8: three retries, by default a **constant 2 seconds without jitter**. Linear waits 2, 4, 6 s, exponential 2, 4, 8 s. With
 * jitter, constant and linear are spread by plus or minus a quarter; exponential follows "decorrelated jitter V2". The maximum,
 * where there is one, is applied last: at the maximum **the spread is lost**.
 *
 * Source: Polly.Core 8.7 (`RetryStrategyOptions`, `RetryHelper`).
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/schedule"
 *
 * const schedule = Presets.polly({ backoffType: "exponential", useJitter: true, maxDelay: "30 seconds" })
 * ```
 * @category peers
 * @since 0.1.0
 */
export const polly = (
  options: {
    /** Calls after the first one. Default 3. */
    readonly maxRetryAttempts?: number | undefined
    /** Default 2 seconds. */
    readonly delay?: Duration.DurationInput | undefined
    /** Default "constant". */
    readonly backoffType?: "constant" | "linear" | "exponential" | undefined
    /** Default false. */
    readonly useJitter?: boolean | undefined
    /** Default: none. */
    readonly maxDelay?: Duration.DurationInput | undefined
  } = {}
): Schedule.Schedule<Duration.Duration> => {
  const where = "Presets.polly"
  return fromLaw(
    Rule.polly({
      backoffType: options.backoffType ?? "constant",
      delay: toMillis(where, "delay", options.delay ?? 2000),
      useJitter: options.useJitter ?? false,
      maxDelay: toMillis(where, "maxDelay", options.maxDelay ?? Infinity)
    })
  ).pipe(Limit.retries(options.maxRetryAttempts ?? 3))
}

// -----------------------------------------------------------------------------
// Resilience4j
// -----------------------------------------------------------------------------

/**
 * Resilience4j: three calls in all, a constant 500 ms between them. With its randomised exponential interval the wait grows by a
 * multiplier (1.5) and is spread by plus or minus a share of itself (0.5); the maximum is applied last: where the wait has grown
 * past it, **every wait is the maximum itself**.
 *
 * Source: resilience4j (`RetryConfig`, `IntervalFunction`).
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/schedule"
 *
 * const constant = Presets.resilience4j()
 * const randomized = Presets.resilience4j({ multiplier: 1.5, randomizationFactor: 0.5, maxInterval: "10 seconds" })
 * ```
 * @category peers
 * @since 0.1.0
 */
export const resilience4j = (
  options: {
    /** All calls, the first one included. Default 3. */
    readonly maxAttempts?: number | undefined
    /** Default 500 ms. */
    readonly waitDuration?: Duration.DurationInput | undefined
    /** Default 1, which is constant. `IntervalFunction` takes 1.5 where it is asked to grow. */
    readonly multiplier?: number | undefined
    /** Default 0, no spread. `IntervalFunction` takes 0.5 where it is asked to randomise. */
    readonly randomizationFactor?: number | undefined
    /** Default: none. */
    readonly maxInterval?: Duration.DurationInput | undefined
  } = {}
): Schedule.Schedule<Duration.Duration> => {
  const where = "Presets.resilience4j"
  return fromLaw(
    Rule.resilience4j({
      waitDuration: toMillis(where, "waitDuration", options.waitDuration ?? 500),
      multiplier: options.multiplier ?? 1,
      randomizationFactor: options.randomizationFactor ?? 0,
      maxInterval: toMillis(where, "maxInterval", options.maxInterval ?? Infinity)
    })
  ).pipe(Limit.attempts(options.maxAttempts ?? 3))
}

// -----------------------------------------------------------------------------
// tenacity
// -----------------------------------------------------------------------------

/**
 * tenacity's `wait_random_exponential`: waits uniform over 0 to `min(max, multiplier * 2^n)`, which is full jitter. tenacity
 * never stops unless told to, and neither does this.
 *
 * Source: `tenacity/wait.py`.
 *
 * @example
 * ```ts
 * import { Limit, Presets } from "@breakwater/schedule"
 *
 * const schedule = Presets.tenacityRandomExponential({ max: "1 minute" }).pipe(Limit.attempts(5))
 * ```
 * @category peers
 * @since 0.1.0
 */
export const tenacityRandomExponential = (
  options: {
    /** Default 1 second. */
    readonly multiplier?: Duration.DurationInput | undefined
    /** Default: none. */
    readonly max?: Duration.DurationInput | undefined
  } = {}
): Schedule.Schedule<Duration.Duration> => {
  const where = "Presets.tenacityRandomExponential"
  return fromLaw(
    Rule.tenacityRandomExponential({
      multiplier: toMillis(where, "multiplier", options.multiplier ?? 1000),
      max: toMillis(where, "max", options.max ?? Infinity)
    })
  )
}

/**
 * tenacity's `wait_exponential_jitter`: waits `min(max, initial * 2^n + uniform(0, jitter))`. At the maximum **nothing is left of
 * the jitter**. tenacity never stops unless told to, and neither does this.
 *
 * Source: `tenacity/wait.py`.
 *
 * @example
 * ```ts
 * import { Limit, Presets } from "@breakwater/schedule"
 *
 * const schedule = Presets.tenacityExponentialJitter({ max: "5 seconds" }).pipe(Limit.attempts(5))
 * ```
 * @category peers
 * @since 0.1.0
 */
export const tenacityExponentialJitter = (
  options: {
    /** Default 1 second. */
    readonly initial?: Duration.DurationInput | undefined
    /** Default 1 second. */
    readonly jitter?: Duration.DurationInput | undefined
    /** Default: none. */
    readonly max?: Duration.DurationInput | undefined
  } = {}
): Schedule.Schedule<Duration.Duration> => {
  const where = "Presets.tenacityExponentialJitter"
  return fromLaw(
    Rule.tenacityExponentialJitter({
      initial: toMillis(where, "initial", options.initial ?? 1000),
      jitter: toMillis(where, "jitter", options.jitter ?? 1000),
      max: toMillis(where, "max", options.max ?? Infinity)
    })
  )
}

// -----------------------------------------------------------------------------
// Brooker 2015
// -----------------------------------------------------------------------------

/**
 * Decorrelated jitter as published: waits `min(cap, uniform(base, 3 * previous))`. At the cap **two waits of three are the cap
 * itself**; `Backoff.decorrelated` is the one that keeps its spread. For repeating published figures.
 *
 * Source: Brooker, "Exponential Backoff And Jitter" (2015), and aws-samples/aws-arch-backoff-simulator.
 *
 * @example
 * ```ts
 * import { Limit, Presets } from "@breakwater/schedule"
 *
 * const schedule = Presets.brookerDecorrelated({ base: "5 millis", cap: "2 seconds" }).pipe(Limit.attempts(10))
 * ```
 * @category peers
 * @since 0.1.0
 */
export const brookerDecorrelated = (options: {
  readonly base: Duration.DurationInput
  readonly cap: Duration.DurationInput
}): Schedule.Schedule<Duration.Duration> => {
  const where = "Presets.brookerDecorrelated"
  return fromLaw(
    Rule.brookerDecorrelated({ base: toMillis(where, "base", options.base), cap: toMillis(where, "cap", options.cap) })
  )
}

const fromLaw = <S>(law: Rule.Law<S>): Schedule.Schedule<Duration.Duration> =>
  make(law.initial, (state, { notes, now }) =>
    Effect.map(Random.next, (random) => {
      const { delay, most, state: next } = law.next(state, random)
      notes.maximum = most
      return [next, Duration.millis(delay), continueAfter(now, delay)] as const
    })
  )
