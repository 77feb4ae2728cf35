import { InvalidOption } from "@breakwater/core"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Decision from "effect/ScheduleDecision"
import * as Interval from "effect/ScheduleInterval"
import * as Intervals from "effect/ScheduleIntervals"
import { type Reason, RetryObserver } from "./observer.js"

// -----------------------------------------------------------------------------
// a schedule of ours
// -----------------------------------------------------------------------------

/** What the parts of a schedule write down, during one step, for the observer. */
export interface Notes {
  /** Whether the step is taken for a failure that is none of the schedule's inputs: nothing may be read from its input. */
  readonly foreign?: boolean
  /** The longest wait that chance could have drawn. */
  maximum?: number
  /** Why the schedule ends. */
  reason?: Reason
}

/** The notes of the step that the fiber is in, opened by the outermost part, or by who takes the step. */
export class StepNotes extends Context.Reference<StepNotes>()("@breakwater/schedule/internal/StepNotes", {
  defaultValue: (): Notes | undefined => undefined
}) {}

/** The input of a step, and what came before it. */
export interface Given<In> {
  /** Wall-clock milliseconds since 1970. */
  readonly now: number
  readonly input: In
  /** How often the schedule has gone on before: 0 before the first retry. */
  readonly retries: number
  readonly notes: Notes
}

/**
 * A schedule that tells the observer of each decision, once: the outermost part tells, those inside of it, also behind
 * combinators of Effect, write into its notes.
 *
 * State is per run: a schedule's initial state is shared by all its runs and must never be changed in place.
 */
export const make = <S, Out, In, R>(
  initial: S,
  step: (state: S, given: Given<In>) => Effect.Effect<readonly [S, Out, Decision.ScheduleDecision], never, R>
): Schedule.Schedule<Out, In, R> =>
  Schedule.makeWithState({ own: initial, retries: 0 }, (now, input: In, { own, retries }) =>
    Effect.contextWithEffect((context: Context.Context<never>) => {
      const observer = Context.get(context, RetryObserver)
      const outer = Context.get(context, StepNotes)
      const notes: Notes = outer ?? {}
      const decided = Effect.map(
        step(own, { now, input, retries, notes }),
        ([after, out, decision]) => [{ own: after, retries: retries + 1 }, out, decision] as const
      )
      if (observer === undefined || outer !== undefined) return decided
      return decided.pipe(
        Effect.provideService(StepNotes, notes),
        Effect.tap(([, , decision]) => observer(eventOf(retries + 1, input, now, decision, notes)))
      )
    })
  )

const eventOf = (attempt: number, error: unknown, now: number, decision: Decision.ScheduleDecision, notes: Notes) => {
  if (Decision.isDone(decision)) return { _tag: "GaveUp", attempt, error, reason: notes.reason ?? "exhausted" } as const
  const wait = Math.max(0, Intervals.start(decision.intervals) - now)
  const maximumWait = Math.max(wait, notes.maximum ?? wait)
  return { _tag: "Retrying", attempt, error, wait: Duration.millis(wait), maximumWait: Duration.millis(maximumWait) } as const
}

/** The decision to go on `delay` whole milliseconds after `now`. */
export const continueAfter = (now: number, delay: number): Decision.ScheduleDecision =>
  Decision.continueWith(Interval.after(now + delay))

// -----------------------------------------------------------------------------
// a schedule over another one
// -----------------------------------------------------------------------------

/**
 * A schedule that goes on only where `self` does, with the wait that `f` makes of its wait (whole milliseconds); `undefined`
 * ends it. `self` is stepped first, always, so that what it draws at random does not depend on who stands above it.
 */
export const adjust = <Out, In, R, S, In2, R2>(
  self: Schedule.Schedule<Out, In, R>,
  initial: S,
  f: (state: S, delay: number, given: Given<In & In2>) => Effect.Effect<readonly [S, number | undefined], never, R2>
): Schedule.Schedule<Out, In & In2, R | R2> =>
  make({ self: self.initial, own: initial }, ({ own, self: before }, given: Given<In & In2>) =>
    Effect.flatMap(self.step(given.now, given.input, before), ([after, out, decision]) => {
      if (Decision.isDone(decision)) return Effect.succeed([{ self: after, own }, out, decision] as const)
      const delay = wholeDelay(Intervals.start(decision.intervals) - given.now)
      return Effect.map(f(own, delay, given), ([next, chosen]) => {
        const state = { self: after, own: next }
        if (chosen === undefined) return [state, out, Decision.done] as const
        // Untouched where nothing changes: a schedule such as `windowed` says more in its intervals than their start.
        return [state, out, chosen === delay ? decision : continueAfter(given.now, chosen)] as const
      })
    })
  )

/** As the rules take them: Effect's own schedules also give fractions of a millisecond, and Infinity. */
const wholeDelay = (millis: number): number => Math.max(0, Math.min(InvalidOption.maxMillis, Math.floor(millis)))
