/**
 * Bounds what all calls of a client together add to an outage. A limit on attempts bounds one request: with three attempts each, a
 * dependency that fails gets three times its load. A budget of 10 % makes it 1.1 times.
 *
 * ```text
 * operation starts ----------> deposits        (ratio, in flight)
 * attempt settles -----------> gives, takes    (tokens, throttle)
 * retry wanted   ---> granted: a permit ---> the retry settles: used up
 *                 |                    +---> never sent: given back, once
 *                 +-> refused: the last error, at once
 * ```
 *
 * A budget is as large as what shares it: one layer that many clients share is one budget, a layer that is provided twice is two.
 *
 * @since 0.1.0
 */
import { KeyedEntries, RetryBudget as Rule } from "@breakwater/core"
import { DurationOption, ScheduleStep } from "@breakwater/schedule"
import * as Cause from "effect/Cause"
import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { dual } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Accounts from "./internal/budgetAccounts.js"
import { fromConfig } from "./internal/config.js"
import * as Monotonic from "./internal/monotonic.js"
import * as Internal from "./internal/retryBudget.js"
import { isLocalRefusal } from "./LocalRefusal.js"
import * as RetryMetrics from "./RetryMetrics.js"

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
export type TypeId = "~@breakwater/resilience/RetryBudget"

/**
 * Of the failure that is to be retried: some ledgers charge them differently.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = Rule.Kind

/**
 * Of an attempt. `ignored` is what says nothing of the dependency: interrupted, refused on this side, not worth a retry.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = Rule.Outcome

/**
 * What a budget keeps its account in; see {@link ratio}, {@link tokens}, {@link throttle}, {@link inFlight}, {@link fixedRate}.
 *
 * @category models
 * @since 0.1.0
 */
export type Ledger = Rule.Ledger

/**
 * The right to one retry. It is used up by the attempt it was granted for, or given back, once; a second time changes nothing.
 *
 * @category models
 * @since 0.1.0
 */
export interface Permit {
  /** Whether it has been used up or given back. */
  readonly spent: boolean
}

/**
 * A budget. `Retry` keeps the protocol; the unsafe verbs are for a retry loop of your own. Each is one step, at a time `now` in
 * monotonic milliseconds: `started` and `ended` once for each operation, `settled` for each attempt that reached the wire, `retry`
 * for each that is wanted after the first, `returned` for a permit whose retry was never sent.
 *
 * @category models
 * @since 0.1.0
 */
export interface RetryBudget {
  readonly [TypeId]: TypeId
  readonly name: string
  /** How many retries it would grant now, one after the other; `Infinity` without a bound. */
  readonly balance: Effect.Effect<number>
  readonly unsafeStarted: (now: number) => void
  readonly unsafeSettled: (outcome: Outcome, permit: Permit | undefined, now: number) => void
  readonly unsafeEnded: (now: number) => void
  readonly unsafeRetry: (kind: Kind, now: number) => Permit | undefined
  readonly unsafeReturned: (permit: Permit, now: number) => void
}

/**
 * A budget for each key.
 *
 * @category models
 * @since 0.1.0
 */
export interface Keyed<Key> {
  /** The budget of a key, for an operation or for many. */
  readonly forKey: (key: Key) => RetryBudget
  /** How many keys have a budget now. */
  readonly size: Effect.Effect<number>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface KeyedOptions {
  /** How many keys have a budget of their own at a time. Default 1,000. */
  readonly maxKeys?: number | undefined
  /** How long a key without operations keeps its budget. Default 5 minutes. */
  readonly idleTimeToLive?: Duration.DurationInput | undefined
}

// -----------------------------------------------------------------------------
// ledgers
// -----------------------------------------------------------------------------

/**
 * @category ledgers
 * @since 0.1.0
 */
export interface RatioOptions {
  /** Retries as a share of the operations, in percent, 0 to 1000. Default 10. */
  readonly percent?: number | undefined
  /** Retries a second that are granted on top, so that a client with little traffic has some. Default 1. */
  readonly reservePerSecond?: number | undefined
  /** How far back is counted. Default 10 seconds. */
  readonly window?: Duration.DurationInput | undefined
  /** What the percentage is of: the operations, or all attempts, retries included. Default "operations". */
  readonly of?: "operations" | "attempts" | undefined
}

/**
 * Retries at most as a share of the operations in a moving window: Finagle's budget, and the 10 % of the SRE book (chapter 21).
 * Under a full outage 10 % of the operations make 1.1 times the load, 10 % of all attempts 1.111 times.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/resilience"
 *
 * const ledger = RetryBudget.ratio({ percent: 10, reservePerSecond: 1 })
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const ratio = (options: RatioOptions = {}): Ledger =>
  Rule.ratio({ ...options, window: DurationOption.toMillisOrUndefined("RetryBudget.ratio", "window", options.window) })

/**
 * @category ledgers
 * @since 0.1.0
 */
export type TokensOptions = Rule.TokensOptions

/**
 * A bucket of tokens: a retry takes some, a success gives some back, and time may refill it. The defaults are the AWS SDK's
 * standard mode of 2026; those before it are `RetryBudget.tokens(RetryBudget.awsStandardBefore2026)`.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/resilience"
 *
 * // ten retries at once, then one a second
 * const ledger = RetryBudget.tokens({
 *   capacity: 10,
 *   cost: { failure: 1, timeout: 1, throttled: 1 },
 *   success: 0,
 *   refund: false,
 *   refillPerSecond: 1
 * })
 * ```
 * @category ledgers
 * @since 0.1.0
 */
export const tokens = (options: TokensOptions = {}): Ledger => Rule.tokens(options)

/**
 * The AWS SDK's standard mode of 2026, as options of {@link tokens}.
 *
 * @category ledgers
 * @since 0.1.0
 */
export const awsStandard: TokensOptions = Rule.awsStandard

/**
 * The AWS SDK's standard mode before 2026, as options of {@link tokens}.
 *
 * @category ledgers
 * @since 0.1.0
 */
export const awsStandardBefore2026: TokensOptions = Rule.awsStandardBefore2026

/**
 * gRPC's `retryThrottling` (gRFC A6): a failure takes a token, a success gives a share of one back, and retries pause while the
 * bucket is not more than half full.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @category ledgers
 * @since 0.1.0
 */
export const throttle = (options: Rule.ThrottleOptions = {}): Ledger => Rule.throttle(options)

/**
 * Envoy's `retry_budget`: retries at the same time at most as a share of the operations in flight, and always a few. Operations
 * that wait for their next attempt are in flight.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @category ledgers
 * @since 0.1.0
 */
export const inFlight = (options: Rule.InFlightOptions = {}): Ledger => Rule.inFlight(options)

/**
 * @category ledgers
 * @since 0.1.0
 */
export interface FixedRateOptions {
  /** Default 60. */
  readonly retries?: number | undefined
  /** Default one minute. */
  readonly per?: Duration.DurationInput | undefined
}

/**
 * Never more than so many retries in any span of so much time, whatever the traffic: the SRE book's 60 a minute for a process
 * (chapter 22).
 *
 * A wrong option throws `InvalidOption`.
 *
 * @category ledgers
 * @since 0.1.0
 */
export const fixedRate = (options: FixedRateOptions = {}): Ledger =>
  Rule.fixedRate({ ...options, per: DurationOption.toMillisOrUndefined("RetryBudget.fixedRate", "per", options.per) })

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

/**
 * A budget of its own. `name` is its label in the metrics, "default" if not given.
 *
 * @example
 * ```ts
 * import { Retry, RetryBudget } from "@breakwater/resilience"
 * import { Effect, Schedule } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const budget = yield* RetryBudget.make(RetryBudget.fixedRate({ retries: 10, per: "1 minute" }))
 *   const protect = Retry.retry({ schedule: Schedule.recurs(2), budget, log: false })
 *   // 100 operations, all of which fail
 *   yield* Effect.forEach(Array.from({ length: 100 }), () => Effect.ignore(protect(Effect.fail("down"))))
 *   return yield* budget.balance
 * })
 * console.log(await Effect.runPromise(program)) // 0
 * ```
 * @category make
 * @since 0.1.0
 */
export const make = (ledger: Ledger, options: { readonly name?: string | undefined } = {}): Effect.Effect<RetryBudget> =>
  Internal.make(ledger, options.name)

/**
 * Grants no retry.
 *
 * @category make
 * @since 0.1.0
 */
export const empty: RetryBudget = new Internal.Budget("empty", [
  new Accounts.LedgerAccount(Rule.empty, RetryMetrics.ofBudget("empty"), 0)
])

/**
 * Grants every retry.
 *
 * @category make
 * @since 0.1.0
 */
export const unlimited: RetryBudget = new Internal.Budget("unlimited", [])

/**
 * A budget that grants a retry only where all of these do, in one step: where one refuses, none has lost anything.
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   // 60 retries a minute for the process, 10 % for each of its clients
 *   const process = yield* RetryBudget.make(RetryBudget.fixedRate({ retries: 60, per: "1 minute" }), { name: "process" })
 *   const client = yield* RetryBudget.make(RetryBudget.ratio({ percent: 10 }), { name: "payments" })
 *   return RetryBudget.all(process, client)
 * })
 * ```
 * @category make
 * @since 0.1.0
 */
export const all = (...budgets: ReadonlyArray<RetryBudget>): RetryBudget =>
  new Internal.Budget(
    budgets.map(({ name }) => name).join(" and "),
    // One that is named twice is asked once.
    Array.from(new Set(budgets.flatMap((budget) => (budget as Internal.Budget).accounts)))
  )

/**
 * A budget for each key, such as a host or a tenant, made when it is first asked for.
 *
 * A key without operations loses its budget after a while. At the bound on keys the one that has been idle longest makes room; if
 * none is idle, newcomers share one budget. A wrong option throws `InvalidOption`.
 *
 * @category make
 * @since 0.1.0
 */
export const makeKeyed = <Key = string>(
  ledger: Ledger,
  options: KeyedOptions & { readonly name?: string | undefined } = {}
): Effect.Effect<Keyed<Key>> =>
  Effect.sync(() => {
    const where = "RetryBudget.makeKeyed"
    const name = options.name ?? "default"
    const metrics = RetryMetrics.ofBudget(name)
    const entries = new KeyedEntries.KeyedEntries<Key, Accounts.LedgerAccount>({
      where,
      make: (now) => new Accounts.LedgerAccount(ledger, metrics, now, false),
      maxKeys: options.maxKeys,
      idleTimeToLive: DurationOption.toMillisOrUndefined(where, "idleTimeToLive", options.idleTimeToLive)
    })
    return {
      forKey: (key) => new Internal.Budget(name, [new Accounts.KeyedAccount(entries, key)]),
      size: Effect.sync(() => entries.size)
    }
  })

// -----------------------------------------------------------------------------
// layers
// -----------------------------------------------------------------------------

/**
 * The class that {@link Tag} makes.
 *
 * @category layers
 * @since 0.1.0
 */
export interface TagClass<Self, Id extends string> extends Context.TagClass<Self, Id, RetryBudget> {
  /** A budget that lives as long as the layer. All who share the layer share the budget; a layer that is provided twice is two. */
  readonly layer: (ledger: Ledger) => Layer.Layer<Self>
  /** As `layer`, with the options of a ledger from the configuration; a wrong value fails and names its key. */
  readonly layerConfig: <Options>(
    ledger: (options: Options) => Ledger,
    options: Config.Config.Wrap<NonNullable<Options>>
  ) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * The budget of one dependency, as a service.
 *
 * @example
 * ```ts
 * import { Retry, RetryBudget } from "@breakwater/resilience"
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Config, Effect } from "effect"
 *
 * class PaymentsBudget extends RetryBudget.Tag("PaymentsBudget")<PaymentsBudget>() {}
 *
 * declare const charge: (order: string) => Effect.Effect<string, "unavailable">
 *
 * const protect = Retry.retry({
 *   name: "payments",
 *   schedule: Backoff.exponential({ base: "100 millis" }).pipe(Jitter.full, Limit.attempts(3)),
 *   budget: PaymentsBudget
 * })
 * const program = Effect.forEach(["order 7", "order 8"], (order) => protect(charge(order)))
 *
 * const fixedHere = Effect.provide(program, PaymentsBudget.layer(RetryBudget.ratio({ percent: 10 })))
 * const fromTheEnvironment = Effect.provide(
 *   program,
 *   PaymentsBudget.layerConfig(RetryBudget.ratio, { percent: Config.number("PAYMENTS_RETRY_PERCENT") })
 * )
 * ```
 * @category layers
 * @since 0.1.0
 */
export const Tag =
  <const Id extends string>(id: Id) =>
  <Self>(): TagClass<Self, Id> =>
    class extends Context.Tag(id)<Self, RetryBudget>() {
      static layer(ledger: Ledger) {
        return Layer.effect(this, make(ledger, { name: id }))
      }
      static layerConfig<Options>(ledger: (options: Options) => Ledger, options: Config.Config.Wrap<NonNullable<Options>>) {
        return Layer.effect(
          this,
          Effect.flatMap(fromConfig<NonNullable<Options>, Ledger>(options, ledger), (ledger) => make(ledger, { name: id }))
        )
      }
    } as unknown as TagClass<Self, Id>

/**
 * The class that {@link KeyedTag} makes.
 *
 * @category layers
 * @since 0.1.0
 */
export interface KeyedTagClass<Self, Id extends string, Key> extends Context.TagClass<Self, Id, Keyed<Key>> {
  /** The budget of a key. */
  readonly forKey: (key: Key) => Effect.Effect<RetryBudget, never, Self>
  /** Budgets that live as long as the layer. */
  readonly layer: (ledger: Ledger, options?: KeyedOptions) => Layer.Layer<Self>
  /** As `layer`, with the options of a ledger from the configuration; a wrong value fails and names its key. */
  readonly layerConfig: <Options>(
    ledger: (options: Options) => Ledger,
    options: Config.Config.Wrap<NonNullable<Options>>,
    keyed?: KeyedOptions
  ) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * A budget for each key, as a service.
 *
 * @example
 * ```ts
 * import { Retry, RetryBudget } from "@breakwater/resilience"
 * import { Effect, Schedule } from "effect"
 *
 * class HostBudgets extends RetryBudget.KeyedTag("HostBudgets")<HostBudgets>() {}
 *
 * declare const get: (host: string) => Effect.Effect<string, "unavailable">
 *
 * const program = (host: string) =>
 *   Effect.suspend(() => get(host)).pipe(Retry.retry({ schedule: Schedule.recurs(2), budget: HostBudgets.forKey(host) }))
 *
 * const runnable = Effect.provide(program("example.com"), HostBudgets.layer(RetryBudget.ratio(), { maxKeys: 100 }))
 * ```
 * @category layers
 * @since 0.1.0
 */
export const KeyedTag =
  <const Id extends string>(id: Id) =>
  <Self, Key = string>(): KeyedTagClass<Self, Id, Key> =>
    class extends Context.Tag(id)<Self, Keyed<Key>>() {
      static forKey(key: Key) {
        return Effect.map(this, (budgets: Keyed<Key>) => budgets.forKey(key))
      }
      static layer(ledger: Ledger, options?: KeyedOptions) {
        return Layer.effect(this, makeKeyed<Key>(ledger, { ...options, name: id }))
      }
      static layerConfig<Options>(
        ledger: (options: Options) => Ledger,
        options: Config.Config.Wrap<NonNullable<Options>>,
        keyed?: KeyedOptions
      ) {
        return Layer.effect(
          this,
          Effect.flatMap(fromConfig<NonNullable<Options>, Ledger>(options, ledger), (ledger) =>
            makeKeyed<Key>(ledger, { ...keyed, name: id })
          )
        )
      }
    } as unknown as KeyedTagClass<Self, Id, Key>

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * A schedule that goes on only where the budget grants it, for those who stay with `Effect.retry`. Put it last: what it is asked
 * for is taken. `while` of `Effect.retry` is asked later still; put that into the schedule (`Schedule.whileInput`), before this.
 *
 * A schedule sees only failures. {@link track} around the call tells the budget the rest; without it an {@link inFlight} budget
 * never learns that a retry is over, and grants no more after its minimum.
 *
 * @example
 * ```ts
 * import { RetryBudget } from "@breakwater/resilience"
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * declare const call: Effect.Effect<string, "unavailable">
 *
 * const program = Effect.gen(function* () {
 *   const budget = yield* RetryBudget.make(RetryBudget.ratio({ percent: 10 }))
 *   const schedule = Backoff.exponential({ base: "100 millis" }).pipe(
 *     Jitter.full,
 *     Limit.attempts(3),
 *     RetryBudget.withdraw(budget)
 *   )
 *   return yield* call.pipe(RetryBudget.track(budget), Effect.retry(schedule))
 * })
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const withdraw: {
  <In>(
    budget: RetryBudget,
    options?: { readonly kind?: ((error: In) => Kind) | undefined }
  ): <Out, In1, R>(self: Schedule.Schedule<Out, In1, R>) => Schedule.Schedule<Out, In & In1, R>
  <Out, In1, R, In>(
    self: Schedule.Schedule<Out, In1, R>,
    budget: RetryBudget,
    options?: { readonly kind?: ((error: In) => Kind) | undefined }
  ): Schedule.Schedule<Out, In & In1, R>
} = dual(
  (args) => Schedule.isSchedule(args[0]),
  <Out, In1, R, In>(
    self: Schedule.Schedule<Out, In1, R>,
    budget: RetryBudget,
    options: { readonly kind?: ((error: In) => Kind) | undefined } = {}
  ) =>
    ScheduleStep.giveUpWhen(self, (error: In) =>
      Effect.withFiberRuntime((fiber) => {
        const permit = budget.unsafeRetry(options.kind?.(error) ?? "failure", Monotonic.unsafeNow(Monotonic.clockOf(fiber)))
        const slot = (budget as Internal.Budget).tracked.get(fiber)
        if (slot !== undefined) slot.permit = permit
        return Effect.succeed(permit === undefined ? ("budget-exhausted" as const) : undefined)
      })
    )
)

/**
 * Tells a budget of a call that `Effect.retry` repeats by a schedule with {@link withdraw}: when an operation starts, how each
 * attempt ends, and which granted retry was never sent. Put it directly under the retry, in the same fiber.
 *
 * The budget is not told when the waits between attempts are over for good, so an operation counts as in flight during its first
 * attempt only.
 *
 * @category combinators
 * @since 0.1.0
 */
export const track: {
  (budget: RetryBudget): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, budget: RetryBudget): Effect.Effect<A, E, R>
} = dual(2, <A, E, R>(self: Effect.Effect<A, E, R>, budget: RetryBudget) =>
  Effect.withFiberRuntime<A, E, R>((fiber) => {
    const clock = Monotonic.clockOf(fiber)
    const now = () => Monotonic.unsafeNow(clock)
    const slot = slotOf(budget as Internal.Budget, fiber, now)
    const isFirst = Context.get(fiber.currentContext, Schedule.CurrentIterationMetadata).recurrence === 0
    // What a run before this one was granted and did not use.
    if (isFirst && slot.permit !== undefined) budget.unsafeReturned(slot.permit, now())
    const permit = isFirst ? undefined : slot.permit
    slot.permit = undefined
    if (isFirst) budget.unsafeStarted(now())
    return Effect.onExit(self, (exit) =>
      Effect.sync(() => {
        budget.unsafeSettled(outcomeOf(exit), permit, now())
        if (isFirst) budget.unsafeEnded(now())
      })
    )
  })
)

/** Where a fiber keeps the permit between its grant and the attempt it is for; a fiber that ends before gives it back. */
const slotOf = (budget: Internal.Budget, fiber: Fiber.RuntimeFiber<unknown, unknown>, now: () => number) => {
  const known = budget.tracked.get(fiber)
  if (known !== undefined) return known
  const slot: { permit: Permit | undefined } = { permit: undefined }
  budget.tracked.set(fiber, slot)
  fiber.addObserver(() => {
    if (slot.permit !== undefined) budget.unsafeReturned(slot.permit, now())
  })
  return slot
}

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome => {
  if (exit._tag === "Success") return "success"
  const error = Cause.failureOption(exit.cause)
  return Option.isSome(error) && !isLocalRefusal(error.value) ? "failure" : "ignored"
}
