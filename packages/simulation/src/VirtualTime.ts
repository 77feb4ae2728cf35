/**
 * Runs an Effect program to its end in virtual time: sleeps take no real time, everything runs in one synchronous sweep, and
 * the same seed gives the same run.
 *
 * ```text
 * run what is ready, in order -> nothing ready? jump to the end of the earliest sleep -> again, until the program is done
 * ```
 *
 * The clock counts whole microseconds from 0; a sleep is rounded to them once, half up. `currentTimeMillis` is whole, as
 * `Date.now()` is. Ready fibers stand in one queue, first come first served; sleeps that end at the same instant wake in the
 * order in which they began.
 *
 * A run never hangs. A program that waits for what nobody can bring ends in {@link Deadlock}, one that reaches for the real event
 * loop in {@link RealAsynchrony}, one that never stops in {@link Livelock} or {@link TooManySteps}.
 *
 * For tests written for Effect's `TestClock`, see `@breakwater/simulation/vitest`.
 *
 * @since 0.1.0
 */
import { InvalidOption, RandomStream } from "@breakwater/core"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import { Engine } from "./internal/engine.js"
import { type Culprit, trapped } from "./internal/realAsynchrony.js"
import * as SeededRandom from "./SeededRandom.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Seeds the `Random` of the program, and `Math.random` while it runs; a whole number. Default 0. */
  readonly seed?: number | undefined
  /** What the wall clock reads at the start, in whole milliseconds since 1970. Default 0. */
  readonly startsAt?: number | undefined
  /**
   * How many turns fibers may take before the run is called endless. A turn of 2,048 operations, after which a fiber is made to
   * yield, counts as 200. Default 10 million.
   */
  readonly maxSteps?: number | undefined
  /** How many turns fibers may take without time passing. Default 1 million. */
  readonly maxStepsAtOnce?: number | undefined
}

/**
 * Why a run was stopped.
 *
 * @category models
 * @since 0.1.0
 */
export type VirtualTimeError = Deadlock | RealAsynchrony | Livelock | TooManySteps

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

const list = (waiting: ReadonlyArray<string>): string => waiting.map((line) => `\n  ${line}`).join("")

/**
 * The program is not done, nothing is ready to run and nobody sleeps.
 *
 * @category errors
 * @since 0.1.0
 */
export class Deadlock extends Data.TaggedError("Deadlock")<{
  /** Virtual time at which nothing was left to do. */
  readonly at: Duration.Duration
  /** What each fiber waits for. */
  readonly waiting: ReadonlyArray<string>
}> {
  override get message(): string {
    return (
      `Deadlock at ${Duration.format(this.at)} of virtual time: nothing is ready to run, nobody sleeps, and the program waits.` +
      list(this.waiting)
    )
  }
}

/**
 * The program reached for the real event loop, whose answers virtual time cannot wait for.
 *
 * @category errors
 * @since 0.1.0
 */
export class RealAsynchrony extends Data.TaggedError("RealAsynchrony")<{
  readonly at: Duration.Duration
  /** What was called: `setTimeout`, `Promise.prototype.then`. */
  readonly call: string
  /** Where from. */
  readonly callStack: string
}> {
  override get message(): string {
    return (
      `Real asynchrony at ${Duration.format(this.at)} of virtual time: ${this.call} was called, and virtual time cannot wait for ` +
      `what it brings. Use Effect's Clock, or model the call as an effect that sleeps. It was called here:\n${this.callStack}`
    )
  }
}

/**
 * Fibers take turn after turn and no time passes.
 *
 * @category errors
 * @since 0.1.0
 */
export class Livelock extends Data.TaggedError("Livelock")<{
  readonly at: Duration.Duration
  readonly steps: number
  readonly waiting: ReadonlyArray<string>
}> {
  override get message(): string {
    return (
      `Livelock at ${Duration.format(this.at)} of virtual time: ${this.steps} steps without time passing, such as a retry or a ` +
      `repeat without a delay. If the program is this large, raise maxStepsAtOnce.${list(this.waiting)}`
    )
  }
}

/**
 * The program went on beyond the allowed number of steps, such as one whose end waits for something else than its ticking.
 *
 * @category errors
 * @since 0.1.0
 */
export class TooManySteps extends Data.TaggedError("TooManySteps")<{
  readonly at: Duration.Duration
  readonly steps: number
  readonly waiting: ReadonlyArray<string>
}> {
  override get message(): string {
    return (
      `Not done after ${this.steps} steps, at ${Duration.format(this.at)} of virtual time: it ticks for ever, or it is too large ` +
      `for maxSteps.${list(this.waiting)}`
    )
  }
}

// -----------------------------------------------------------------------------
// running
// -----------------------------------------------------------------------------

/**
 * Runs a program in virtual time. The result is the program's own, and it is there synchronously: `Effect.runSync` works.
 *
 * @example
 * ```ts
 * import { VirtualTime } from "@breakwater/simulation"
 * import { Clock, Effect } from "effect"
 *
 * const program = Effect.sleep("1 day").pipe(Effect.zipRight(Clock.currentTimeMillis))
 *
 * console.log(Effect.runSync(VirtualTime.run(program))) // 86400000
 * ```
 * @category running
 * @since 0.1.0
 */
export const run = <A, E>(program: Effect.Effect<A, E>, options: Options = {}): Effect.Effect<A, E | VirtualTimeError> => {
  const where = "VirtualTime.run"
  const limits: Limits = {
    maxSteps: InvalidOption.count(where, "maxSteps", options.maxSteps ?? 10_000_000, 1),
    maxStepsAtOnce: InvalidOption.count(where, "maxStepsAtOnce", options.maxStepsAtOnce ?? 1_000_000, 1)
  }
  const startsAt = InvalidOption.wholeMillis(where, "startsAt", options.startsAt ?? 0)
  const seed = options.seed ?? 0
  return Effect.suspend(() => new Simulation(startsAt, seed).run(program, limits))
}

interface Limits {
  readonly maxSteps: number
  readonly maxStepsAtOnce: number
}

/** Moves time on by itself, as long as there is something to do. */
class Simulation extends Engine {
  private culprit: Culprit | undefined

  constructor(
    startsAt: number,
    private readonly seed: number
  ) {
    super()
    this.wallOffset = startsAt * 1000
  }

  run<A, E>(program: Effect.Effect<A, E>, limits: Limits): Effect.Effect<A, E | VirtualTimeError> {
    const random = SeededRandom.make(RandomStream.make(this.seed, "program"))
    const catchCulprit = (culprit: Culprit) => {
      this.culprit ??= culprit
      this.stopAt = 0
    }
    return trapped(RandomStream.make(this.seed, "Math.random").next, catchCulprit, () => {
      const fiber = Effect.runFork(program.pipe(Effect.withClock(this), Effect.withRandom(random)), {
        scheduler: this,
        // In its turn, so that it is the first of the participants.
        immediate: false
      })
      const stopped = this.drive(fiber, limits)
      if (stopped === undefined) return fiber.unsafePoll() as Exit.Exit<A, E>
      // The program cannot go on; its finalizers still get their turn.
      fiber.unsafeInterruptAsFork(FiberId.none)
      this.culprit = undefined
      this.drive(fiber, { maxSteps: this.steps + graceSteps, maxStepsAtOnce: graceSteps })
      return stopped
    })
  }

  /** Goes on until the fiber is done (`undefined`) or cannot be finished (the error). */
  private drive(fiber: Fiber.RuntimeFiber<unknown, unknown>, limits: Limits): VirtualTimeError | undefined {
    // What was called before the first turn has been caught by now.
    const allow = () => (this.stopAt = this.culprit ? 0 : Math.min(limits.maxSteps, this.steps + limits.maxStepsAtOnce))
    allow()
    for (;;) {
      this.drain()
      if (this.culprit !== undefined) {
        return new RealAsynchrony({ at: this.at(), call: this.culprit.call, callStack: this.culprit.stack })
      }
      if (fiber.unsafePoll() !== null) return undefined
      if (this.steps >= this.stopAt) {
        const TooMany = this.steps >= limits.maxSteps ? TooManySteps : Livelock
        return new TooMany({ at: this.at(), steps: this.steps, waiting: this.waiting() })
      }
      const sleep = this.sleeping.next()
      if (sleep === undefined) return new Deadlock({ at: this.at(), waiting: this.waiting() })
      if (sleep.until > this.micros) {
        this.micros = sleep.until
        allow()
      }
      sleep.wake(Effect.void)
    }
  }

  private waiting(): ReadonlyArray<string> {
    // Whoever spins would go on taking turns: it ends with the answer.
    const done = Effect.sync(() => (this.stopAt = 0))
    this.stopAt = this.steps + graceSteps
    const asking = Effect.runFork(Effect.ensuring(this.fibers.describe(), done), { scheduler: this })
    this.drain()
    const exit = asking.unsafePoll()
    return exit?._tag === "Success" ? exit.value : []
  }
}

/** What is left for finalizers, and for asking the fibers what they wait for, once a run has been stopped. */
const graceSteps = 100_000

// -----------------------------------------------------------------------------
// wall clock
// -----------------------------------------------------------------------------

/**
 * Steps the wall clock by so many milliseconds, forward or back, as an operator or a time server does. Monotonic time and every
 * sleep go on as if nothing had happened.
 *
 * Dies where the fiber does not run in virtual time.
 *
 * @example
 * ```ts
 * import { VirtualTime } from "@breakwater/simulation"
 * import { Clock, Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   yield* Effect.sleep("1 second")
 *   yield* VirtualTime.stepWallClock(3_600_000)
 *   return [yield* Clock.currentTimeMillis, yield* Clock.currentTimeNanos]
 * })
 * console.log(Effect.runSync(VirtualTime.run(program))) // [3601000, 1000000000n]
 * ```
 * @category wall clock
 * @since 0.1.0
 */
export const stepWallClock = (millis: number): Effect.Effect<void> =>
  Effect.clockWith((clock) =>
    Effect.sync(() => {
      if (!(clock instanceof Engine)) throw new Error("VirtualTime.stepWallClock: the fiber does not run in virtual time")
      clock.wallOffset += Math.round(millis * 1000)
    })
  )
