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
 * A program that waits for something virtual time cannot bring (a real timer, a promise, a deferred that nobody completes)
 * ends in {@link Deadlock}, one that never stops in {@link TooManySteps}: never in a hang.
 *
 * @since 0.1.0
 */
import { InvalidOption, RandomStream } from "@breakwater/core"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import type { Scheduler } from "effect/Scheduler"
import { SleepQueue } from "./internal/sleepQueue.js"
import * as SeededRandom from "./SeededRandom.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Seeds the `Random` of the program; a whole number. Default 0. */
  readonly seed?: number | undefined
  /** How many times a fiber may be given its turn before the run is called endless. Default 10 million. */
  readonly maxSteps?: number | undefined
}

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * The program is not done, nothing is ready to run and nobody sleeps.
 *
 * @category errors
 * @since 0.1.0
 */
export class Deadlock extends Data.TaggedError("Deadlock")<{
  /** Virtual time at which nothing was left to do. */
  readonly at: Duration.Duration
}> {
  override get message(): string {
    return (
      `Deadlock at ${Duration.format(this.at)} of virtual time: the program waits, and nothing is left that could wake it. ` +
      "It waits for another fiber for ever, or for something outside virtual time: a promise, a real timer, a callback."
    )
  }
}

/**
 * The program went on beyond the allowed number of steps.
 *
 * @category errors
 * @since 0.1.0
 */
export class TooManySteps extends Data.TaggedError("TooManySteps")<{
  readonly at: Duration.Duration
  readonly steps: number
}> {
  override get message(): string {
    return `Not done after ${this.steps} steps, at ${Duration.format(this.at)} of virtual time: an endless loop, or maxSteps is too low.`
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
export const run = <A, E>(
  program: Effect.Effect<A, E>,
  options: Options = {}
): Effect.Effect<A, E | Deadlock | TooManySteps> => {
  const maxSteps = InvalidOption.count("VirtualTime.run", "maxSteps", options.maxSteps ?? 10_000_000, 1)
  const seed = options.seed ?? 0
  return Effect.suspend(() => new Engine(RandomStream.make(seed, "program")).run(program, maxSteps))
}

/**
 * Whole microseconds of a clock's monotonic time.
 *
 * @internal
 */
export const unsafeCurrentTimeMicros = (clock: Clock.Clock): number =>
  clock instanceof Engine ? clock.micros : Number(clock.unsafeCurrentTimeNanos() / 1000n)

class Engine implements Clock.Clock, Scheduler {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  micros = 0
  private steps = 0
  private readonly sleeps = new SleepQueue()
  private ready: Array<() => void> = []

  constructor(private readonly random: RandomStream.RandomStream) {}

  run<A, E>(program: Effect.Effect<A, E>, maxSteps: number): Effect.Effect<A, E | Deadlock | TooManySteps> {
    const fiber = Effect.runFork(program.pipe(Effect.withClock(this), Effect.withRandom(SeededRandom.make(this.random))), {
      scheduler: this
    })
    const stopped = this.drive(fiber, maxSteps)
    if (stopped === undefined) return fiber.unsafePoll() as Exit.Exit<A, E>
    // The program cannot go on; its finalizers still get their turn.
    fiber.unsafeInterruptAsFork(FiberId.none)
    this.drive(fiber, this.steps + 100_000)
    return stopped
  }

  /** Goes on until the fiber is done (`undefined`) or cannot be finished (the error). */
  private drive(fiber: Fiber.RuntimeFiber<unknown, unknown>, maxSteps: number): Deadlock | TooManySteps | undefined {
    for (;;) {
      while (this.ready.length > 0) {
        // Tasks that arrive meanwhile come after all of these.
        const batch = this.ready
        this.ready = []
        for (const task of batch) {
          task()
          this.steps++
        }
        if (this.steps > maxSteps) return new TooManySteps({ at: this.at(), steps: this.steps })
      }
      if (fiber.unsafePoll() !== null) return undefined
      const sleep = this.sleeps.next()
      if (sleep === undefined) return new Deadlock({ at: this.at() })
      this.micros = sleep.until
      sleep.wake()
    }
  }

  private at(): Duration.Duration {
    return Duration.millis(this.micros / 1000)
  }

  // Scheduler

  shouldYield(fiber: Fiber.RuntimeFiber<unknown, unknown>): number | false {
    return fiber.currentOpCount > fiber.getFiberRef(FiberRef.currentMaxOpsBeforeYield)
      ? fiber.getFiberRef(FiberRef.currentSchedulingPriority)
      : false
  }

  scheduleTask(task: () => void): void {
    this.ready.push(task)
  }

  // Clock

  unsafeCurrentTimeMillis(): number {
    return Math.floor(this.micros / 1000)
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(this.micros) * 1000n
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())

  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const micros = Math.round(Duration.toMillis(duration) * 1000)
    if (micros === Infinity) return Effect.never
    return Effect.async<void>((resume) => {
      const sleep = this.sleeps.add(this.micros + micros, () => resume(Effect.void))
      return Effect.sync(() => this.sleeps.remove(sleep))
    })
  }
}
