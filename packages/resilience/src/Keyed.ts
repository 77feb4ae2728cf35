/**
 * One breaker, bulkhead or policy for each key, such as a host or a tenant: made when the key is first asked for, kept while it is in
 * use, and let go when nobody has asked for it in a while.
 *
 * ```text
 * use(key) ---> known: its service, in use until the effect has ended
 *         |
 *         +---> unknown ---> room, or somebody idle to make room: one of its own
 *                       +--> no room: the one that newcomers share
 * ```
 *
 * The number of keys is bounded, and no call fails for it: at the bound the one that has been idle longest makes room, and if none is
 * idle, newcomers share one service. That it is bounded matters where keys come from outside. What use costs does not depend on how
 * many keys there are, and there is no timer.
 *
 * @since 0.1.0
 */
import { InvalidOption, KeyedEntries } from "@breakwater/core"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { limitOption } from "./internal/limitOption.js"
import { masked } from "./internal/masked.js"
import * as Monotonic from "./internal/monotonic.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export const TypeId: TypeId = "~@breakwater/resilience/Keyed"

/**
 * @category models
 * @since 0.1.0
 */
export type TypeId = "~@breakwater/resilience/Keyed"

/**
 * @category models
 * @since 0.1.0
 */
export interface Keyed<in Key, out Service> {
  readonly [TypeId]: TypeId
  /** Uses the service of a key, which stays that key's until the effect has ended, however it ends. */
  readonly use: <A, E, R>(key: Key, use: (service: Service) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** How many keys have a service of their own. */
  readonly size: Effect.Effect<number>
  /** How many services are in use now, the one that newcomers share included. */
  readonly inUse: Effect.Effect<number>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How many keys have a service of their own at a time. Default 1,000. */
  readonly maxKeys?: number | undefined
  /** How long a key that nobody uses keeps its service, and so what that remembers. Default 5 minutes. */
  readonly idleTimeToLive?: Duration.DurationInput | undefined
}

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

/** Of a key: nothing until its first use has made it. */
interface Slot<Service> {
  service: Service | undefined
}

class Registry<Key, Service> implements Keyed<Key, Service> {
  readonly [TypeId]: TypeId = TypeId

  constructor(
    private readonly entries: KeyedEntries.KeyedEntries<Key, Slot<Service>>,
    private readonly make: Effect.Effect<Service>
  ) {}

  readonly size: Effect.Effect<number> = Effect.sync(() => this.entries.size)
  readonly inUse: Effect.Effect<number> = Effect.sync(() => this.entries.inUse)

  use<A, E, R>(key: Key, use: (service: Service) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return masked((fiber, restore) => {
      const clock = Monotonic.clockOf(fiber)
      const entry = this.entries.acquire(key, Monotonic.unsafeNow(clock))
      return Effect.flatMap(Effect.exit(restore(this.used(entry.value, use))), (exit) => {
        this.entries.release(entry, Monotonic.unsafeNow(clock))
        return exit
      })
    })
  }

  private used<A, E, R>(slot: Slot<Service>, use: (service: Service) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() =>
      slot.service !== undefined
        ? use(slot.service)
        : // Whoever is first with it makes it for all that wait for theirs.
          Effect.flatMap(this.make, (made) => use((slot.service ??= made)))
    )
  }
}

/**
 * A registry of what an effect makes, which is run once for each key. A wrong option throws `InvalidOption`.
 *
 * Give what is made no name: under one name each would overwrite the gauges of the others, and a name for each key makes as many
 * metrics as there are keys.
 *
 * @example
 * ```ts
 * import { CircuitBreaker, Keyed } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const breakers = yield* Keyed.make<string, CircuitBreaker.CircuitBreaker>(
 *     CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1) })
 *   )
 *   const call = (host: string) => breakers.use(host, (breaker) => CircuitBreaker.execute(Effect.fail("down"), breaker))
 *   return [yield* Effect.flip(call("a")), yield* Effect.flip(call("b"))]
 * })
 * console.log(await Effect.runPromise(program)) // [ 'down', 'down' ]
 * ```
 * @category make
 * @since 0.1.0
 */
export const make = <Key, Service, R = never>(
  service: Effect.Effect<Service, never, R>,
  options: Options = {}
): Effect.Effect<Keyed<Key, Service>, never, R> => {
  const where = "Keyed.make"
  const maxKeys = InvalidOption.count(where, "maxKeys", options.maxKeys ?? 1000, 1)
  const idleTimeToLive = limitOption(where, "idleTimeToLive", options.idleTimeToLive ?? "5 minutes")
  return Effect.map(Effect.context<R>(), (context) => {
    const slot = (): Slot<Service> => ({ service: undefined })
    const entries = new KeyedEntries.KeyedEntries<Key, Slot<Service>>({ where, make: slot, maxKeys, idleTimeToLive })
    return new Registry(entries, Effect.provide(service, context))
  })
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
export interface TagClass<Self, Id extends string, Key, Service> extends Context.TagClass<Self, Id, Keyed<Key, Service>> {
  /** Uses the service of a key. */
  readonly use: <A, E, R>(key: Key, use: (service: Service) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | Self>
  /** Services that live as long as the layer. A layer that is provided twice is two registries. */
  readonly layer: <R = never>(make: Effect.Effect<Service, never, R>, options?: Options) => Layer.Layer<Self, never, R>
}

/**
 * A registry as a service.
 *
 * @example
 * ```ts
 * import { Bulkhead, Keyed } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * // no tenant has more than ten calls under way
 * class Tenants extends Keyed.Tag("Tenants")<Tenants, string, Bulkhead.Bulkhead>() {}
 *
 * declare const search: (words: string) => Effect.Effect<ReadonlyArray<string>, "unavailable">
 *
 * const program = Tenants.use("tenant 7", (bulkhead) => Bulkhead.withPermit(search("breakwater"), bulkhead))
 *
 * const runnable = Effect.provide(program, Tenants.layer(Bulkhead.make({ permits: 10, queue: 20 }), { maxKeys: 10_000 }))
 * ```
 * @category layers
 * @since 0.1.0
 */
export const Tag =
  <const Id extends string>(id: Id) =>
  <Self, Key, Service>(): TagClass<Self, Id, Key, Service> =>
    class extends Context.Tag(id)<Self, Keyed<Key, Service>>() {
      static use<A, E, R>(key: Key, use: (service: Service) => Effect.Effect<A, E, R>) {
        return Effect.flatMap(this, (keyed: Keyed<Key, Service>) => keyed.use(key, use))
      }
      static layer<R = never>(service: Effect.Effect<Service, never, R>, options?: Options) {
        return Layer.effect(this, make<Key, Service, R>(service, options))
      }
    } as unknown as TagClass<Self, Id, Key, Service>
