/**
 * Schedules that say how long to wait before the next retry. They never end by themselves (see `Limit`) and do not spread
 * clients (see `Jitter`).
 *
 * ```text
 * retry           1     2     3     4     5     6
 * constant      100   100   100   100   100   100
 * linear        100   200   300   400   500   600
 * fibonacci     100   100   200   300   500   800
 * exponential   100   200   400   800   800   800      each with base 100 ms and cap 800 ms
 * ```
 *
 * @since 0.1.0
 */
import { Backoff as Rule } from "@breakwater/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Schedule from "effect/Schedule"
import { toMillis, toMillisOrUndefined } from "./DurationOption.js"
import { continueAfter, make } from "./internal/step.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * A schedule whose waits follow a law up to a cap. Its output is the wait itself, before any jitter.
 *
 * @category models
 * @since 0.1.0
 */
export interface Backoff extends Schedule.Schedule<Duration.Duration> {
  /** No wait is longer; `Duration.infinity` where the cap was lifted. `Jitter.proportional` reads it. */
  readonly cap: Duration.Duration
}

/**
 * Options that every backoff has.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * Whether the first retry comes at once and the waits begin after it: for faults that are usually gone at once, such as a
   * connection that the other side had closed while idle. Default false.
   */
  readonly immediateFirst?: boolean | undefined
}

/**
 * Options of a backoff whose waits grow.
 *
 * @category models
 * @since 0.1.0
 */
export interface GrowingOptions extends Options {
  /** The wait before the first retry. */
  readonly base: Duration.DurationInput
  /** No wait is longer. Default 30 seconds; `Duration.infinity` lifts it. */
  readonly cap?: Duration.DurationInput | undefined
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * Waits `min(cap, base * factor^n)`, n from 0 for the first retry, in whole milliseconds: capped exponential backoff (Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). Without a cap it saturates instead of overflowing.
 *
 * A wrong option throws `InvalidOption`, which names the field and the rule.
 *
 * @example
 * ```ts
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * const patient = Backoff.exponential({ base: "100 millis", cap: "10 seconds" }).pipe(Jitter.full, Limit.attempts(4))
 *
 * const program = Effect.fail("unavailable").pipe(Effect.retry(patient))
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const exponential = (
  options: GrowingOptions & {
    /** What each wait is multiplied by; at least 1. Default 2. */
    readonly factor?: number | undefined
  }
): Backoff => {
  const { base, cap } = growing("Backoff.exponential", options)
  return fromRule(Rule.exponential({ base, cap, factor: options.factor }), options)
}

/**
 * Waits `min(cap, base + n * increment)`, n from 0 for the first retry, in whole milliseconds.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Limit } from "@breakwater/schedule"
 *
 * // waits 1, 2, 3, 4 seconds
 * const schedule = Backoff.linear({ base: "1 second" }).pipe(Limit.retries(4))
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const linear = (
  options: GrowingOptions & {
    /** What is added for each further retry. Default: the base. */
    readonly increment?: Duration.DurationInput | undefined
  }
): Backoff => {
  const where = "Backoff.linear"
  const { base, cap } = growing(where, options)
  return fromRule(Rule.linear({ base, cap, increment: toMillisOrUndefined(where, "increment", options.increment) }), options)
}

/**
 * Waits the base times 1, 1, 2, 3, 5, 8, ..., up to the cap, in whole milliseconds: grows by about 1.6, gently at the start.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Limit } from "@breakwater/schedule"
 *
 * // waits 50, 50, 100, 150, 250 ms
 * const schedule = Backoff.fibonacci({ base: "50 millis" }).pipe(Limit.retries(5))
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const fibonacci = (options: GrowingOptions): Backoff =>
  fromRule(Rule.fibonacci(growing("Backoff.fibonacci", options)), options)

/**
 * Waits the same time before every retry. Without jitter, clients that failed together come back together: see `Jitter`.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Limit } from "@breakwater/schedule"
 *
 * const schedule = Backoff.constant({ delay: "1 second" }).pipe(Limit.attempts(3))
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const constant = (
  options: Options & {
    /** Every wait. */
    readonly delay: Duration.DurationInput
  }
): Backoff => fromRule(Rule.constant({ delay: toMillis("Backoff.constant", "delay", options.delay) }), options)

/**
 * Waits a time drawn uniformly from the base to three times the wait before it, or to the cap where that is less: decorrelated
 * jitter (Brooker 2015). It spreads clients by itself and needs no `Jitter`.
 *
 * The published formula clamps the draw instead of the interval, so at the cap two waits of three are the cap itself and clients
 * fall into step; `Presets.brookerDecorrelated` is that one.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Limit } from "@breakwater/schedule"
 *
 * // waits 100 to 300 ms, then 100 ms to three times that, ...
 * const schedule = Backoff.decorrelated({ base: "100 millis", cap: "10 seconds" }).pipe(Limit.attempts(5))
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const decorrelated = (
  options: Options & {
    /** The shortest wait. */
    readonly base: Duration.DurationInput
    /** No wait is longer; not below the base. Default 30 seconds; `Duration.infinity` lifts it. */
    readonly cap?: Duration.DurationInput | undefined
  }
): Backoff => {
  const { cap, initial, most, next } = Rule.decorrelated(growing("Backoff.decorrelated", options))
  const immediate = options.immediateFirst === true
  return withCap(
    make(initial, (previous, { notes, now, retries }) => {
      if (immediate && retries === 0) return Effect.succeed(wait(previous, 0, now))
      return Effect.map(Random.next, (random) => {
        const delay = next(previous, random)
        notes.maximum = most(previous)
        return wait(delay, delay, now)
      })
    }),
    cap
  )
}

const growing = (where: string, { base, cap }: GrowingOptions) => ({
  base: toMillis(where, "base", base),
  cap: toMillisOrUndefined(where, "cap", cap)
})

const fromRule = (rule: Rule.Backoff, options: Options): Backoff => {
  const { cap, delay } = options.immediateFirst === true ? Rule.immediateFirst(rule) : rule
  return withCap(
    make(undefined, (state, { now, retries }) => Effect.succeed(wait(state, delay(retries), now))),
    cap
  )
}

const wait = <S>(state: S, delay: number, now: number) => [state, Duration.millis(delay), continueAfter(now, delay)] as const

const withCap = (schedule: Schedule.Schedule<Duration.Duration>, cap: number): Backoff =>
  Object.assign(schedule, { cap: Duration.millis(cap) })
