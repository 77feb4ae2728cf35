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
import { CircuitBreaker as Rule, InvalidOption } from "@breakwater/core"
import { DurationOption, ScheduleStep } from "@breakwater/schedule"
import * as Cause from "effect/Cause"
import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { dual } from "effect/Function"
import type * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { counter, gauge } from "./internal/metrics.js"
import * as Monotonic from "./internal/monotonic.js"
import { serviceTag } from "./internal/serviceTag.js"
import { stackless } from "./internal/stackless.js"
import { CircuitOpen, isLocalRefusal } from "./LocalRefusal.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export const TypeId: TypeId = "~@breakwater/resilience/CircuitBreaker"

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
  /** Its label in the metrics. Default "default". */
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

const numbers: { readonly [state in StateName]: number } = { Closed: 0, HalfOpen: 1, Open: 2, Isolated: 3, Disabled: 4 }

class Breaker implements CircuitBreaker {
  readonly [TypeId]: TypeId = TypeId
  private current: Rule.State
  /** Where the schedule of the open durations stands, and what it has given for the next time. */
  private stepped: unknown
  private duration = 0
  private openFor = 0
  private readonly changes = Effect.runSync(PubSub.sliding<Transition>(64))
  private readonly gauge: ReturnType<typeof gauge>
  private readonly rejections: ReturnType<typeof counter>

  constructor(
    readonly name: string,
    private readonly rules: Rule.Rules,
    private readonly openDuration: Schedule.Schedule<unknown>,
    private readonly jitter: number,
    restored: Rule.State
  ) {
    this.current = restored
    this.stepped = openDuration.initial
    this.gauge = gauge("circuit_breaker_state", "0 closed, 1 half-open, 2 open, 3 isolated, 4 disabled", { breaker: name })
    this.rejections = counter("circuit_breaker_rejections", "Calls that were not let through", { breaker: name })
  }

  /** How long it will be open the next time: known before it opens, because a step of the schedule may take a while. */
  prepared(): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const now = (yield* Effect.clock).unsafeCurrentTimeMillis()
      const step = yield* ScheduleStep.take(this.openDuration, undefined, { state: this.stepped, now })
      if (step._tag === "Continue") {
        this.stepped = step.state
        this.duration = step.wait
      }
      this.openFor = this.duration + Math.round(this.duration * this.jitter * (yield* Random.next))
    })
  }

  readonly state: Effect.Effect<StateName> = Effect.flatMap(Monotonic.now, (now) =>
    this.changedTo(
      this.rules.look(this.current, now, this.openFor),
      Effect.sync(() => this.current._tag)
    )
  )

  readonly transitions: Stream.Stream<Transition> = Stream.fromPubSub(this.changes)

  readonly isolate: Effect.Effect<void> = Effect.suspend(() => this.changedTo(this.rules.isolate(this.current), Effect.void))
  readonly disable: Effect.Effect<void> = Effect.suspend(() => this.changedTo(this.rules.disable(this.current), Effect.void))
  readonly reset: Effect.Effect<void> = Effect.suspend(() => this.changedTo(this.rules.reset(this.current), Effect.void))

  readonly save: Effect.Effect<Saved> = Effect.map(Effect.clock, (clock) =>
    this.rules.save(this.current, Monotonic.unsafeNow(clock), clock.unsafeCurrentTimeMillis())
  )

  /** Takes a call in, or refuses it. */
  admitted<A, E, R>(
    now: number,
    chance: number,
    call: (ticket: Rule.Ticket) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | CircuitOpen, R> {
    const admission = this.rules.admit(this.current, now, chance, this.openFor)
    if (admission._tag === "Admitted") return this.changedTo(admission.state, call(admission.ticket))
    this.rejections.unsafeUpdate(1, [])
    const { retryAfter } = admission
    return this.changedTo(
      admission.state,
      Effect.fail(stackless(() => new CircuitOpen({ retryAfter: Duration.millis(retryAfter) })))
    )
  }

  settled<A, E>(
    ticket: Rule.Ticket,
    outcome: Outcome,
    latency: number,
    now: number,
    exit: Exit.Exit<A, E>
  ): Effect.Effect<A, E> {
    return this.changedTo(this.rules.settle(this.current, ticket, outcome, latency, { now, openFor: this.openFor }), exit)
  }

  /** Whether a call has to bring a random number with it. */
  get isRamping(): boolean {
    return this.current._tag === "Closed" && this.current.ramp !== undefined
  }

  private changedTo<A, E, R>(next: Rule.State, then: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const before = this.current
    this.current = next
    if (before.generation === next.generation && before._tag === next._tag) return then
    this.gauge.unsafeUpdate(numbers[next._tag], [])
    this.changes.unsafeOffer({ from: before._tag, to: next._tag })
    if (next._tag === "Closed") this.stepped = this.openDuration.initial
    else if (next._tag !== "Open") return then
    return Effect.zipRight(this.prepared(), then)
  }
}

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
export const make = (options: Options): Effect.Effect<CircuitBreaker> => {
  const where = "CircuitBreaker.make"
  const rules = Rule.make({
    tripPolicies: "window" in options.tripPolicy ? [options.tripPolicy] : options.tripPolicy,
    probes: options.probes,
    probeFailures: options.probeFailures,
    probeLimit: DurationOption.toMillisOrUndefined(where, "probeLimit", options.probeLimit),
    ramp: DurationOption.toMillisOrUndefined(where, "ramp", options.ramp)
  })
  const openDuration = scheduleOf(where, options.openDuration ?? "5 seconds")
  const jitter = InvalidOption.between(where, "jitter", options.jitter ?? 0.1, 0, 1)
  return Effect.flatMap(Effect.clock, (clock) => {
    const { restore } = options
    const state =
      restore === undefined
        ? rules.initial()
        : rules.restore(restore, Monotonic.unsafeNow(clock), clock.unsafeCurrentTimeMillis())
    const breaker = new Breaker(options.name ?? "default", rules, openDuration, jitter, state)
    return Effect.as(breaker.prepared(), breaker)
  })
}

const scheduleOf = (where: string, input: NonNullable<Options["openDuration"]>): Schedule.Schedule<unknown> => {
  if (Schedule.isSchedule(input)) return input as Schedule.Schedule<unknown>
  const duration = input as Duration.DurationInput
  return Schedule.spaced(
    InvalidOption.wholeMillis(where, "openDuration", DurationOption.toMillis(where, "openDuration", duration), 1)
  )
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
export const classify = (exit: Exit.Exit<unknown, unknown>): Outcome => {
  if (exit._tag === "Success") return "success"
  if (Cause.isInterruptedOnly(exit.cause)) return "ignored"
  const error = Cause.failureOption(exit.cause)
  return error._tag === "Some" && isLocalRefusal(error.value) ? "ignored" : "failure"
}

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
    const own = breaker as Breaker
    const outcomeOf = options.classify ?? classify
    return Effect.uninterruptibleMask((restore) =>
      Effect.withFiberRuntime<A, E | CircuitOpen, R>((fiber) => {
        const clock = Monotonic.clockOf(fiber)
        const startedAt = Monotonic.unsafeNow(clock)
        const call = (ticket: Rule.Ticket) =>
          Effect.flatMap(Effect.exit(restore(self)), (exit) => {
            const now = Monotonic.unsafeNow(clock)
            const settled = (outcome: Outcome) => own.settled(ticket, outcome, now - startedAt, now, exit)
            try {
              return settled(outcomeOf(exit))
            } catch (defect) {
              // A function of the user's that throws must not keep a probe's place.
              return Effect.zipRight(Effect.exit(settled("ignored")), Effect.die(defect))
            }
          })
        return own.isRamping
          ? Effect.flatMap(Random.next, (chance) => own.admitted(startedAt, chance, call))
          : own.admitted(startedAt, 0, call)
      })
    )
  }
)
