/**
 * For those who build on schedules: one step of any schedule without the sleep, as a retry loop of one's own needs it, and a part
 * of a schedule that ends it for a reason of one's own.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Schedule from "effect/Schedule"
import * as Decision from "effect/ScheduleDecision"
import * as Intervals from "effect/ScheduleIntervals"
import { adjust, type Notes, StepNotes } from "./internal/step.js"
import type { Reason } from "./RetryObserver.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The schedule's state after the step before; `schedule.initial` for the first one. */
  readonly state: unknown
  /** Wall-clock time in milliseconds since 1970. */
  readonly now: number
  /**
   * Whether the failure is none of the schedule's inputs, such as a time-out of the loop's own: `RetryAfter.respect` and the
   * presets then read nothing from it. A combinator of Effect that looks at its input cannot know. Default false.
   */
  readonly foreign?: boolean | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export type Step<Out> =
  | {
      readonly _tag: "Continue"
      readonly state: unknown
      readonly output: Out
      /** The wait that follows, in milliseconds. */
      readonly wait: number
      /** The longest wait that chance could have drawn, in milliseconds. */
      readonly maximumWait: number
    }
  | {
      readonly _tag: "Done"
      readonly state: unknown
      readonly output: Out
      readonly reason: Reason
    }

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * Steps a schedule once for a failure. The observer is not told: who takes the step may decide otherwise, and tells of that.
 *
 * @example
 * ```ts
 * import { Backoff, Limit, ScheduleStep } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Limit.retries(1))
 *
 * const program = Effect.gen(function* () {
 *   const first = yield* ScheduleStep.take(schedule, "unavailable", { state: schedule.initial, now: 0 })
 *   const second = yield* ScheduleStep.take(schedule, "unavailable", { state: first.state, now: 100 })
 *   console.log(first._tag === "Continue" && first.wait) // 100
 *   console.log(second._tag === "Done" && second.reason) // exhausted
 * })
 * Effect.runSync(program)
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const take = <Out, In, R>(
  schedule: Schedule.Schedule<Out, In, R>,
  input: In,
  { foreign = false, now, state }: Options
): Effect.Effect<Step<Out>, never, R> => {
  const notes: Notes = { foreign }
  return schedule.step(now, input, state).pipe(
    Effect.provideService(StepNotes, notes),
    Effect.map(([state, output, decision]): Step<Out> => {
      if (Decision.isDone(decision)) return { _tag: "Done", state, output, reason: notes.reason ?? "exhausted" }
      const wait = Math.max(0, Intervals.start(decision.intervals) - now)
      return { _tag: "Continue", state, output, wait, maximumWait: Math.max(wait, notes.maximum ?? wait) }
    })
  )
}

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Ends a schedule where `reason` gives one, which the observer is then told. It is asked for every retry that the schedule itself
 * would make, so put it last if asking takes something.
 *
 * @example
 * ```ts
 * import { Backoff, Preview, ScheduleStep } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * const closing = true
 * const schedule = Backoff.exponential({ base: "100 millis" }).pipe(
 *   ScheduleStep.giveUpWhen(() => Effect.sync(() => (closing ? "deadline" : undefined)))
 * )
 * console.log(Effect.runSync(Preview.of(schedule)).ended) // deadline
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const giveUpWhen: {
  <In, R2>(
    reason: (input: In) => Effect.Effect<Reason | undefined, never, R2>
  ): <Out, In1, R>(self: Schedule.Schedule<Out, In1, R>) => Schedule.Schedule<Out, In & In1, R | R2>
  <Out, In1, R, In, R2>(
    self: Schedule.Schedule<Out, In1, R>,
    reason: (input: In) => Effect.Effect<Reason | undefined, never, R2>
  ): Schedule.Schedule<Out, In & In1, R | R2>
} = dual(
  2,
  <Out, In1, R, In, R2>(
    self: Schedule.Schedule<Out, In1, R>,
    reason: (input: In) => Effect.Effect<Reason | undefined, never, R2>
  ) =>
    adjust<Out, In1, R, undefined, In, R2>(self, undefined, (state, delay, { input, notes }) =>
      Effect.map(reason(input), (ended) => {
        if (ended === undefined) return [state, delay] as const
        notes.reason = ended
        return [state, undefined] as const
      })
    )
)
