/**
 * The time limit of one attempt: fixed, or measured. Without it one hung call uses up the patience of its caller; with one that is
 * too short, good calls are cut and sent again.
 *
 * An adaptive limit follows the latency of the dependency. It is the quantile that fits an accepted rate of false time-outs: who
 * accepts one attempt in a thousand cut though it would have ended gets p99.9 (Amazon Builders' Library, "Timeouts, retries and
 * backoff with jitter").
 *
 * @since 0.1.0
 */
import { AttemptTimeout as Rule } from "@breakwater/core"
import { DurationOption } from "@breakwater/schedule"
import * as Cause from "effect/Cause"
import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Layer from "effect/Layer"
import * as Internal from "./internal/attemptTimeout.js"
import { limited } from "./internal/limited.js"
import { limitOption } from "./internal/limitOption.js"
import * as Monotonic from "./internal/monotonic.js"
import { serviceTag } from "./internal/serviceTag.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export const TypeId: TypeId = Internal.TypeId

/**
 * @category models
 * @since 0.1.0
 */
export type TypeId = "~@breakwater/resilience/AttemptTimeout"

/**
 * A limit that may learn from the attempts it limits. All times in milliseconds, `now` on the monotonic clock.
 *
 * @category models
 * @since 0.1.0
 */
export interface AttemptTimeout {
  readonly [TypeId]: TypeId
  readonly unsafeLimit: (now: number) => number
  /** What an attempt typically takes; nothing before enough has been seen, or where the limit is fixed. */
  readonly unsafeMedian: (now: number) => number | undefined
  readonly unsafeSucceeded: (latency: number, now: number) => void
  readonly unsafeCut: (limit: number, now: number) => void
}

/**
 * @category models
 * @since 0.1.0
 */
export interface AdaptiveOptions {
  /** The accepted share of attempts that are cut though they would have ended, above 0 and at most 0.5. Default 0.001. */
  readonly falseTimeouts?: number | undefined
  /** The limit is never shorter. Default 10 milliseconds. */
  readonly floor?: Duration.DurationInput | undefined
  /** The limit is never longer; it is the limit until enough has been seen. Default 10 seconds. */
  readonly ceiling?: Duration.DurationInput | undefined
  /** How many attempts must have been seen. Default: as many as show that share once, 1 / falseTimeouts. */
  readonly warmUp?: number | undefined
  /** How long a latency counts. Default one minute. */
  readonly window?: Duration.DurationInput | undefined
}

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * An attempt did not end in its time and was cut. It may have been applied all the same.
 *
 * @category errors
 * @since 0.1.0
 */
export class AttemptTimedOut extends Data.TaggedError("AttemptTimedOut")<{
  readonly limit: Duration.Duration
}> {
  override get message(): string {
    return `The attempt did not end within ${Duration.format(this.limit)}`
  }
}

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

/**
 * The same limit for every attempt. A wrong limit throws `InvalidOption`.
 *
 * @category make
 * @since 0.1.0
 */
export const fixed = (limit: Duration.DurationInput): AttemptTimeout => {
  const millis = limitOption("AttemptTimeout.fixed", "limit", limit, 1)
  return {
    [TypeId]: TypeId,
    unsafeLimit: () => millis,
    unsafeMedian: () => undefined,
    unsafeSucceeded: () => undefined,
    unsafeCut: () => undefined
  }
}

/**
 * A limit that follows the measured latency, of memory that does not grow. Successes and time-outs are measured, a time-out as
 * twice its limit, so that a limit that has become too short grows again; other failures say nothing of how long an answer takes.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { AttemptTimeout, Retry } from "@breakwater/resilience"
 * import { Effect, Schedule } from "effect"
 *
 * declare const call: Effect.Effect<string, "unavailable">
 *
 * const program = Effect.gen(function* () {
 *   const timeout = yield* AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: "2 seconds" })
 *   return yield* call.pipe(Retry.retry({ schedule: Schedule.recurs(2), attemptTimeout: timeout }))
 * })
 * ```
 * @category make
 * @since 0.1.0
 */
export const adaptive = (options: AdaptiveOptions = {}): Effect.Effect<AttemptTimeout> => {
  // A wrong option is found where it is written.
  unsafeAdaptive(options)
  return Effect.sync(() => unsafeAdaptive(options))
}

const unsafeAdaptive = (options: AdaptiveOptions): AttemptTimeout => {
  const where = "AttemptTimeout.adaptive"
  const rule = Rule.adaptive({
    falseTimeouts: options.falseTimeouts,
    floor: DurationOption.toMillisOrUndefined(where, "floor", options.floor),
    ceiling: DurationOption.toMillisOrUndefined(where, "ceiling", options.ceiling),
    warmUp: options.warmUp,
    window: DurationOption.toMillisOrUndefined(where, "window", options.window)
  })
  return {
    [TypeId]: TypeId,
    unsafeLimit: (now) => rule.limit(now),
    unsafeMedian: (now) => rule.median(now),
    unsafeSucceeded: (latency, now) => rule.succeeded(latency, now),
    unsafeCut: (limit, now) => rule.cut(limit, now)
  }
}

// -----------------------------------------------------------------------------
// layers
// -----------------------------------------------------------------------------

/**
 * The class that {@link Tag} makes.
 *
 * @category layers
 * @since 0.1.0
 */
export interface TagClass<Self, Id extends string> extends Context.TagClass<Self, Id, AttemptTimeout> {
  /** An adaptive limit that lives as long as the layer. A layer that is provided twice is two limits. */
  readonly layer: (options?: AdaptiveOptions) => Layer.Layer<Self>
  /** As `layer`, from the configuration; a wrong value fails and names its key. */
  readonly layerConfig: (options: Config.Config.Wrap<AdaptiveOptions>) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * An adaptive limit of one dependency, as a service.
 *
 * @example
 * ```ts
 * import { AttemptTimeout } from "@breakwater/resilience"
 * import { Config } from "effect"
 *
 * class PaymentsTimeout extends AttemptTimeout.Tag("PaymentsTimeout")<PaymentsTimeout>() {}
 *
 * const fixedHere = PaymentsTimeout.layer({ ceiling: "2 seconds" })
 * const fromTheEnvironment = PaymentsTimeout.layerConfig({ ceiling: Config.duration("PAYMENTS_TIMEOUT_CEILING") })
 * ```
 * @category layers
 * @since 0.1.0
 */
export const Tag =
  <const Id extends string>(id: Id) =>
  <Self>(): TagClass<Self, Id> =>
    serviceTag<Self, Id, AttemptTimeout, AdaptiveOptions | undefined>(id, adaptive)

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Cuts an effect that does not end in time, and waits until it has let go. An effect that ends without waiting costs no timer. One
 * that cannot be interrupted ends when it ends; what it failed with is kept, a success that comes too late is lost, as under
 * `Effect.timeout`.
 *
 * A wrong limit throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { AttemptTimeout } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * const exit = await Effect.runPromise(Effect.flip(Effect.never.pipe(AttemptTimeout.timeout("20 millis"))))
 * console.log(exit.message) // The attempt did not end within 20ms
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const timeout: {
  (
    limit: Duration.DurationInput | AttemptTimeout
  ): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | AttemptTimedOut, R>
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    limit: Duration.DurationInput | AttemptTimeout
  ): Effect.Effect<A, E | AttemptTimedOut, R>
} = dual(2, <A, E, R>(self: Effect.Effect<A, E, R>, limit: Duration.DurationInput | AttemptTimeout) => {
  const timeout = Internal.isAttemptTimeout(limit) ? limit : fixed(limit)
  return Effect.uninterruptibleMask((restore) =>
    Effect.withFiberRuntime<A, E | AttemptTimedOut, R>((fiber) => {
      const clock = Monotonic.clockOf(fiber)
      const startedAt = Monotonic.unsafeNow(clock)
      const millis = timeout.unsafeLimit(startedAt)
      return Effect.flatMap(
        limited(self, millis, restore, fiber.currentContext),
        ({ cut, exit }): Effect.Effect<A, E | AttemptTimedOut> => {
          const now = Monotonic.unsafeNow(clock)
          if (exit._tag === "Success") {
            timeout.unsafeSucceeded(now - startedAt, now)
            return exit
          }
          if (!cut || !Cause.isInterruptedOnly(exit.cause)) return exit
          timeout.unsafeCut(millis, now)
          return Effect.fail(Internal.timedOut(millis))
        }
      )
    })
  )
})
