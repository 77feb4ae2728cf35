/**
 * Bounds how many calls run at the same time, so that a dependency that is slow takes a part of the process and not all of it.
 *
 * ```text
 *              a permit is free
 * call  ------------------------------> runs -----> ends, however: its permit goes to the first that waits
 *   |                                    ^
 *   | none is free      permit           |
 *   +-------------> waits ---------------+
 *   |                 |
 *   | queue-full      | wait-limit
 *   +-----------------+---------------> BulkheadFull
 * ```
 *
 * First come, first served: a permit that becomes free is handed to who has waited longest, and nobody overtakes. Who is interrupted
 * while waiting has left the queue; a permit that was being handed to it goes on to the next.
 *
 * | metric                | kind    | labels               | counts                                                    |
 * | --------------------- | ------- | -------------------- | --------------------------------------------------------- |
 * | `bulkhead_running`    | gauge   | `bulkhead`           | calls that have a permit                                  |
 * | `bulkhead_waiting`    | gauge   | `bulkhead`           | calls in the queue                                        |
 * | `bulkhead_rejections` | counter | `bulkhead`, `reason` | calls that did not run: `queue-full`, `wait-limit`        |
 *
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Layer from "effect/Layer"
import * as Internal from "./internal/bulkhead.js"
import { guarded } from "./internal/guard.js"
import { serviceTag } from "./internal/serviceTag.js"
import type { BulkheadFull } from "./LocalRefusal.js"

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
export type TypeId = "~@breakwater/resilience/Bulkhead"

/**
 * @category models
 * @since 0.1.0
 */
export interface Bulkhead {
  readonly [TypeId]: TypeId
  readonly name: string
  /** How many calls may run at the same time. */
  readonly permits: Effect.Effect<number>
  /** How many have a permit now. */
  readonly running: Effect.Effect<number>
  /** How many are in the queue now. */
  readonly waiting: Effect.Effect<number>
  /**
   * Changes the number of permits. With more of them, as many begin that wait; with fewer, the calls that run go on, and none begins
   * until enough have ended. A wrong number throws `InvalidOption`.
   */
  readonly resize: (permits: number) => Effect.Effect<void>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Its label in the metrics. Default "default", under which only the counters are kept: it may be one of many. */
  readonly name?: string | undefined
  /** How many calls may run at the same time, at least 1. */
  readonly permits: number
  /** How many more may wait; `Infinity` without a bound. Default 0. */
  readonly queue?: number | undefined
  /** How long a call waits at most, at least 1 millisecond. Default: no limit. */
  readonly maxWait?: Duration.DurationInput | undefined
}

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

/**
 * A bulkhead of its own.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Bulkhead } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const bulkhead = yield* Bulkhead.make({ permits: 2, queue: 1 })
 *   const call = Bulkhead.withPermit(Effect.as(Effect.sleep("10 millis"), "answer"), bulkhead)
 *   // two run, one waits, one is refused
 *   return yield* Effect.all([call, call, call, Effect.flip(call)], { concurrency: "unbounded" })
 * })
 * const [first, second, third, fourth] = await Effect.runPromise(program)
 * console.log(first, second, third, fourth instanceof Error && fourth.message) // answer answer answer The bulkhead "default" is full
 * ```
 * @category make
 * @since 0.1.0
 */
export const make: (options: Options) => Effect.Effect<Bulkhead> = (options) => Internal.make(options)

// -----------------------------------------------------------------------------
// layers
// -----------------------------------------------------------------------------

/**
 * The class that {@link Tag} makes.
 *
 * @category layers
 * @since 0.1.0
 */
export interface TagClass<Self, Id extends string> extends Context.TagClass<Self, Id, Bulkhead> {
  /** A bulkhead that lives as long as the layer. A layer that is provided twice is two bulkheads. */
  readonly layer: (options: Omit<Options, "name">) => Layer.Layer<Self>
  /** As `layer`, from the configuration; a wrong value fails and names its key. */
  readonly layerConfig: (options: Config.Config.Wrap<Omit<Options, "name">>) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * The bulkhead of one dependency, as a service.
 *
 * @example
 * ```ts
 * import { Bulkhead } from "@breakwater/resilience"
 * import { Config, Effect } from "effect"
 *
 * class PaymentsBulkhead extends Bulkhead.Tag("PaymentsBulkhead")<PaymentsBulkhead>() {}
 *
 * declare const charge: (order: string) => Effect.Effect<string, "unavailable">
 *
 * const program = Effect.flatMap(PaymentsBulkhead, (bulkhead) => Bulkhead.withPermit(charge("order 7"), bulkhead))
 *
 * const fixedHere = Effect.provide(program, PaymentsBulkhead.layer({ permits: 20, queue: 40, maxWait: "1 second" }))
 * const fromTheEnvironment = Effect.provide(
 *   program,
 *   PaymentsBulkhead.layerConfig({ permits: Config.integer("PAYMENTS_PERMITS"), queue: Config.succeed(40) })
 * )
 * ```
 * @category layers
 * @since 0.1.0
 */
export const Tag =
  <const Id extends string>(id: Id) =>
  <Self>(): TagClass<Self, Id> =>
    serviceTag<Self, Id, Bulkhead, Omit<Options, "name">>(id, (options) => make({ ...options, name: id }))

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Runs an effect when the bulkhead has a permit for it, and gives the permit back when it has ended, however it ends. Where a permit
 * is free that costs no fiber and no timer.
 *
 * An effect that asks for a second permit of the same bulkhead may wait for itself.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withPermit: {
  (bulkhead: Bulkhead): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | BulkheadFull, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, bulkhead: Bulkhead): Effect.Effect<A, E | BulkheadFull, R>
} = dual(2, <A, E, R>(self: Effect.Effect<A, E, R>, bulkhead: Bulkhead) =>
  guarded(self, Internal.guardOf(bulkhead), () => "ignored")
)
