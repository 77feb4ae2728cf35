/**
 * A drop-in for Effect's `TestClock`: the same operations (`adjust`, `setTime`, `sleep`, `save`, `sleeps`) on the clock, queue and
 * seeded `Random` of virtual time. Tests written for the stock clock run as they are, hundreds of times faster per wake-up, and a
 * test that would hang fails with what is wrong.
 *
 * Time moves only when the test moves it. Before each step of the clock every ready fiber has its turn and the real event loop
 * turns once, so promises that can settle have settled.
 *
 * What differs from the stock clock:
 *
 * - sleeps that end at the same instant wake in the order in which they began (stock: in reverse), and `sleeps` lists them in the
 *   order in which they will wake (stock: latest first)
 * - time is whole microseconds, `currentTimeMillis` whole milliseconds
 * - a sleep whose fiber is interrupted or done is gone from `sleeps`, also after a `save` was restored (stock: it stays)
 * - `Random` is seeded
 * - an `adjust` never moves the clock back, also where it overlaps with another; `setTime` does
 * - {@link ClockNotMoved} and {@link EndlessAdjust} instead of a hang
 *
 * @since 0.1.0
 */
import { InvalidOption, RandomStream } from "@breakwater/core"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as DefaultServices from "effect/DefaultServices"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as TestAnnotationMap from "effect/TestAnnotationMap"
import * as TestAnnotations from "effect/TestAnnotations"
import type { TestClock } from "effect/TestClock"
import * as TestConfig from "effect/TestConfig"
import * as TestLive from "effect/TestLive"
import * as TestServices from "effect/TestServices"
import * as TestSized from "effect/TestSized"
import { Engine, toMicros } from "./internal/engine.js"
import { after, afterTurn, soon } from "./internal/realAsynchrony.js"
import * as SeededRandom from "./SeededRandom.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Seeds the test's `Random`; a whole number. Default 0. */
  readonly seed?: number | undefined
  /**
   * How long, in real time, nothing may happen while fibers sleep and nobody moves the clock, before {@link ClockNotMoved}. A test
   * that waits longer for something real (a server, a file) raises it. Default 2 seconds.
   */
  readonly patience?: Duration.DurationInput | undefined
  /** How many turns fibers may take within one `adjust` before {@link EndlessAdjust}. Default 10 million. */
  readonly maxSteps?: number | undefined
}

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * Fibers sleep, nothing else happens, and nobody moves the clock. Most often the test sleeps itself, or waits for a fiber that does,
 * where it should fork first, adjust, then join.
 *
 * Kills the sleeping fibers, as a defect.
 *
 * @category errors
 * @since 0.1.0
 */
export class ClockNotMoved extends Data.TaggedError("ClockNotMoved")<{
  readonly at: Duration.Duration
  /** When each sleep would end. */
  readonly sleeps: ReadonlyArray<Duration.Duration>
}> {
  override get message(): string {
    const ends = this.sleeps.slice(0, 10).map((end) => Duration.format(end))
    const more = this.sleeps.length > 10 ? `, and ${this.sleeps.length - 10} more` : ""
    return (
      `The test clock stands at ${Duration.format(this.at)}, fibers sleep until ${ends.join(", ")}${more}, and nobody moves the ` +
      "clock. Fork what sleeps, then call TestClock.adjust, then join it; or run the test with `it.virtual`, where time moves by itself."
    )
  }
}

/**
 * One `adjust` took more turns than allowed: fibers that spin without a sleep, or ticks too many for the time it skips.
 *
 * Kills the fiber that adjusts, as a defect.
 *
 * @category errors
 * @since 0.1.0
 */
export class EndlessAdjust extends Data.TaggedError("EndlessAdjust")<{
  readonly at: Duration.Duration
  readonly target: Duration.Duration
  readonly steps: number
}> {
  override get message(): string {
    return (
      `Adjusting the test clock to ${Duration.format(this.target)} has taken ${this.steps} steps and stands at ` +
      `${Duration.format(this.at)}: something spins without a sleep, or ticks too often for a jump this long.`
    )
  }
}

// -----------------------------------------------------------------------------
// layers
// -----------------------------------------------------------------------------

/**
 * Takes the place of `TestContext.TestContext`. Each building of the layer is a clock of its own.
 *
 * @example
 * ```ts
 * import { TestTime } from "@breakwater/simulation"
 * import { Clock, Effect, Fiber, TestClock } from "effect"
 *
 * const test = Effect.gen(function* () {
 *   const sleeper = yield* Effect.fork(Effect.zipRight(Effect.sleep("1 day"), Clock.currentTimeMillis))
 *   yield* TestClock.adjust("1 day")
 *   return yield* Fiber.join(sleeper)
 * })
 *
 * console.log(await Effect.runPromise(Effect.provide(test, TestTime.layer()))) // 86400000
 * ```
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<TestServices.TestServices> => {
  const where = "TestTime.layer"
  const maxSteps = InvalidOption.count(where, "maxSteps", options.maxSteps ?? 10_000_000, 1)
  const patience = Duration.toMillis(options.patience ?? 2000)
  // One layer: built from the layers of `TestContext` it would cost some milliseconds more in every test.
  return Layer.scopedContext(
    Effect.gen(function* () {
      const engine = new TestEngine(maxSteps, patience)
      const services = Context.empty().pipe(
        Context.add(TestAnnotations.TestAnnotations, TestAnnotations.make(yield* Ref.make(TestAnnotationMap.empty()))),
        Context.add(TestLive.TestLive, TestLive.make(DefaultServices.liveServices)),
        Context.add(TestSized.TestSized, TestSized.make(100)),
        Context.add(TestConfig.TestConfig, TestConfig.make({ repeats: 100, retries: 100, samples: 200, shrinks: 1000 }))
      )
      yield* Effect.locallyScoped(TestServices.currentServices, services)
      yield* Effect.withClockScoped(engine)
      yield* Effect.withRandomScoped(SeededRandom.make(RandomStream.make(options.seed ?? 0, "program")))
      yield* Effect.locallyScoped(FiberRef.currentScheduler, engine)
      yield* Effect.addFinalizer(() => Effect.sync(() => engine.close()))
      return services
    })
  )
}

/** Moves time when it is told to. */
class TestEngine extends Engine implements TestClock {
  private draining = false
  private called = false
  private adjusting = 0
  private stopWatching: (() => void) | undefined

  constructor(
    private readonly maxSteps: number,
    private readonly patience: number
  ) {
    super()
  }

  // Fibers get their turn as soon as the event loop comes by, not only when the clock is moved.

  override scheduleTask(task: () => void, priority: number, fiber?: Fiber.RuntimeFiber<unknown, unknown>): void {
    super.scheduleTask(task, priority, fiber)
    this.call()
  }

  protected override onSleep(): void {
    this.call()
  }

  private call(): void {
    if (this.draining || this.called) return
    this.called = true
    soon(() => this.comeBy())
  }

  private comeBy(): void {
    this.called = false
    this.takeTurns()
    this.watch()
  }

  private takeTurns(): void {
    this.draining = true
    this.stopAt = this.steps + turnsAtOnce
    this.drain()
    this.draining = false
    // Whoever spins leaves the event loop its turn, so that a timeout of the test still comes.
    if (this.ready.length > 0 && !this.called) {
      this.called = true
      afterTurn(() => this.comeBy())
    }
  }

  // A test that hangs says so.

  private watch(): void {
    this.stopWatching?.()
    this.stopWatching = undefined
    if (this.sleeping.peek() === undefined || this.adjusting > 0 || this.patience === Infinity) return
    const seen = this.steps
    this.stopWatching = after(this.patience, () => {
      if (this.steps !== seen || this.adjusting > 0) return
      const sleeping = this.sleeping.all()
      const error = new ClockNotMoved({ at: this.at(), sleeps: sleeping.map(({ until }) => Duration.millis(until / 1000)) })
      this.sleeping.replaceWith([])
      for (const sleep of sleeping) sleep.wake(Effect.die(error))
    })
  }

  close(): void {
    this.stopWatching?.()
    this.stopWatching = undefined
  }

  // Moving the clock

  adjust(duration: Duration.DurationInput): Effect.Effect<void> {
    const micros = toMicros(Duration.decode(duration))
    return this.moveTo(() => this.micros + micros, false)
  }

  adjustWith(duration: Duration.DurationInput): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> {
    return (effect) => Effect.zipLeft(effect, this.adjust(duration), { concurrent: true })
  }

  setTime(millis: number): Effect.Effect<void> {
    return this.moveTo(() => Math.round(millis * 1000), true)
  }

  /** The target is asked for once everything is quiet, as the stock clock does. */
  private moveTo(target: () => number, back: boolean): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      this.adjusting++
      const before = this.steps
      let end: number | undefined
      const finish = (result: Effect.Effect<void>) => {
        this.adjusting--
        resume(result)
      }
      const step = (): void => {
        end ??= target()
        if (this.steps - before >= this.maxSteps) {
          const steps = this.steps - before
          return finish(Effect.die(new EndlessAdjust({ at: this.at(), target: Duration.millis(end / 1000), steps })))
        }
        const first = this.sleeping.peek()
        if (first === undefined || first.until > end) {
          this.micros = back ? end : Math.max(this.micros, end)
          return finish(Effect.void)
        }
        this.micros = Math.max(this.micros, first.until)
        for (let due = this.sleeping.peek(); due !== undefined && due.until <= first.until; due = this.sleeping.peek()) {
          this.sleeping.next()!.wake(Effect.void)
          this.takeTurns()
        }
        settle()
      }
      const settle = (): void =>
        afterTurn(() => {
          this.takeTurns()
          if (this.ready.length > 0 && this.steps - before < this.maxSteps) settle()
          else step()
        })
      settle()
    })
  }

  get save(): Effect.Effect<Effect.Effect<void>> {
    return Effect.sync(() => {
      const { micros } = this
      const sleeping = this.sleeping.all()
      return Effect.sync(() => {
        this.micros = micros
        this.sleeping.replaceWith(sleeping)
      })
    })
  }

  get sleeps(): Effect.Effect<Chunk.Chunk<number>> {
    return Effect.sync(() => Chunk.fromIterable(this.sleeping.all().map(({ until }) => until / 1000)))
  }
}

const turnsAtOnce = 10_000
