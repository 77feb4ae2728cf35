/**
 * Holds calls back while the dependency refuses too many of them: the client-side throttling of the SRE book. A server that is overloaded
 * refuses cheaply, not for nothing; with enough clients, refusing is all it does.
 *
 * ```text
 *                     requests - multiplier x accepts
 * probability = max(0, ------------------------------- )    over the last two minutes
 *                              requests + 1
 * ```
 *
 * `requests` are all calls that were wanted, those held back among them. While it throttles, what is sent comes to the multiplier times
 * what is accepted: with 2, one call is refused for each that is accepted. Those show when the overload is over.
 *
 * There is neither a timer nor an open and a closed: each call is decided by what the last ones came to.
 *
 * | metric                          | kind    | labels     | counts                                         |
 * | ------------------------------- | ------- | ---------- | ---------------------------------------------- |
 * | `adaptive_throttle_probability` | gauge   | `throttle` | the probability of the last call to be held back |
 * | `adaptive_throttle_rejections`  | counter | `throttle` | calls that were held back                      |
 *
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Layer from "effect/Layer"
import * as Internal from "./internal/adaptiveThrottle.js"
import { guarded, verdictOf } from "./internal/guard.js"
import { serviceTag } from "./internal/serviceTag.js"
import type { Throttled } from "./LocalRefusal.js"

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
export type TypeId = "~@breakwater/resilience/AdaptiveThrottle"

/**
 * @category models
 * @since 0.1.0
 */
export interface AdaptiveThrottle {
  readonly [TypeId]: TypeId
  readonly name: string
  /** Of the next call to be held back. */
  readonly probability: Effect.Effect<number>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Its label in the metrics. Default "default", under which only the counters are kept: it may be one of many. */
  readonly name?: string | undefined
  /** So many calls are sent for each that is accepted, 1 to 100: the K of the SRE book. Default 2. */
  readonly multiplier?: number | undefined
  /** How far back is counted, at least 10 milliseconds. Default 2 minutes. */
  readonly window?: Duration.DurationInput | undefined
  /** The probability is never higher, 0 to 1. Default 1, where the formula alone decides. */
  readonly maxProbability?: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface ThrottledOptions<E> {
  /**
   * Whether an error is a refusal by overload; any other has been accepted. Default: every error is. Of an error that is the caller's
   * own fault, say that it is not.
   */
  readonly isOverload?: ((error: E) => boolean) | undefined
}

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

/**
 * A throttle of its own, for all calls to one dependency.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { AdaptiveThrottle } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const throttle = yield* AdaptiveThrottle.make({ multiplier: 2 })
 *   const call = (answer: Effect.Effect<string, "overloaded">) => Effect.exit(AdaptiveThrottle.throttled(answer, throttle))
 *   for (let i = 0; i < 10; i++) yield* call(Effect.succeed("answer"))
 *   return yield* throttle.probability
 * })
 * console.log(await Effect.runPromise(program)) // 0
 * ```
 * @category make
 * @since 0.1.0
 */
export const make: (options?: Options) => Effect.Effect<AdaptiveThrottle> = (options) => Internal.make(options)

// -----------------------------------------------------------------------------
// layers
// -----------------------------------------------------------------------------

/**
 * The class that {@link Tag} makes.
 *
 * @category layers
 * @since 0.1.0
 */
export interface TagClass<Self, Id extends string> extends Context.TagClass<Self, Id, AdaptiveThrottle> {
  /** A throttle that lives as long as the layer. A layer that is provided twice is two throttles. */
  readonly layer: (options?: Omit<Options, "name">) => Layer.Layer<Self>
  /** As `layer`, from the configuration; a wrong value fails and names its key. */
  readonly layerConfig: (options: Config.Config.Wrap<Omit<Options, "name">>) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * The throttle of one dependency, as a service.
 *
 * @example
 * ```ts
 * import { AdaptiveThrottle } from "@breakwater/resilience"
 * import { Config } from "effect"
 *
 * class PaymentsThrottle extends AdaptiveThrottle.Tag("PaymentsThrottle")<PaymentsThrottle>() {}
 *
 * const fixedHere = PaymentsThrottle.layer({ multiplier: 1.5 })
 * const fromTheEnvironment = PaymentsThrottle.layerConfig({ multiplier: Config.number("PAYMENTS_THROTTLE") })
 * ```
 * @category layers
 * @since 0.1.0
 */
export const Tag =
  <const Id extends string>(id: Id) =>
  <Self>(): TagClass<Self, Id> =>
    serviceTag<Self, Id, AdaptiveThrottle, Omit<Options, "name"> | undefined>(id, (options) => make({ ...options, name: id }))

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Runs an effect unless the throttle holds it back, and tells it the outcome. A success has been accepted, and so has an error that
 * is no overload. Interruption, a defect and a local refusal further in say nothing of the dependency.
 *
 * @example
 * ```ts
 * import { AdaptiveThrottle } from "@breakwater/resilience"
 * import { Data, Effect } from "effect"
 *
 * class Overloaded extends Data.TaggedError("Overloaded") {}
 * class NotFound extends Data.TaggedError("NotFound") {}
 *
 * declare const get: (key: string) => Effect.Effect<string, Overloaded | NotFound>
 *
 * const program = Effect.gen(function* () {
 *   const throttle = yield* AdaptiveThrottle.make()
 *   return yield* get("key").pipe(AdaptiveThrottle.throttled(throttle, { isOverload: (error) => error._tag === "Overloaded" }))
 * })
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const throttled: {
  (throttle: AdaptiveThrottle): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Throttled, R>
  <E>(
    throttle: AdaptiveThrottle,
    options: ThrottledOptions<E>
  ): <A, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Throttled, R>
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    throttle: AdaptiveThrottle,
    options?: ThrottledOptions<NoInfer<E>>
  ): Effect.Effect<A, E | Throttled, R>
} = dual(
  (args) => Effect.isEffect(args[0]),
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    throttle: AdaptiveThrottle,
    options: ThrottledOptions<E> = {}
  ): Effect.Effect<A, E | Throttled, R> => {
    const isOverload = options.isOverload ?? (() => true)
    return guarded(self, Internal.guardOf(throttle), (exit) => verdictOf(exit, isOverload))
  }
)
