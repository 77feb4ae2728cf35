/**
 * Leaves a dependency alone that is down, and looks at it again from time to time. A retry bridges a short fault, a breaker a long one.
 *
 * ```text
 *                 too many bad calls
 *      Closed -------------------------> Open
 *        ^                              |    ^
 *        | the probes succeed           |    | a probe fails, or hangs
 *        |                 time is over |    |
 *        +-------------- HalfOpen <-----+----+
 * ```
 *
 * It cannot wedge: a probe that hangs has failed after its limit, one that is interrupted or ignored frees its place, and what was
 * admitted before the last change of state changes nothing. There is no timer and no fiber: that the time is over is found out by
 * whoever looks next.
 *
 * | metric                       | kind    | labels            | counts                                           |
 * | ---------------------------- | ------- | ----------------- | ------------------------------------------------ |
 * | `circuit_breaker_state`      | gauge   | `breaker`         | 0 closed, 1 half-open, 2 open, 3 isolated, 4 disabled |
 * | `circuit_breaker_rejections` | counter | `breaker`         | calls that were not let through                  |
 *
 * @since 0.1.0
 */
import { CircuitBreaker as Rule } from "@breakwater/core"
import { DurationOption } from "@breakwater/schedule"
import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { dual } from "effect/Function"
import type * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import type * as Stream from "effect/Stream"
import * as Internal from "./internal/circuitBreaker.js"
import { guarded, verdictOf } from "./internal/guard.js"
import { serviceTag } from "./internal/serviceTag.js"
import type { CircuitOpen } from "./LocalRefusal.js"

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
export type TypeId = "~@breakwater/resilience/CircuitBreaker"

/**
 * Of a call, for the breaker. `ignored` is what says nothing of the dependency.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = Rule.Outcome

/**
 * @category models
 * @since 0.1.0
 */
export type StateName = Rule.StateName

/**
 * When a closed breaker opens; see {@link consecutive}, {@link failures}, {@link failureRate}, {@link slowCallRate}.
 *
 * @category models
 * @since 0.1.0
 */
export type TripPolicy = Rule.TripPolicy

/**
 * A state as it is written down; times are milliseconds since 1970.
 *
 * @category models
 * @since 0.1.0
 */
export type Saved = Rule.Saved

/**
 * @category models
 * @since 0.1.0
 */
export interface Transition {
  readonly from: StateName
  readonly to: StateName
}

/**
 * @category models
 * @since 0.1.0
 */
export interface CircuitBreaker {
  readonly [TypeId]: TypeId
  readonly name: string
  /** The state now. */
  readonly state: Effect.Effect<StateName>
  /**
   * The changes of state from now on. That an open breaker's time is over is told when somebody looks: at the next call, or at
   * `state`.
   */
  readonly transitions: Stream.Stream<Transition>
  /** Lets no call through until `reset`. */
  readonly isolate: Effect.Effect<void>
  /** Lets every call through and counts none, until `reset`. */
  readonly disable: Effect.Effect<void>
  /** Closes it, with nothing remembered. */
  readonly reset: Effect.Effect<void>
  /** What another process needs to go on from here, as `restore` in the options. */
  readonly save: Effect.Effect<Saved>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Its label in the metrics. Default "default", under which only the counters are kept: it may be one of many. */
  readonly name?: string | undefined
  /** When it opens; of several, any. */
  readonly tripPolicy: TripPolicy | ReadonlyArray<TripPolicy>
  /**
   * How long it stays open, or a schedule of how long, one step for each time it opens in a row; closing starts it anew, and where it
   * ends its last time stays. It is stepped, not slept. Default 5 seconds.
   */
  readonly openDuration?: Duration.DurationInput | Schedule.Schedule<unknown> | undefined
  /**
   * How much is added to the open duration at random, as a share of it, 0 to 1, so that a fleet does not look again in the same
   * instant. Default 0.1.
   */
  readonly jitter?: number | undefined
  /** How many calls a half-open breaker lets through until it decides. Default 1. */
  readonly probes?: number | undefined
  /** The share of the probes that may fail, 0 to 1. Default 0: all must succeed, and the first failure opens. */
  readonly probeFailures?: number | undefined
  /** A probe that takes longer has failed. Default 1 minute. */
  readonly probeLimit?: Duration.DurationInput | undefined
  /** For how long after it has closed only a growing share is let through. Default 0: all at once. */
  readonly ramp?: Duration.DurationInput | undefined
  /** A state that was saved. */
  readonly restore?: Saved | undefined
}

// -----------------------------------------------------------------------------
// trip policies
// -----------------------------------------------------------------------------

/**
 * So many failures in a row. A wrong option of this or any other trip policy throws `InvalidOption`.
 *
 * @category trip policies
 * @since 0.1.0
 */
export const consecutive = (failures: number): TripPolicy => Rule.consecutive(failures)

/**
 * So many failures within so much time.
 *
 * @category trip policies
 * @since 0.1.0
 */
export const failures = (options: { readonly failures: number; readonly window: Duration.DurationInput }): TripPolicy =>
  Rule.failures({ ...options, window: DurationOption.toMillis("CircuitBreaker.failures", "window", options.window) })

/**
 * @category models
 * @since 0.1.0
 */
export interface RateOptions {
  /** The share of bad calls that opens, above 0 and at most 1. */
  readonly threshold: number
  /** How many calls must have been seen. */
  readonly minimumCalls: number
  /** The time over which is counted, or with `calls` the last so many calls. */
  readonly window: Duration.DurationInput | { readonly calls: number }
}

/**
 * A share of failures, over a time or over the last calls.
 *
 * @example
 * ```ts
 * import { CircuitBreaker } from "@breakwater/resilience"
 *
 * const policy = CircuitBreaker.failureRate({ threshold: 0.5, window: "10 seconds", minimumCalls: 20 })
 * ```
 * @category trip policies
 * @since 0.1.0
 */
export const failureRate = (options: RateOptions): TripPolicy =>
  Rule.failureRate({ ...options, over: over("CircuitBreaker.failureRate", options.window) })

/**
 * A share of calls that took longer than so much, whether they succeeded or not.
 *
 * @category trip policies
 * @since 0.1.0
 */
export const slowCallRate = (options: RateOptions & { readonly slowerThan: Duration.DurationInput }): TripPolicy => {
  const where = "CircuitBreaker.slowCallRate"
  return Rule.slowCallRate({
    ...options,
    slowerThan: DurationOption.toMillis(where, "slowerThan", options.slowerThan),
    over: over(where, options.window)
  })
}

const over = (where: string, window: RateOptions["window"]): Rule.RateOptions["over"] =>
  typeof window === "object" && "calls" in window
    ? { calls: window.calls }
    : { time: DurationOption.toMillis(where, "window", window) }

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

/**
 * A breaker of its own.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { CircuitBreaker } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const breaker = yield* CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(2), openDuration: "5 seconds" })
 *   const call = CircuitBreaker.execute(Effect.fail("down"), breaker)
 *   return yield* Effect.all([Effect.flip(call), Effect.flip(call), Effect.flip(call)])
 * })
 * const [first, second, third] = await Effect.runPromise(program)
 * console.log(first, second, third instanceof Error && third.name) // down down CircuitOpen
 * ```
 * @category make
 * @since 0.1.0
 */
export const make: (options: Options) => Effect.Effect<CircuitBreaker> = (options) => Internal.make(options)

// -----------------------------------------------------------------------------
// layers
// -----------------------------------------------------------------------------

/**
 * The class that {@link Tag} makes.
 *
 * @category layers
 * @since 0.1.0
 */
export interface TagClass<Self, Id extends string> extends Context.TagClass<Self, Id, CircuitBreaker> {
  /** A breaker that lives as long as the layer. A layer that is provided twice is two breakers. */
  readonly layer: (options: Omit<Options, "name">) => Layer.Layer<Self>
  /** As `layer`, from the configuration; a wrong value fails and names its key. */
  readonly layerConfig: (options: Config.Config.Wrap<Omit<Options, "name">>) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * The breaker of one dependency, as a service.
 *
 * @example
 * ```ts
 * import { CircuitBreaker } from "@breakwater/resilience"
 *
 * class PaymentsBreaker extends CircuitBreaker.Tag("PaymentsBreaker")<PaymentsBreaker>() {}
 *
 * const layer = PaymentsBreaker.layer({
 *   tripPolicy: CircuitBreaker.failureRate({ threshold: 0.5, window: "10 seconds", minimumCalls: 20 }),
 *   openDuration: "5 seconds"
 * })
 * ```
 * @category layers
 * @since 0.1.0
 */
export const Tag =
  <const Id extends string>(id: Id) =>
  <Self>(): TagClass<Self, Id> =>
    serviceTag<Self, Id, CircuitBreaker, Omit<Options, "name">>(id, (options) => make({ ...options, name: id }))

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * What a breaker makes of an outcome unless it is told otherwise: a failure is one, a defect too; interruption and a local refusal
 * further in are ignored.
 *
 * @category combinators
 * @since 0.1.0
 */
export const classify = (exit: Exit.Exit<unknown, unknown>): Outcome => Internal.outcomeOf[verdictOf(exit, () => true)]

/**
 * @category models
 * @since 0.1.0
 */
export interface ExecuteOptions<A, E> {
  /** What an outcome is for the breaker. Default {@link classify}; an error that is the caller's own fault is best `ignored`. */
  readonly classify?: ((exit: Exit.Exit<A, E>) => Outcome) | undefined
}

/**
 * Runs an effect if the breaker lets it through, and tells it the outcome, however it ends.
 *
 * @category combinators
 * @since 0.1.0
 */
export const execute: {
  <A, E>(
    breaker: CircuitBreaker,
    options?: ExecuteOptions<NoInfer<A>, NoInfer<E>>
  ): <R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | CircuitOpen, R>
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    breaker: CircuitBreaker,
    options?: ExecuteOptions<NoInfer<A>, NoInfer<E>>
  ): Effect.Effect<A, E | CircuitOpen, R>
} = dual(
  (args) => Effect.isEffect(args[0]),
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    breaker: CircuitBreaker,
    options: ExecuteOptions<A, E> = {}
  ): Effect.Effect<A, E | CircuitOpen, R> => {
    const judge = options.classify ?? classify
    return guarded(self, Internal.guardOf(breaker), judge)
  }
)
