/**
 * All of it around one dependency, in the one order in which the parts do not work against each other.
 *
 * ```text
 * deadline > nesting guard > retry > throttle > breaker > bulkhead > attempt time-out > call
 * ```
 *
 * | part             | why it stands there                                                                             |
 * | ---------------- | ----------------------------------------------------------------------------------------------- |
 * | deadline         | bounds all attempts, the waits between them and the wait for a permit                           |
 * | nesting guard    | inside of another retry there is one attempt, which still has to pass everything further in    |
 * | retry            | asks everything further in anew for each attempt, the budget last before it waits               |
 * | throttle         | sees what the dependency answers to each attempt; what is refused further in is not its business  |
 * | breaker          | sees every attempt, so that it opens after as many failures as it says                          |
 * | bulkhead         | holds a permit for an attempt, and not while the retry waits                                    |
 * | attempt time-out | is of the call alone: waiting for a permit is no slowness of the dependency                     |
 *
 * What one part refuses, the parts around it ignore: a full bulkhead opens no breaker, an open breaker costs no retry budget. It ends
 * the operation at once, with the refusal where nothing has been sent, and else with the last error of the dependency.
 *
 * | how an attempt ended                    | retry               | budget  | throttle | breaker | adaptive time-out |
 * | --------------------------------------- | ------------------- | ------- | -------- | ------- | ----------------- |
 * | success                                 | ends                | success | accepted | success | learns            |
 * | an error that `while` holds for         | retries             | failure | overload | failure | nothing           |
 * | any other error                         | ends                | ignored | accepted | ignored | nothing           |
 * | cut by the attempt time-out             | if `idempotent`     | failure | overload | failure | learns            |
 * | cut by the deadline, all of which it had | ends               | ignored | overload | failure | nothing           |
 * | cut by the deadline, with less time     | ends                | ignored | ignored  | ignored | nothing           |
 * | a defect                                | ends                | ignored | ignored  | failure | nothing           |
 * | interrupted; refused further in         | ends                | ignored | ignored  | ignored | nothing           |
 *
 * `isFailure` takes the place of `while` for throttle and breaker. Each part is left out where its option is.
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import type * as Types from "effect/Types"
import * as AdaptiveThrottle from "./AdaptiveThrottle.js"
import * as AttemptTimeout from "./AttemptTimeout.js"
import * as Bulkhead from "./Bulkhead.js"
import * as CircuitBreaker from "./CircuitBreaker.js"
import type { DeadlineExceeded } from "./Deadline.js"
import * as Throttles from "./internal/adaptiveThrottle.js"
import * as Bulkheads from "./internal/bulkhead.js"
import * as Breakers from "./internal/circuitBreaker.js"
import { fromConfig } from "./internal/config.js"
import { type Guard, inOrder } from "./internal/guard.js"
import { limitOption } from "./internal/limitOption.js"
import * as Budgets from "./internal/retryBudget.js"
import * as Loop from "./internal/retryLoop.js"
import { serviceTag } from "./internal/serviceTag.js"
import * as Keyed from "./Keyed.js"
import type { BulkheadFull, CircuitOpen, Throttled } from "./LocalRefusal.js"
import type * as Retry from "./Retry.js"
import * as RetryBudget from "./RetryBudget.js"
import type { Nested } from "./RetryScope.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export const TypeId: TypeId = "~@breakwater/resilience/Policy"

/**
 * @category models
 * @since 0.1.0
 */
export type TypeId = "~@breakwater/resilience/Policy"

/**
 * A policy for effects that fail with `E`. Its parts are there to be watched and steered: isolate the breaker, resize the bulkhead.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy<in E> {
  readonly [TypeId]: Types.Contravariant<E>
  readonly name: string
  readonly throttle: Option.Option<AdaptiveThrottle.AdaptiveThrottle>
  readonly breaker: Option.Option<CircuitBreaker.CircuitBreaker>
  readonly bulkhead: Option.Option<Bulkhead.Bulkhead>
  readonly budget: Option.Option<RetryBudget.RetryBudget>
}

/**
 * What a protected effect can fail with.
 *
 * @category models
 * @since 0.1.0
 */
export type Failure<E> =
  | E
  | AttemptTimeout.AttemptTimedOut
  | DeadlineExceeded<E | AttemptTimeout.AttemptTimedOut>
  | CircuitOpen
  | BulkheadFull
  | Throttled

/**
 * What is the same for every key of a keyed policy, and not a part with a state.
 *
 * @category models
 * @since 0.1.0
 */
export interface Common<E> {
  /** In metrics, logs and spans, of all parts. Default "default". */
  readonly name?: string | undefined
  /** When to come back, and how often; it sees the caller's errors only. Default: no retry. */
  readonly schedule?: Schedule.Schedule<unknown, E> | undefined
  /** Which errors are worth a retry. Default: all. */
  readonly while?: ((error: E) => boolean) | undefined
  /** Which errors are the dependency's, and so count for breaker and throttle. Default: those that are worth a retry. */
  readonly isFailure?: ((error: E) => boolean) | undefined
  /** Whether the operation may be repeated though an attempt that was cut may have been applied. Default true. */
  readonly idempotent?: boolean | undefined
  /** The time limit of the whole. Default: none but that of a `Deadline.within` around it. */
  readonly deadline?: Duration.DurationInput | undefined
  /** No attempt is begun with less time left. Default 0; with an adaptive attempt time-out the median of what attempts take. */
  readonly minimumAttemptTime?: Duration.DurationInput | undefined
  /** What a retry of an error costs the budget. Default `failure`; a time-out is a `timeout`. */
  readonly kind?: ((error: E) => RetryBudget.Kind) | undefined
  /** What to do inside of another retry. Default `single-attempt`. */
  readonly nested?: Exclude<Nested, "fail"> | undefined
  /** Whether to log: a failure that is retried at level info, one that is final at level error. Default true. */
  readonly log?: boolean | undefined
}

/**
 * A policy as data, all of whose parts are its own.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings<E> extends Common<E> {
  /** The time limit of each call, or options of one that follows the latency. Default: none. */
  readonly attemptTimeout?: Duration.DurationInput | AttemptTimeout.AdaptiveOptions | undefined
  /** Grants each retry, as the last one that is asked. Default: no limit. */
  readonly budget?: RetryBudget.Ledger | undefined
  readonly throttle?: Omit<AdaptiveThrottle.Options, "name"> | undefined
  readonly breaker?: Omit<CircuitBreaker.Options, "name"> | undefined
  readonly bulkhead?: Omit<Bulkhead.Options, "name"> | undefined
}

/**
 * As {@link Settings}, and where a part stands, also one that was made elsewhere and may be shared: the service itself, or an effect
 * that gives it, such as its tag.
 *
 * @category models
 * @since 0.1.0
 */
export type Options<E> = Common<E> & { readonly [P in Part]?: Settings<E>[P] | Given<Services[P]> | undefined }

/** The parts of a policy that have a state. */
type Part = keyof Services

interface Services {
  readonly attemptTimeout: AttemptTimeout.AttemptTimeout
  readonly budget: RetryBudget.RetryBudget
  readonly throttle: AdaptiveThrottle.AdaptiveThrottle
  readonly breaker: CircuitBreaker.CircuitBreaker
  readonly bulkhead: Bulkhead.Bulkhead
}

type Given<Service> = Service | Effect.Effect<Service, never, unknown>

/**
 * What these options need from the context.
 *
 * @category models
 * @since 0.1.0
 */
export type Requirements<O> = { readonly [P in keyof O & Part]: Needs<O[P]> }[keyof O & Part]

type Needs<Given> = Given extends Effect.Effect<unknown, never, infer R> ? R : never

/**
 * The errors that options look at: what an effect may fail with that the policy protects.
 *
 * @category models
 * @since 0.1.0
 */
export type Errors<O> = Retry.Errors<O> & (O extends { readonly isFailure: (error: infer E) => unknown } ? E : unknown)
// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

const where = "Policy.make"

type Parts = { readonly [P in Part]?: Services[P] | undefined }

/** Which errors it is for stands in the types alone. */
class Made implements Policy<unknown> {
  readonly [TypeId] = variance
  readonly loop: Loop.Policy

  constructor(
    base: Loop.Policy,
    private readonly parts: Parts
  ) {
    const { attemptTimeout, breaker, budget, bulkhead, throttle } = parts
    const guards: Array<Guard> = []
    if (throttle !== undefined) guards.push(Throttles.guardOf(throttle))
    if (breaker !== undefined) guards.push(Breakers.guardOf(breaker))
    if (bulkhead !== undefined) guards.push(Bulkheads.guardOf(bulkhead))
    this.loop = { ...base, attemptTimeout, budget, guard: inOrder(guards) }
  }

  get name(): string {
    return this.loop.name
  }
  get throttle(): Policy<unknown>["throttle"] {
    return Option.fromNullable(this.parts.throttle)
  }
  get breaker(): Policy<unknown>["breaker"] {
    return Option.fromNullable(this.parts.breaker)
  }
  get bulkhead(): Policy<unknown>["bulkhead"] {
    return Option.fromNullable(this.parts.bulkhead)
  }
  get budget(): Policy<unknown>["budget"] {
    return Option.fromNullable(this.parts.budget)
  }
}

const variance: Types.Contravariant<unknown> = () => undefined

/**
 * A policy of its own. A wrong option throws `InvalidOption`, which names the part: `breaker.jitter`.
 *
 * @example
 * ```ts
 * import { CircuitBreaker, Policy, RetryBudget } from "@breakwater/resilience"
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const policy = yield* Policy.make({
 *     name: "payments",
 *     schedule: Backoff.exponential({ base: "100 millis" }).pipe(Jitter.full, Limit.attempts(3)),
 *     attemptTimeout: "2 seconds",
 *     deadline: "10 seconds",
 *     budget: RetryBudget.ratio({ percent: 10 }),
 *     breaker: { tripPolicy: CircuitBreaker.failureRate({ threshold: 0.5, window: "10 seconds", minimumCalls: 20 }) },
 *     bulkhead: { permits: 20, queue: 50 }
 *   })
 *   return yield* Policy.protect(Effect.succeed("answer"), policy)
 * })
 * console.log(await Effect.runPromise(program)) // answer
 * ```
 * @category make
 * @since 0.1.0
 */
export const make = <const O extends Options<never>>(options: O): Effect.Effect<Policy<Errors<O>>, never, Requirements<O>> =>
  made(options, false) as Effect.Effect<Policy<Errors<O>>, never, Requirements<O>>

/** Everything is checked here; what comes is made of it. `many` are going to share their name. */
const made = (options: Options<never>, many: boolean): Effect.Effect<Policy<unknown>, never, unknown> => {
  const { isFailure, schedule = Schedule.recurs(0), ...common } = options
  const base = Loop.makePolicy(where, { ...common, schedule, attemptTimeout: undefined, budget: undefined }, isFailure)
  const { name } = base
  const parts = Effect.all({
    attemptTimeout: part(options, "attemptTimeout", (limit) =>
      isAdaptive(limit)
        ? AttemptTimeout.adaptive(limit)
        : Effect.succeed(AttemptTimeout.fixed(Duration.millis(limitOption(where, "attemptTimeout", limit, 1))))
    ),
    budget: part(options, "budget", (ledger) => Budgets.make(ledger, name, many)),
    throttle: part(options, "throttle", (throttle) => Throttles.make({ ...throttle, name }, many)),
    breaker: part(options, "breaker", (breaker) => Breakers.make({ ...breaker, name }, many)),
    bulkhead: part(options, "bulkhead", (bulkhead) => Bulkheads.make({ ...bulkhead, name }, many))
  })
  return Effect.map(parts, (parts) => new Made(base, parts))
}

const typeIds: { readonly [P in Part]: string } = {
  attemptTimeout: AttemptTimeout.TypeId,
  budget: RetryBudget.TypeId,
  throttle: AdaptiveThrottle.TypeId,
  breaker: CircuitBreaker.TypeId,
  bulkhead: Bulkhead.TypeId
}

/** A part that is there already, that an effect gives, or that is made of its options. */
const part = <P extends Part>(
  options: Options<never>,
  field: P,
  make: (settings: NonNullable<Settings<never>[P]>) => Effect.Effect<Services[P]>
): Effect.Effect<Services[P] | undefined, never, unknown> => {
  const input: unknown = options[field]
  if (input === undefined) return Effect.succeed(undefined)
  if (Effect.isEffect(input)) return input as Effect.Effect<Services[P]>
  if (Predicate.hasProperty(input, typeIds[field])) return Effect.succeed(input as unknown as Services[P])
  try {
    return make(input as NonNullable<Settings<never>[P]>)
  } catch (error) {
    if (!(error instanceof InvalidOption.InvalidOption) || error.where === where) throw error
    throw new InvalidOption.InvalidOption(where, `${field}.${error.field}`, error.rule, error.value)
  }
}

const isAdaptive = (limit: Duration.DurationInput | AttemptTimeout.AdaptiveOptions): limit is AttemptTimeout.AdaptiveOptions =>
  typeof limit === "object" && !Duration.isDuration(limit) && !Array.isArray(limit)

/** The parts that effects give are given to every key: those are shared, and looked up once. */
const given = (options: Options<never>): Effect.Effect<Options<never>, never, unknown> => {
  const effects = Object.entries(options).filter(([, input]) => Effect.isEffect(input)) as Array<
    [string, Effect.Effect<unknown>]
  >
  return Effect.map(Effect.all(Object.fromEntries(effects)), (services) => ({ ...options, ...services }))
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
export interface TagClass<Self, Id extends string, E> extends Context.TagClass<Self, Id, Policy<E>> {
  /** Protects effects that fail with nothing but `E`. */
  readonly protect: <A, E1 extends E, R>(self: Effect.Effect<A, E1, R>) => Effect.Effect<A, Failure<E1>, R | Self>
  /** A policy that lives as long as the layer. All who share the layer share it; a layer that is provided twice is two. */
  readonly layer: <const O extends Omit<Options<E>, "name">>(options: O) => Layer.Layer<Self, never, Requirements<O>>
  /** As `layer`, from the configuration; a wrong value fails and names its key. */
  readonly layerConfig: (settings: Config.Config.Wrap<Omit<Settings<E>, "name">>) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * The policy of one dependency, as a service; its name is that of the tag.
 *
 * @example
 * ```ts
 * import { CircuitBreaker, Policy } from "@breakwater/resilience"
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Config, Data, Effect } from "effect"
 *
 * class ApiError extends Data.TaggedError("ApiError")<{ readonly status: number }> {}
 *
 * class Payments extends Policy.Tag("Payments")<Payments, ApiError>() {}
 *
 * declare const charge: (order: string) => Effect.Effect<string, ApiError>
 *
 * const program = (order: string) =>
 *   charge(order).pipe(
 *     Payments.protect,
 *     Effect.catchTag("CircuitOpen", () => Effect.succeed("accepted, to be charged later"))
 *   )
 *
 * const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Jitter.full, Limit.attempts(3))
 *
 * const fixedHere = Payments.layer({
 *   schedule,
 *   while: (error) => error.status >= 500,
 *   attemptTimeout: "2 seconds",
 *   breaker: { tripPolicy: CircuitBreaker.consecutive(5), openDuration: "5 seconds" }
 * })
 * const fromTheEnvironment = Payments.layerConfig({
 *   schedule: Config.succeed(schedule),
 *   attemptTimeout: Config.duration("PAYMENTS_TIMEOUT"),
 *   bulkhead: { permits: Config.integer("PAYMENTS_PERMITS"), queue: Config.succeed(50) }
 * })
 * ```
 * @category layers
 * @since 0.1.0
 */
export const Tag =
  <const Id extends string>(id: Id) =>
  <Self, E>(): TagClass<Self, Id, E> =>
    class extends serviceTag<Self, Id, Policy<E>, Options<never>>(id, (options) => made({ ...options, name: id }, false)) {
      static readonly protect = <A, R>(self: Effect.Effect<A, never, R>) =>
        Effect.flatMap(this, (policy: Policy<E>) => protect(self, policy))
    } as unknown as TagClass<Self, Id, E>

/**
 * The class that {@link KeyedTag} makes.
 *
 * @category layers
 * @since 0.1.0
 */
export interface KeyedTagClass<Self, Id extends string, E, Key> extends Context.TagClass<
  Self,
  Id,
  Keyed.Keyed<Key, Policy<E>>
> {
  /** Protects effects that fail with nothing but `E`, by the policy of a key. */
  readonly protect: {
    (key: Key): <A, E1 extends E, R>(self: Effect.Effect<A, E1, R>) => Effect.Effect<A, Failure<E1>, R | Self>
    <A, E1 extends E, R>(self: Effect.Effect<A, E1, R>, key: Key): Effect.Effect<A, Failure<E1>, R | Self>
  }
  /** Uses the policy of a key, to watch or to steer it. */
  readonly use: <A, E1, R>(key: Key, use: (policy: Policy<E>) => Effect.Effect<A, E1, R>) => Effect.Effect<A, E1, R | Self>
  /** Policies that live as long as the layer. Parts given as options are each key's own, parts given as services are shared. */
  readonly layer: <const O extends Omit<Options<E>, "name">>(
    options: O,
    keyed?: Keyed.Options
  ) => Layer.Layer<Self, never, Requirements<O>>
  /** As `layer`, from the configuration; a wrong value fails and names its key. */
  readonly layerConfig: (
    settings: Config.Config.Wrap<Omit<Settings<E>, "name">>,
    keyed?: Keyed.Options
  ) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * A policy for each key, such as a host or a tenant; see {@link Keyed} for how many there are and for how long. All have the name of
 * the tag, and tell no gauges: those would be one for all.
 *
 * @example
 * ```ts
 * import { CircuitBreaker, Policy, RetryBudget } from "@breakwater/resilience"
 * import { Effect, Schedule } from "effect"
 *
 * class Tenants extends Policy.KeyedTag("Tenants")<Tenants, "unavailable">() {}
 * class SharedBudget extends RetryBudget.Tag("SharedBudget")<SharedBudget>() {}
 *
 * declare const load: (tenant: string) => Effect.Effect<string, "unavailable">
 *
 * const program = (tenant: string) => load(tenant).pipe(Tenants.protect(tenant))
 *
 * // a breaker and a bulkhead for each tenant, one retry budget for all of them
 * const layer = Tenants.layer(
 *   {
 *     schedule: Schedule.recurs(2),
 *     budget: SharedBudget,
 *     breaker: { tripPolicy: CircuitBreaker.consecutive(5) },
 *     bulkhead: { permits: 10 }
 *   },
 *   { maxKeys: 10_000 }
 * )
 * ```
 * @category layers
 * @since 0.1.0
 */
export const KeyedTag =
  <const Id extends string>(id: Id) =>
  <Self, E, Key = string>(): KeyedTagClass<Self, Id, E, Key> =>
    class extends Context.Tag(id)<Self, Keyed.Keyed<Key, Policy<E>>>() {
      static use<A, E1, R>(key: Key, use: (policy: Policy<E>) => Effect.Effect<A, E1, R>) {
        return Effect.flatMap(this, (policies: Keyed.Keyed<Key, Policy<E>>) => policies.use(key, use))
      }
      static readonly protect = dual(2, <A, R>(self: Effect.Effect<A, never, R>, key: Key) =>
        this.use(key, (policy) => protect(self, policy))
      )
      static layer(options: Options<never>, keyed?: Keyed.Options) {
        const named = { ...options, name: id }
        // A wrong option is found where it is written, not where the layer is built.
        made(named, true)
        return Layer.effect(
          this,
          Effect.flatMap(given(named), (options) => Keyed.make<Key, Policy<E>, unknown>(made(options, true), keyed))
        )
      }
      static layerConfig(settings: Config.Config.Wrap<NonNullable<Settings<never>>>, keyed?: Keyed.Options) {
        const fromSettings = (settings: Settings<never>) =>
          Keyed.make<Key, Policy<E>, unknown>(made({ ...settings, name: id }, true), keyed)
        return Layer.effect(this, Effect.flatten(fromConfig(settings, fromSettings)))
      }
    } as unknown as KeyedTagClass<Self, Id, E, Key>

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Runs an effect under a policy.
 *
 * @category combinators
 * @since 0.1.0
 */
export const protect: {
  <E>(policy: Policy<E>): <A, E1 extends E, R>(self: Effect.Effect<A, E1, R>) => Effect.Effect<A, Failure<E1>, R>
  <A, E, E1 extends E, R>(self: Effect.Effect<A, E1, R>, policy: Policy<E>): Effect.Effect<A, Failure<E1>, R>
} = dual(2, (self: Effect.Effect<unknown, unknown, unknown>, policy: Policy<never>) => Loop.run(self, (policy as Made).loop))

/**
 * As {@link protect}, and gives the account of the operation instead of its outcome, which is in it: how many attempts reached the
 * wire, and why there was no further one. It never fails; interrupted it is interrupted.
 *
 * @category combinators
 * @since 0.1.0
 */
export const report: {
  <E>(
    policy: Policy<E>
  ): <A, E1 extends E, R>(self: Effect.Effect<A, E1, R>) => Effect.Effect<Retry.Report<A, Failure<E1>>, never, R>
  <A, E, E1 extends E, R>(
    self: Effect.Effect<A, E1, R>,
    policy: Policy<E>
  ): Effect.Effect<Retry.Report<A, Failure<E1>>, never, R>
} = dual(2, (self: Effect.Effect<unknown, unknown, unknown>, policy: Policy<never>) => Loop.report(self, (policy as Made).loop))
