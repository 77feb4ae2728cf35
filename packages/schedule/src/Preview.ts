/**
 * Shows what a schedule would wait, without waiting: as data, or as text for a terminal and a test. Nothing sleeps and no call is
 * made; the schedule is stepped as `Effect.retry` steps it, under a clock that stands at the time of each failure and a `Random`
 * of the given seed.
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Schedule from "effect/Schedule"
import { toMillis } from "./DurationOption.js"
import type { Reason } from "./RetryObserver.js"
import * as ScheduleStep from "./ScheduleStep.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Preview {
  readonly retries: ReadonlyArray<Retry>
  /** Why the schedule ended within the retries that were asked for; `undefined` where it would go on. */
  readonly ended: Reason | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Retry {
  /** The wait before this retry. */
  readonly wait: Duration.Duration
  /** The longest wait that chance could have drawn. */
  readonly maximumWait: Duration.Duration
  /** When the retry starts, from the start of the first call. */
  readonly startsAt: Duration.Duration
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How many retries to look ahead at the most. Default 10. */
  readonly retries?: number | undefined
  /** Seeds the `Random`; a whole number. Default 0. */
  readonly seed?: number | undefined
  /** How long each call takes until it fails. Default 0. */
  readonly callTakes?: Duration.DurationInput | undefined
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * The first waits of a schedule under a seed. A schedule that looks at the error is given one, as `input`; it gets the same one
 * every time.
 *
 * @example
 * ```ts
 * import { Backoff, Limit, Preview } from "@breakwater/schedule"
 * import { Duration, Effect } from "effect"
 *
 * const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Limit.attempts(4))
 * const { ended, retries } = Effect.runSync(Preview.of(schedule))
 * console.log(retries.map(({ wait }) => Duration.toMillis(wait)), ended) // [100, 200, 400] exhausted
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const of: {
  <Out, R>(schedule: Schedule.Schedule<Out, unknown, R>, options?: Options): Effect.Effect<Preview, never, R>
  <Out, In, R>(
    schedule: Schedule.Schedule<Out, In, R>,
    options: Options & { readonly input: In }
  ): Effect.Effect<Preview, never, R>
} = <Out, In, R>(
  schedule: Schedule.Schedule<Out, In, R>,
  options: Options & { readonly input?: In } = {}
): Effect.Effect<Preview, never, R> => {
  const where = "Preview.of"
  const most = InvalidOption.count(where, "retries", options.retries ?? 10)
  const callTakes = InvalidOption.wholeMillis(where, "callTakes", toMillis(where, "callTakes", options.callTakes ?? 0))
  return Effect.gen(function* () {
    const retries: Array<Retry> = []
    let state = schedule.initial
    let now = callTakes
    while (retries.length < most) {
      const step = yield* Effect.withClock(ScheduleStep.take(schedule, options.input as In, { state, now }), clockAt(now))
      if (step._tag === "Done") return { retries, ended: step.reason }
      const startsAt = now + step.wait
      retries.push({
        wait: Duration.millis(step.wait),
        maximumWait: Duration.millis(step.maximumWait),
        startsAt: Duration.millis(startsAt)
      })
      state = step.state
      now = startsAt + callTakes
    }
    return { retries, ended: undefined }
  }).pipe(Effect.withRandom(Random.make(options.seed ?? 0)))
}

/** Stands still at a moment; whoever sleeps on it does not sleep. */
const clockAt = (millis: number): Clock.Clock => {
  // Schedules of Effect also give fractions of a millisecond.
  const nanos = BigInt(Math.round(millis * 1e6))
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => millis,
    unsafeCurrentTimeNanos: () => nanos,
    currentTimeMillis: Effect.succeed(millis),
    currentTimeNanos: Effect.succeed(nanos),
    sleep: () => Effect.void
  }
}

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * A preview as a table, with the reason for the end below it.
 *
 * @example
 * ```ts
 * import { Backoff, Limit, Preview } from "@breakwater/schedule"
 * import { Effect } from "effect"
 *
 * const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Limit.attempts(3))
 * console.log(Preview.toText(Effect.runSync(Preview.of(schedule))))
 * // prints:
 * // retry           waits         at most       starts at
 * //     1           100ms           100ms           100ms
 * //     2           200ms           200ms           300ms
 * // gives up after 2 retries: exhausted
 * ```
 * @category getters
 * @since 0.1.0
 */
export const toText = ({ ended, retries }: Preview): string =>
  [
    row("retry", "waits", "at most", "starts at"),
    ...retries.map(({ maximumWait, startsAt, wait }, index) =>
      row(String(index + 1), ...[wait, maximumWait, startsAt].map((duration) => Duration.format(duration)))
    ),
    ended === undefined ? "goes on" : `gives up after ${retries.length} retries: ${ended}`
  ].join("\n")

const row = (retry: string, ...cells: ReadonlyArray<string>): string =>
  [retry.padStart(5), ...cells.map((cell) => cell.padStart(15))].join(" ")
