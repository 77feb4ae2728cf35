import { Deadline as DeadlineRule, Retry as Rule, RetryScope as ScopeRule } from "@breakwater/core"
import { RetryObserver, ScheduleStep } from "@breakwater/schedule"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as AttemptTimeout from "../AttemptTimeout.js"
import * as Deadline from "../Deadline.js"
import { isLocalRefusal } from "../LocalRefusal.js"
import type { Attempt, Decision, Options, Report } from "../Retry.js"
import type { Kind, Permit, RetryBudget } from "../RetryBudget.js"
import * as RetryMetrics from "../RetryMetrics.js"
import * as RetryScope from "../RetryScope.js"
import { after, type Guard, type Pass, type Verdict } from "./guard.js"
import * as AttemptTimeouts from "./attemptTimeout.js"
import * as DeadlineMarks from "./deadlineMarks.js"
import * as Handle from "./handle.js"
import { limited } from "./limited.js"
import { masked, type Restore } from "./masked.js"
import { limitOption } from "./limitOption.js"
import * as Monotonic from "./monotonic.js"
import * as Marks from "./retryMarks.js"
import { sleep } from "./sleep.js"
import { stackless } from "./stackless.js"
import * as Telemetry from "./telemetry.js"

// -----------------------------------------------------------------------------
// policy: the options, checked once
// -----------------------------------------------------------------------------

/** The errors and requirements of an operation stand in the types of `Retry`; in here they are whatever they are. */
type AnyEffect = Effect.Effect<unknown, unknown, unknown>

export interface Policy {
  readonly name: string
  readonly metrics: RetryMetrics.OfPolicy
  readonly schedule: Schedule.Schedule<unknown, unknown, unknown>
  readonly isRetryable: (error: unknown) => boolean
  readonly idempotent: boolean
  readonly kind: (error: unknown) => Kind
  /** What each attempt has to pass, and which errors are the dependency's in its eyes. */
  readonly guard: Guard | undefined
  readonly isFailure: ((error: unknown) => boolean) | undefined
  readonly attemptTimeout: Resolvable<AttemptTimeout.AttemptTimeout> | undefined
  readonly budget: Resolvable<RetryBudget> | undefined
  readonly deadline: number | undefined
  readonly minimumAttemptTime: number | undefined
  readonly nested: RetryScope.Nested
  readonly log: boolean
}

/** A service, or how to come by it. */
type Resolvable<Service> = Service | Effect.Effect<Service, never, unknown>

export const makePolicy = (where: string, options: Options<never>, isFailure?: (error: never) => boolean): Policy => {
  const name = options.name ?? "default"
  const metrics = RetryMetrics.ofPolicy(name)
  // So that a rate sees their first increment.
  metrics.firstAttempts.unsafeUpdate(0, [])
  metrics.retries.unsafeUpdate(0, [])
  return {
    name,
    metrics,
    schedule: options.schedule as Policy["schedule"],
    isRetryable: asks(options.while) ?? (() => true),
    guard: undefined,
    isFailure: asks(isFailure),
    idempotent: options.idempotent ?? true,
    kind: asks(options.kind) ?? (() => "failure"),
    attemptTimeout: attemptTimeoutOf(options.attemptTimeout),
    budget: options.budget,
    deadline: options.deadline === undefined ? undefined : limitOption(where, "deadline", options.deadline),
    minimumAttemptTime:
      options.minimumAttemptTime === undefined
        ? undefined
        : limitOption(where, "minimumAttemptTime", options.minimumAttemptTime),
    nested: options.nested ?? "single-attempt",
    log: options.log ?? true
  }
}

/** A function of the errors of the effect that it will be asked about. */
const asks = <A>(f: ((error: never) => A) | undefined) => f as ((error: unknown) => A) | undefined

const attemptTimeoutOf = (input: Options<never>["attemptTimeout"]): Policy["attemptTimeout"] =>
  input === undefined || Effect.isEffect(input) || AttemptTimeouts.isAttemptTimeout(input) ? input : AttemptTimeout.fixed(input)

/** In both call styles; given the options alone, they are checked once for all effects. */
export const combinator =
  (where: string, run: (policy: Policy, self: AnyEffect) => AnyEffect) =>
  (...args: readonly [Options<never>] | readonly [AnyEffect, Options<never>]): unknown => {
    if (args.length === 2) return run(makePolicy(where, args[1]), args[0])
    const policy = makePolicy(where, args[0])
    return (self: AnyEffect) => run(policy, self)
  }

// -----------------------------------------------------------------------------
// run
// -----------------------------------------------------------------------------

export const run = (self: AnyEffect, policy: Policy): AnyEffect => operation(self, policy, undefined)

export const report = (self: AnyEffect, policy: Policy): Effect.Effect<Report<unknown, unknown>, never, unknown> =>
  Effect.suspend(() => {
    const account: Account = { attempts: 0, reason: Option.none(), history: [] }
    return Effect.flatMap(Effect.exit(operation(self, policy, account)), (exit) =>
      exit._tag === "Failure" && Cause.isInterruptedOnly(exit.cause) ? exit : Effect.succeed({ exit, ...account })
    ) as Effect.Effect<Report<unknown, unknown>>
  })

const operation = (self: AnyEffect, policy: Policy, account: Account | undefined): AnyEffect =>
  resolved(policy.budget, (budget) =>
    resolved(policy.attemptTimeout, (timeout) =>
      masked((fiber, restore) =>
        Marks.withCell(fiber, (cell) => new Operation(self, policy, budget, timeout, account, fiber, cell, restore).begin())
      )
    )
  )

const resolved = <Service>(
  service: Resolvable<Service> | undefined,
  use: (service: Service | undefined) => AnyEffect
): AnyEffect =>
  Effect.isEffect(service) ? Effect.flatMap(service as Effect.Effect<Service>, use) : use(service as Service | undefined)

// -----------------------------------------------------------------------------
// account
// -----------------------------------------------------------------------------

export const historyLength = 100

interface Account {
  attempts: number
  reason: Option.Option<RetryObserver.Reason>
  readonly history: Array<Attempt<unknown>>
}

// -----------------------------------------------------------------------------
// operation
// -----------------------------------------------------------------------------

/** How an attempt failed, the error that it is about where it has one, and the cause that the caller would get. */
interface Failed {
  readonly how: Rule.Failure
  readonly error: Option.Option<unknown>
  readonly cause: Cause.Cause<unknown>
}

/** What the policy says of a failure: to the retry, to the budget, to the guard. */
interface Judged {
  readonly retryable: boolean
  readonly kind: Kind
  readonly verdict: Verdict
}

/**
 * One run of a retry. All of it is uninterruptible but the attempts, the steps of the schedule and the waits, so that whatever
 * has been taken is given back.
 */
class Operation {
  private readonly clock: Clock.Clock
  private readonly startedAt: number
  private readonly outerMark: Marks.Marked
  /** What a retry further in finds. */
  private mark: Marks.Marked
  /** Whether a caller further out retries, so that this operation must not. */
  private isNested = false
  /** The deadline of this operation, which cuts attempts. */
  private own: Handle.Handle<DeadlineMarks.Mark> | undefined
  /** What the attempts run in. */
  private context: Context.Context<never>

  private attempt = 0
  private attemptStartedAt = 0
  /** Of the attempt that runs: the time it has. */
  private limit = Infinity
  /** Whether an attempt has been sent: what the budget knows of the operation. */
  private hasStarted = false
  /** The attempts that reached the wire. */
  private sent = 0
  /** Of the attempt that runs: what has let it through. */
  private pass: Pass | undefined
  /** What the budget has granted for the attempt that comes or runs. */
  private permit: Permit | undefined
  /** The last failure that is the dependency's. */
  private last: Failed | undefined
  private lastError: unknown
  private scheduleState: unknown
  private iteration: Schedule.IterationMetadata | undefined

  constructor(
    private readonly self: AnyEffect,
    private readonly policy: Policy,
    private readonly budget: RetryBudget | undefined,
    private readonly timeout: AttemptTimeout.AttemptTimeout | undefined,
    private readonly account: Account | undefined,
    private readonly fiber: Fiber.RuntimeFiber<unknown, unknown>,
    private readonly cell: Marks.Cell,
    private readonly restore: Restore
  ) {
    this.clock = Monotonic.clockOf(fiber)
    this.startedAt = this.now()
    this.outerMark = Handle.current(cell.current)
    this.context = fiber.currentContext
    this.scheduleState = policy.schedule.initial
  }

  begin(): AnyEffect {
    const { name, nested } = this.policy
    const nesting = ScopeRule.decide(this.outerMark !== undefined, nested)
    this.isNested = nesting === "single-attempt"
    switch (nesting) {
      case "fail":
        return Effect.fail(stackless(() => new RetryScope.NestedRetry({ policy: name })))
      case "warn":
        return Effect.flatMap(Telemetry.warnOfNesting(name), () => this.start())
      default:
        return this.start()
    }
  }

  private start(): AnyEffect {
    const { deadline } = this.policy
    if (!this.isNested) this.cell.current = this.mark = Handle.open<Marks.Mark>({ attempt: 0 }, this.outerMark)
    if (deadline !== undefined) {
      this.own = DeadlineMarks.tighten(Context.get(this.context, Deadline.Deadline), this.startedAt, deadline)
      this.context = Context.add(this.context, Deadline.Deadline, this.own)
    }
    // The first attempt is no iteration of whatever retries or repeats around.
    if (this.context.unsafeMap.has(Schedule.CurrentIterationMetadata.key)) {
      this.context = Context.add(this.context, Schedule.CurrentIterationMetadata, noIteration)
    }
    return this.next()
  }

  private now(): number {
    return Monotonic.unsafeNow(this.clock)
  }

  // attempts

  private next(): AnyEffect {
    const now = this.attempt === 0 ? this.startedAt : this.now()
    if (!this.hasTime(now)) return this.outOfTime()
    this.attempt++
    this.attemptStartedAt = now
    if (this.mark !== undefined) this.mark.value.attempt = this.attempt

    const { clock, fiber, restore } = this
    const entered = this.policy.guard?.admit({ fiber, clock, restore, now, patience: left(this.own, now) })
    if (!Effect.isEffect(entered)) return this.send(entered, now)
    return Effect.matchCauseEffect(entered, {
      onSuccess: (pass) => this.send(pass, this.now()),
      onFailure: (cause) => this.held(cause)
    })
  }

  private hasTime(now: number): boolean {
    return this.own === undefined || DeadlineRule.fits(left(this.own, now), 0, this.minimum(now))
  }

  private send(pass: Pass | undefined, now: number): AnyEffect {
    this.pass = pass
    this.attemptStartedAt = now
    if (!this.hasTime(now)) return after(this.passed("ignored", now), this.outOfTime())
    if (!this.hasStarted) this.budget?.unsafeStarted(now)
    this.hasStarted = true
    const attempt = Telemetry.spanned(this.self, this.fiber, this.policy.name, this.attempt)
    const timeOut = this.timeout?.unsafeLimit(now) ?? Infinity
    const rest = left(this.own, now)
    this.limit = Math.min(timeOut, rest)
    if (this.limit === Infinity) {
      const inside =
        this.context === this.fiber.currentContext ? attempt : Effect.locally(attempt, FiberRef.currentContext, this.context)
      return Effect.matchCauseEffect(this.restore(inside), {
        onSuccess: (value) => this.succeeded(value),
        onFailure: (cause) => this.failed(cause, undefined)
      })
    }
    const cutBy = rest <= timeOut ? "deadline" : "timed-out"
    return Effect.matchCauseEffect(limited(attempt, this.limit, this.restore, this.context), {
      onSuccess: ({ cut, exit }) =>
        exit._tag === "Success" ? this.succeeded(exit.value) : this.failed(exit.cause, cut ? cutBy : undefined),
      onFailure: (cause) => this.failed(cause, undefined)
    })
  }

  private succeeded(value: unknown): AnyEffect {
    const now = this.now()
    this.timeout?.unsafeSucceeded(now - this.attemptStartedAt, now)
    this.settled("success", now)
    this.recorded({ _tag: "Succeeded" }, Option.none(), now)
    const passed = this.passed("success", now)
    this.ended(this.attempt === 1 ? "succeeded" : "succeeded-after-retry", now)
    return after(passed, Effect.succeed(value))
  }

  /** The guard has let nothing through. */
  private held(cause: Cause.Cause<unknown>): AnyEffect {
    const now = this.now()
    const failed = this.classified(cause, undefined)
    if (failed.how !== "refused-locally") return this.stopped(cause, failed)
    // It waited as long as its deadline allowed.
    return left(this.own, now) > 0 ? this.gaveUp("refused-locally", failed, now) : this.outOfTime()
  }

  private failed(cause: Cause.Cause<unknown>, cutBy: "deadline" | "timed-out" | undefined): AnyEffect {
    const now = this.now()
    const failed = this.classified(cause, cutBy)
    if (failed.how === "timed-out") this.timeout?.unsafeCut(this.limit, now)
    if (failed.how === "error" || failed.how === "timed-out") {
      this.last = failed
      DeadlineMarks.note(this.deadline(), failed.error)
    }
    let judged: Judged
    try {
      judged = this.judged(failed)
    } catch (defect) {
      this.settled("ignored", now)
      const died = { how: "defect", error: failed.error, cause: Cause.die(defect) } as const
      return after(this.passed("ignored", now), this.gaveUp("defect", died, now))
    }
    const { kind, retryable, verdict } = judged
    if (failed.how !== "refused-locally") this.settled(retryable ? "failure" : "ignored", now)
    return after(
      this.passed(verdict, now),
      Effect.suspend(() => this.retried(failed, retryable, kind))
    )
  }

  private retried(failed: Failed, retryable: boolean, kind: Kind): AnyEffect {
    const final = Rule.final(failed.how, {
      retryable,
      idempotent: this.policy.idempotent,
      nested: this.isNested
    })
    if (final !== undefined) return this.gaveUp(final, failed, this.now())
    return Effect.matchCauseEffect(this.restore(this.step(failed)), {
      onSuccess: (step) => this.decided(step, kind, failed),
      onFailure: (cause) => this.stopped(cause, failed)
    })
  }

  private classified(cause: Cause.Cause<unknown>, cutBy: "deadline" | "timed-out" | undefined): Failed {
    const error = Cause.failureOption(cause)
    const interrupted = Cause.isInterruptedOnly(cause)
    if (cutBy === "deadline" && (interrupted || Option.isSome(error))) {
      const known = Option.orElse(error, () => this.last?.error ?? Option.none())
      return { how: "deadline", error: known, cause: Cause.fail(DeadlineMarks.exceeded(known)) }
    }
    if (cutBy === "timed-out" && interrupted) {
      const timedOut = AttemptTimeouts.timedOut(this.limit)
      return { how: "timed-out", error: Option.some(timedOut), cause: Cause.fail(timedOut) }
    }
    // One that could not be interrupted tells of the cut too; its own failure is what counts.
    if (cutBy !== undefined && Option.isSome(error)) return { how: "error", error, cause: Cause.fail(error.value) }
    if (Option.isSome(error)) return { how: isLocalRefusal(error.value) ? "refused-locally" : "error", error, cause }
    return { how: interrupted ? "interrupted" : "defect", error, cause }
  }

  /** What the policy says of a failure; it asks functions of the user, which may throw. */
  private judged({ error, how }: Failed): Judged {
    switch (how) {
      case "error": {
        const value = Option.getOrUndefined(error)
        const retryable = this.policy.isRetryable(value)
        const isFailure = this.policy.isFailure?.(value) ?? retryable
        const kind = retryable ? this.policy.kind(value) : "failure"
        return { retryable, kind, verdict: isFailure ? "failure" : "answered" }
      }
      case "timed-out":
        return { retryable: true, kind: "timeout", verdict: "failure" }
      case "deadline":
        return { ...isFinal, verdict: this.hadAllTheTime() ? "failure" : "ignored" }
      case "defect":
        return { ...isFinal, verdict: "defect" }
      default:
        return { ...isFinal, verdict: "ignored" }
    }
  }

  /** Whether the attempt was given the whole deadline of the policy: less of it says nothing of the dependency. */
  private hadAllTheTime(): boolean {
    const { deadline = 0 } = this.policy
    return this.attemptStartedAt === this.startedAt && this.own?.value.expiresAt === this.startedAt + deadline
  }

  // decisions

  private step({ error, how }: Failed): Effect.Effect<ScheduleStep.Step<unknown>, never, unknown> {
    const foreign = how === "timed-out"
    const input = Option.getOrUndefined(error)
    if (!foreign) this.lastError = input
    return ScheduleStep.take(this.policy.schedule, foreign ? (this.lastError ?? input) : input, {
      state: this.scheduleState,
      now: this.clock.unsafeCurrentTimeMillis(),
      foreign
    })
  }

  private decided(step: ScheduleStep.Step<unknown>, kind: Kind, failed: Failed): AnyEffect {
    const now = this.now()
    if (step._tag === "Done") return this.gaveUp(step.reason, failed, now)
    if (!DeadlineRule.fits(left(this.deadline(), now), step.wait, this.minimum(now)))
      return this.gaveUp("deadline", failed, now)
    if (this.budget !== undefined) {
      this.permit = this.budget.unsafeRetry(kind, now)
      if (this.permit === undefined) return this.gaveUp("budget-exhausted", failed, now)
    }
    this.scheduleState = step.state
    this.iterated(step, failed)
    const wait = Duration.millis(step.wait)
    const maximumWait = Duration.millis(step.maximumWait)
    this.recorded({ _tag: "Retrying", wait, maximumWait }, failed.error, now)
    const told = this.tell({ _tag: "Retrying", attempt: this.attempt, error: errorOf(failed), wait, maximumWait }, failed)
    return Effect.matchCauseEffect(this.restore(Effect.zipRight(told, sleep(step.wait, this.clock))), {
      onSuccess: () => this.waited(failed),
      onFailure: (cause) => this.stopped(cause, failed)
    })
  }

  /** A wait may end late; what no longer fits is not sent. */
  private waited(failed: Failed): AnyEffect {
    const now = this.now()
    if (DeadlineRule.fits(left(this.deadline(), now), 0, this.minimum(now))) return this.next()
    return this.gaveUp("deadline", failed, now)
  }

  /** Interrupted, or died in a part of the user's, between two attempts. */
  private stopped(cause: Cause.Cause<unknown>, { error }: Failed): AnyEffect {
    const how = Cause.isInterruptedOnly(cause) ? "interrupted" : "defect"
    return this.gaveUp(how, { how, error, cause }, this.now())
  }

  private outOfTime(): AnyEffect {
    const error = this.last?.error ?? Option.none()
    return this.gaveUp("deadline", { how: "deadline", error, cause: Cause.fail(DeadlineMarks.exceeded(error)) }, this.now())
  }

  private gaveUp(why: RetryObserver.Reason, failed: Failed, now: number): AnyEffect {
    // The owner of a deadline around this operation cuts by interruption.
    const reason = why === "interrupted" && left(this.deadline(), now) <= 0 ? "deadline" : why
    this.recorded({ _tag: "GaveUp", reason }, failed.error, now)
    this.giveBack(now)
    this.ended(why === "interrupted" ? "interrupted" : "failed", now)
    this.policy.metrics.giveUps(reason).unsafeUpdate(1, [])
    // A local refusal says nothing of the dependency; what the dependency said last does.
    const cause = failed.how === "refused-locally" ? (this.last?.cause ?? failed.cause) : failed.cause
    const told = this.tell({ _tag: "GaveUp", attempt: this.attempt, error: errorOf(failed), reason }, failed)
    return this.restore(Effect.zipRight(told, Effect.failCause(cause)))
  }

  private iterated(step: ScheduleStep.Step<unknown>, failed: Failed): void {
    const now = this.clock.unsafeCurrentTimeMillis()
    const { now: previous, recurrence, start } = this.iteration ?? { recurrence: 0, start: now, now }
    const iteration: Schedule.IterationMetadata = {
      input: errorOf(failed),
      output: step.output,
      recurrence: recurrence + 1,
      start,
      now,
      elapsed: Duration.millis(now - start),
      elapsedSincePrevious: Duration.millis(now - previous)
    }
    this.iteration = iteration
    this.context = Context.add(this.context, Schedule.CurrentIterationMetadata, iteration)
  }

  // time

  /** What retries must fit: the deadline of this operation, or the one around it, whose owner cuts. */
  private deadline(): Handle.Handle<DeadlineMarks.Mark> | undefined {
    return this.own ?? Handle.current(Context.get(this.context, Deadline.Deadline))
  }

  private minimum(now: number): number {
    return this.policy.minimumAttemptTime ?? this.timeout?.unsafeMedian(now) ?? 0
  }

  // account

  private settled(outcome: "success" | "failure" | "ignored", now: number): void {
    const { attemptDuration, firstAttempts, retries } = this.policy.metrics
    this.sent++
    ;(this.sent === 1 ? firstAttempts : retries).unsafeUpdate(1, [])
    attemptDuration.unsafeUpdate((now - this.attemptStartedAt) / 1000, [])
    this.budget?.unsafeSettled(outcome, this.permit, now)
    this.permit = undefined
  }

  /** Tells what has let the attempt through how it ended. */
  private passed(verdict: Verdict, now: number): Effect.Effect<void> | undefined {
    const { pass } = this
    this.pass = undefined
    return pass?.settle(verdict, now - this.attemptStartedAt, now)
  }

  /** A retry that the budget has granted, if it never reaches the wire. */
  private giveBack(now: number): void {
    if (this.permit !== undefined) this.budget?.unsafeReturned(this.permit, now)
    this.permit = undefined
  }

  private ended(outcome: RetryMetrics.Outcome, now: number): void {
    if (this.mark !== undefined) {
      Handle.close(this.mark)
      this.cell.current = this.outerMark
    }
    if (this.own !== undefined) Handle.close(this.own)
    if (this.hasStarted) this.budget?.unsafeEnded(now)
    this.policy.metrics.operations(outcome).unsafeUpdate(1, [])
    this.policy.metrics.operationDuration.unsafeUpdate((now - this.startedAt) / 1000, [])
  }

  private recorded(decision: Decision, error: Option.Option<unknown>, now: number): void {
    const { account } = this
    if (account === undefined) return
    account.attempts = this.sent
    if (decision._tag === "GaveUp") account.reason = Option.some(decision.reason)
    const known = account.history.at(-1)
    // Decided anew: what came after the wait, or instead of it.
    if (known?.number === this.attempt) account.history[account.history.length - 1] = { ...known, decision }
    else if (this.attempt > 0) {
      account.history.push({
        number: this.attempt,
        startedAt: Duration.millis(this.attemptStartedAt - this.startedAt),
        endedAt: Duration.millis(now - this.startedAt),
        error,
        decision
      })
      if (account.history.length > historyLength) account.history.shift()
    }
  }

  private tell(event: RetryObserver.Event, failed: Failed): Effect.Effect<void> {
    const observer = Context.get(this.fiber.currentContext, RetryObserver.RetryObserver)
    const logged = this.policy.log ? Telemetry.logged(this.policy.name, event, failed.cause, !this.isNested) : Effect.void
    return observer === undefined ? logged : Effect.zipRight(logged, observer(event))
  }
}

const isFinal = { retryable: false, kind: "failure" } as const

/** Milliseconds that a deadline leaves. */
const left = (deadline: Handle.Handle<DeadlineMarks.Mark> | undefined, now: number): number =>
  deadline === undefined ? Infinity : deadline.value.expiresAt - now

const errorOf = ({ error }: Failed): unknown => Option.getOrUndefined(error)

const noIteration = Context.get(Context.empty(), Schedule.CurrentIterationMetadata)
