import { CircuitBreaker as Rule, InvalidOption } from "@breakwater/core"
import { DurationOption, ScheduleStep } from "@breakwater/schedule"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Metric from "effect/Metric"
import * as PubSub from "effect/PubSub"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { CircuitBreaker, Options, Outcome, Saved, StateName, Transition } from "../CircuitBreaker.js"
import { CircuitOpen } from "../LocalRefusal.js"
import { after, type Arrival, type Guard, type Pass, type Verdict } from "./guard.js"
import { counter, gauge } from "./metrics.js"
import * as Monotonic from "./monotonic.js"
import { stackless } from "./stackless.js"

export const TypeId = "~@breakwater/resilience/CircuitBreaker"

const numbers: { readonly [state in StateName]: number } = { Closed: 0, HalfOpen: 1, Open: 2, Isolated: 3, Disabled: 4 }

/** Where a breaker tells how it stands. */
interface Meters {
  readonly state: Metric.Metric.Gauge<number> | undefined
  readonly rejections: Metric.Metric.Counter<number>
}

/** `many`: breakers that share a name tell no state, since each would overwrite the other's. */
const metersOf = (breaker: string, many: boolean): Meters => ({
  state: many
    ? undefined
    : gauge("circuit_breaker_state", "0 closed, 1 half-open, 2 open, 3 isolated, 4 disabled", { breaker }),
  rejections: counter("circuit_breaker_rejections", "Calls that were not let through", { breaker })
})

class Breaker implements CircuitBreaker, Guard<CircuitOpen> {
  readonly [TypeId] = TypeId
  private current: Rule.State
  /** Where the schedule of the open durations stands, and what it has given for the next time. */
  private stepped: unknown
  private duration = 0
  private openFor = 0
  /** Made when somebody listens. */
  private changes: PubSub.PubSub<Transition> | undefined

  constructor(
    readonly name: string,
    private readonly rules: Rule.Rules,
    private readonly openDuration: Schedule.Schedule<unknown>,
    private readonly jitter: number,
    private readonly meters: Meters,
    restored: Rule.State
  ) {
    this.current = restored
    this.stepped = openDuration.initial
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

  // Getters: as fields of each breaker these would weigh as much as all the rest of it.
  get state(): Effect.Effect<StateName> {
    return Effect.flatMap(Monotonic.now, (now) =>
      after(
        this.changedTo(this.rules.look(this.current, now, this.openFor)),
        Effect.sync(() => this.current._tag)
      )
    )
  }

  get transitions(): Stream.Stream<Transition> {
    const changes = Effect.suspend(() =>
      this.changes === undefined
        ? Effect.tap(PubSub.sliding<Transition>(64), (made) => (this.changes = made))
        : Effect.succeed(this.changes)
    )
    return Stream.unwrap(Effect.map(changes, (changes) => Stream.fromPubSub(changes)))
  }

  get isolate(): Effect.Effect<void> {
    return this.changing((state) => this.rules.isolate(state))
  }
  get disable(): Effect.Effect<void> {
    return this.changing((state) => this.rules.disable(state))
  }
  get reset(): Effect.Effect<void> {
    return this.changing((state) => this.rules.reset(state))
  }

  get save(): Effect.Effect<Saved> {
    return Effect.map(Effect.clock, (clock) =>
      this.rules.save(this.current, Monotonic.unsafeNow(clock), clock.unsafeCurrentTimeMillis())
    )
  }

  admit({ now }: Arrival): Pass | Effect.Effect<Pass, CircuitOpen> {
    if (!this.isRamping) return this.admitted(now, 0)
    return Effect.flatMap(Random.next, (chance) => {
      const entered = this.admitted(now, chance)
      return Effect.isEffect(entered) ? entered : Effect.succeed(entered)
    })
  }

  refusal(now: number): Exit.Exit<never, CircuitOpen> | undefined {
    if (this.current._tag === "Closed") return undefined
    const admission = this.rules.admit(this.current, now, 0, this.openFor)
    return admission._tag === "Rejected" && admission.state === this.current ? this.rejected(admission.retryAfter) : undefined
  }

  private admitted(now: number, chance: number): Pass | Effect.Effect<Pass, CircuitOpen> {
    const admission = this.rules.admit(this.current, now, chance, this.openFor)
    const change = this.changedTo(admission.state)
    if (admission._tag === "Rejected") return after(change, this.rejected(admission.retryAfter))
    const pass = this.passFor(admission.ticket)
    return change === undefined ? pass : Effect.as(change, pass)
  }

  private rejected(millis: number): Exit.Exit<never, CircuitOpen> {
    this.meters.rejections.unsafeUpdate(1, [])
    const retryAfter = Duration.millis(Math.ceil(millis))
    return Exit.fail(stackless(() => new CircuitOpen({ breaker: this.name, retryAfter })))
  }

  /** Whether a call has to bring a random number with it. */
  private get isRamping(): boolean {
    return this.current._tag === "Closed" && this.current.ramp !== undefined
  }

  private passFor(ticket: Rule.Ticket): Pass {
    return {
      recalled: (now) => (ticket.generation === this.current.generation ? undefined : this.refusal(now)),
      settle: (verdict, latency, now) =>
        this.changedTo(this.rules.settle(this.current, ticket, outcomeOf[verdict], latency, { now, openFor: this.openFor }))
    }
  }

  private changing(change: (state: Rule.State) => Rule.State): Effect.Effect<void> {
    return Effect.suspend(() => this.changedTo(change(this.current)) ?? Effect.void)
  }

  /** What is to be done because of the change, if anything. */
  private changedTo(next: Rule.State): Effect.Effect<void> | undefined {
    const before = this.current
    this.current = next
    if (before.generation === next.generation && before._tag === next._tag) return undefined
    if (before._tag !== next._tag) {
      this.meters.state?.unsafeUpdate(numbers[next._tag], [])
      this.changes?.unsafeOffer({ from: before._tag, to: next._tag })
    }
    if (next._tag === "Closed") this.stepped = this.openDuration.initial
    else if (next._tag !== "Open") return undefined
    return this.prepared()
  }
}

export const outcomeOf: { readonly [verdict in Verdict]: Outcome } = {
  success: "success",
  failure: "failure",
  // A bug of the caller's or of the callee's: nobody can tell.
  defect: "failure",
  answered: "ignored",
  ignored: "ignored"
}

/** Checks the options at once; `many` are going to share their name. */
export const make = (options: Options, many = options.name === undefined): Effect.Effect<CircuitBreaker> => {
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
  const name = options.name ?? "default"
  const meters = metersOf(name, many)
  return Effect.flatMap(Effect.clock, (clock) => {
    const { restore } = options
    const state =
      restore === undefined
        ? rules.initial()
        : rules.restore(restore, Monotonic.unsafeNow(clock), clock.unsafeCurrentTimeMillis())
    const breaker = new Breaker(name, rules, openDuration, jitter, meters, state)
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

/** Every breaker there is was made here. */
export const guardOf = (breaker: CircuitBreaker): Guard<CircuitOpen> => breaker as Breaker
