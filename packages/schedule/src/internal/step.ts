import { InvalidOption } from "@breakwater/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Decision from "effect/ScheduleDecision"
import * as Interval from "effect/ScheduleInterval"
import * as Intervals from "effect/ScheduleIntervals"

/** The decision to go on `delay` whole milliseconds after `now`. */
export const continueAfter = (now: number, delay: number): Decision.ScheduleDecision =>
  Decision.continueWith(Interval.after(now + delay))

/** What a combinator learns when the schedule under it would go on. */
export interface Continue<In> {
  /** Wall-clock milliseconds since 1970. */
  readonly now: number
  readonly input: In
  /** How often the schedule has gone on before: 0 before the first retry. */
  readonly retries: number
  /** The wait in whole milliseconds the schedule under it asks for. */
  readonly delay: number
}

/**
 * A schedule that goes on only where `self` does, with the wait that `f` chooses; `undefined` ends it. `self` is stepped
 * first, always, so that what it draws at random does not depend on who stands above it.
 *
 * State is per run: a schedule's initial state is shared by all its runs and must never be changed in place.
 */
export const adjust = <Out, In, R, S, In2, R2>(
  self: Schedule.Schedule<Out, In, R>,
  initial: S,
  f: (state: S, step: Continue<In & In2>) => Effect.Effect<readonly [S, number | undefined], never, R2>
): Schedule.Schedule<Out, In & In2, R | R2> =>
  Schedule.makeWithState(
    { self: self.initial, own: initial, retries: 0 },
    (now: number, input: In & In2, { own, retries, self: before }) =>
      Effect.flatMap(self.step(now, input, before), ([after, out, decision]) => {
        if (Decision.isDone(decision)) {
          return Effect.succeed([{ self: after, own, retries }, out, decision] as const)
        }
        const delay = wholeDelay(Intervals.start(decision.intervals) - now)
        return Effect.map(f(own, { now, input, retries, delay }), ([next, chosen]) => {
          const state = { self: after, own: next, retries: retries + 1 }
          if (chosen === undefined) return [state, out, Decision.done] as const
          // Untouched where nothing changes: a schedule such as `windowed` says more in its intervals than their start.
          return [state, out, chosen === delay ? decision : continueAfter(now, chosen)] as const
        })
      })
  )

/** As the rules take them: Effect's own schedules also give fractions of a millisecond, and Infinity. */
const wholeDelay = (millis: number): number => Math.max(0, Math.min(InvalidOption.maxMillis, Math.floor(millis)))

/** The wait of a server or an observer, as a whole number of milliseconds that is not shorter. */
export const ceilMillis = (duration: Duration.Duration): number => Math.ceil(Duration.toMillis(duration))
