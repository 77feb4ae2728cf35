import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type { Scheduler } from "effect/Scheduler"
import { Participants } from "./participants.js"
import { SleepQueue } from "./sleepQueue.js"

/**
 * Time and order of a run: a clock in whole microseconds, the sleeps on it, and one queue of fibers that are ready. Who moves it
 * on is for those who extend it.
 */
export abstract class Engine implements Clock.Clock, Scheduler {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  /** Monotonic time since the start. */
  micros = 0
  /** How far the wall clock is ahead of the monotonic one. */
  wallOffset = 0
  /** Turns given to fibers. */
  steps = 0
  protected readonly sleeping = new SleepQueue()
  protected ready: Array<() => void> = []
  /** Who takes part, to be able to say what they wait for. */
  protected readonly fibers = new Participants()

  /** The number of steps at which {@link drain} stops; anyone may lower it while it runs. */
  protected stopAt = Infinity

  /** Gives every ready fiber its turn, and those who become ready by it, until none is left or it has to stop. */
  protected drain(): void {
    while (this.ready.length > 0) {
      // Those who become ready meanwhile come after all of these.
      const batch = this.ready
      this.ready = []
      for (let i = 0; i < batch.length; i++) {
        batch[i]!()
        if (++this.steps >= this.stopAt) {
          this.ready = batch.slice(i + 1).concat(this.ready)
          return
        }
      }
    }
  }

  /** Somebody has gone to sleep. */
  protected onSleep(): void {}

  at(): Duration.Duration {
    return Duration.millis(this.micros / 1000)
  }

  // Scheduler

  shouldYield(fiber: Fiber.RuntimeFiber<unknown, unknown>): number | false {
    if (fiber.currentOpCount <= fiber.getFiberRef(FiberRef.currentMaxOpsBeforeYield)) return false
    this.steps += stepsOfALongTurn
    return fiber.getFiberRef(FiberRef.currentSchedulingPriority)
  }

  scheduleTask(task: () => void, _priority: number, fiber?: Fiber.RuntimeFiber<unknown, unknown>): void {
    this.ready.push(task)
    if (fiber !== undefined) this.fibers.add(fiber)
  }

  // Clock

  unsafeCurrentTimeMillis(): number {
    return Math.floor((this.micros + this.wallOffset) / 1000)
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(this.micros) * 1000n
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())

  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const micros = toMicros(duration)
    if (micros === Infinity) return Effect.never
    return Effect.withFiberRuntime((fiber, { runtimeFlags }) =>
      Effect.async<void>((resume) => {
        this.sleeping.add(this.micros + micros, fiber, RuntimeFlags.interruptible(runtimeFlags), resume)
        this.onSleep()
      })
    )
  }
}

/**
 * What a turn counts for that ends only because the fiber is made to yield, after 2,048 operations: it takes as long as some
 * hundreds of ordinary ones, and a fiber that spins takes no others.
 */
const stepsOfALongTurn = 200

/** The one rounding of a sleep: half up to the whole microsecond. */
export const toMicros = (duration: Duration.Duration): number => Math.round(Duration.toMillis(duration) * 1000)

/** Whole microseconds of a clock's monotonic time. */
export const unsafeCurrentTimeMicros = (clock: Clock.Clock): number =>
  clock instanceof Engine ? clock.micros : Number(clock.unsafeCurrentTimeNanos() / 1000n)
