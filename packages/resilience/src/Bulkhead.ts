/**
 * Bounds how many calls run at the same time, so that a dependency that is slow takes a part of the process and not all of it.
 *
 * ```text
 *              a permit is free
 * call  ------------------------------> runs -----> ends, however: its permit goes to the first that waits
 *   |                                    ^
 *   | none is free      permit           |
 *   +-------------> waits ---------------+
 *   |                 |
 *   | queue-full      | wait-limit
 *   +-----------------+---------------> BulkheadFull
 * ```
 *
 * First come, first served: a permit that becomes free is handed to who has waited longest, and nobody overtakes. Who is interrupted
 * while waiting has left the queue; a permit that was being handed to it goes on to the next.
 *
 * | metric                | kind    | labels               | counts                                                    |
 * | --------------------- | ------- | -------------------- | --------------------------------------------------------- |
 * | `bulkhead_running`    | gauge   | `bulkhead`           | calls that have a permit                                  |
 * | `bulkhead_waiting`    | gauge   | `bulkhead`           | calls in the queue                                        |
 * | `bulkhead_rejections` | counter | `bulkhead`, `reason` | calls that did not run: `queue-full`, `wait-limit`        |
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { dual } from "effect/Function"
import type * as Layer from "effect/Layer"
import { counter, gauge, memoized } from "./internal/metrics.js"
import { startTimer } from "./internal/sleep.js"
import { limitOption } from "./internal/limitOption.js"
import { serviceTag } from "./internal/serviceTag.js"
import { stackless } from "./internal/stackless.js"
import { BulkheadFull } from "./LocalRefusal.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export const TypeId: TypeId = "~@breakwater/resilience/Bulkhead"

/**
 * @category models
 * @since 0.1.0
 */
export type TypeId = "~@breakwater/resilience/Bulkhead"

/**
 * @category models
 * @since 0.1.0
 */
export interface Bulkhead {
  readonly [TypeId]: TypeId
  readonly name: string
  /** How many calls may run at the same time. */
  readonly permits: Effect.Effect<number>
  /** How many have a permit now. */
  readonly running: Effect.Effect<number>
  /** How many are in the queue now. */
  readonly waiting: Effect.Effect<number>
  /**
   * Changes the number of permits. With more of them, as many begin that wait; with fewer, the calls that run go on, and none begins
   * until enough have ended. A wrong number throws `InvalidOption`.
   */
  readonly resize: (permits: number) => Effect.Effect<void>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Its label in the metrics. Default "default". */
  readonly name?: string | undefined
  /** How many calls may run at the same time, at least 1. */
  readonly permits: number
  /** How many more may wait; `Infinity` without a bound. Default 0. */
  readonly queue?: number | undefined
  /** How long a call waits at most, at least 1 millisecond. Default: no limit. */
  readonly maxWait?: Duration.DurationInput | undefined
}

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

type Reason = "queue-full" | "wait-limit"

/** A call in the queue, and what has become of it: a permit is its own from the moment it is handed over. */
interface Waiter {
  outcome: "waits" | "admitted" | "wait-limit"
  /** Wakes its fiber; nothing before that has fallen asleep. */
  wake: () => void
}

/**
 * The queue is our own. `Effect.Semaphore` has no bound and tells nobody who waits, and it wakes its waiters to let them try, so that
 * a newcomer may take the permit first. The waiters of a `Set` leave from anywhere at the cost of one look, in the order in which
 * they came.
 *
 * Permits that are free and calls that wait are never there together: who gives a permit back, or adds some, hands them over in the
 * same step. Only a bulkhead that was made smaller has more running than permits.
 */
class Queue implements Bulkhead {
  readonly [TypeId]: TypeId = TypeId
  private taken = 0
  private readonly waiters = new Set<Waiter>()
  private readonly metrics

  constructor(
    readonly name: string,
    private size: number,
    private readonly limit: number,
    private readonly maxWait: number
  ) {
    this.metrics = {
      running: gauge("bulkhead_running", "Calls that have a permit", { bulkhead: name }),
      waiting: gauge("bulkhead_waiting", "Calls in the queue", { bulkhead: name }),
      rejections: memoized((reason: Reason) =>
        counter("bulkhead_rejections", "Calls that did not run", { bulkhead: name, reason })
      )
    }
  }

  readonly permits: Effect.Effect<number> = Effect.sync(() => this.size)
  readonly running: Effect.Effect<number> = Effect.sync(() => this.taken)
  readonly waiting: Effect.Effect<number> = Effect.sync(() => this.waiters.size)

  resize(permits: number): Effect.Effect<void> {
    const size = InvalidOption.count("Bulkhead.resize", "permits", permits, 1)
    return Effect.sync(() => {
      this.size = size
      this.handOver()
    })
  }

  /** A permit, a place in the queue, or neither. */
  enter(): "admitted" | Waiter | "queue-full" {
    if (this.taken < this.size) {
      this.taken++
      this.shownRunning()
      return "admitted"
    }
    // Compared, not added up: the bound may be any number there is.
    if (this.waiters.size >= this.limit) return "queue-full"
    const waiter: Waiter = { outcome: "waits", wake: () => undefined }
    this.waiters.add(waiter)
    this.shownWaiting()
    return waiter
  }

  /** Gives a permit back. */
  release(): void {
    this.taken--
    this.handOver()
  }

  /** Who is interrupted has left the queue, or gives back what it was handed. */
  leave(waiter: Waiter): void {
    if (waiter.outcome === "admitted") this.release()
    else this.remove(waiter)
  }

  /** A fiber that needs nothing but the clock; nothing where the wait has no limit. */
  startTimer(waiter: Waiter, fiber: Fiber.RuntimeFiber<unknown, unknown>): Fiber.RuntimeFiber<void> | undefined {
    if (this.maxWait === Infinity) return undefined
    const timer = startTimer(this.maxWait, fiber)
    timer.addObserver(() => {
      // It may have been handed a permit in this very turn, and not have had the time to end its timer.
      if (waiter.outcome !== "waits") return
      waiter.outcome = "wait-limit"
      this.remove(waiter)
      waiter.wake()
    })
    return timer
  }

  rejected(reason: Reason): Effect.Effect<never, BulkheadFull> {
    this.metrics.rejections(reason).unsafeUpdate(1, [])
    return Effect.fail(stackless(() => new BulkheadFull({ retryAfter: Duration.zero })))
  }

  private handOver(): void {
    for (const waiter of this.waiters) {
      if (this.taken >= this.size) break
      this.taken++
      waiter.outcome = "admitted"
      this.remove(waiter)
      waiter.wake()
    }
    this.shownRunning()
  }

  private remove(waiter: Waiter): void {
    if (this.waiters.delete(waiter)) this.shownWaiting()
  }

  private shownRunning(): void {
    this.metrics.running.unsafeUpdate(this.taken, [])
  }

  private shownWaiting(): void {
    this.metrics.waiting.unsafeUpdate(this.waiters.size, [])
  }
}

/** Waits until a waiter has an outcome, which it may have before its fiber falls asleep: it may be made to yield in between. */
const ofOutcome = (waiter: Waiter): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (waiter.outcome === "waits") waiter.wake = () => resume(Effect.void)
    else resume(Effect.void)
  })

/**
 * A bulkhead of its own.
 *
 * A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Bulkhead } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const bulkhead = yield* Bulkhead.make({ permits: 2, queue: 1 })
 *   const call = Bulkhead.withPermit(Effect.as(Effect.sleep("10 millis"), "answer"), bulkhead)
 *   // two run, one waits, one is refused
 *   return yield* Effect.all([call, call, call, Effect.flip(call)], { concurrency: "unbounded" })
 * })
 * const [first, second, third, fourth] = await Effect.runPromise(program)
 * console.log(first, second, third, fourth instanceof Error && fourth.message) // answer answer answer The bulkhead is full
 * ```
 * @category make
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Bulkhead> => {
  const where = "Bulkhead.make"
  const permits = InvalidOption.count(where, "permits", options.permits, 1)
  const queue = InvalidOption.count(where, "queue", options.queue ?? 0)
  const maxWait = limitOption(where, "maxWait", options.maxWait ?? Duration.infinity, 1)
  return Effect.sync(() => new Queue(options.name ?? "default", permits, queue, maxWait))
}

// -----------------------------------------------------------------------------
// layers
// -----------------------------------------------------------------------------

/**
 * The class that {@link Tag} makes.
 *
 * @category layers
 * @since 0.1.0
 */
export interface TagClass<Self, Id extends string> extends Context.TagClass<Self, Id, Bulkhead> {
  /** A bulkhead that lives as long as the layer. A layer that is provided twice is two bulkheads. */
  readonly layer: (options: Omit<Options, "name">) => Layer.Layer<Self>
  /** As `layer`, from the configuration; a wrong value fails and names its key. */
  readonly layerConfig: (options: Config.Config.Wrap<Omit<Options, "name">>) => Layer.Layer<Self, ConfigError.ConfigError>
}

/**
 * The bulkhead of one dependency, as a service.
 *
 * @example
 * ```ts
 * import { Bulkhead } from "@breakwater/resilience"
 * import { Config, Effect } from "effect"
 *
 * class PaymentsBulkhead extends Bulkhead.Tag("PaymentsBulkhead")<PaymentsBulkhead>() {}
 *
 * declare const charge: (order: string) => Effect.Effect<string, "unavailable">
 *
 * const program = Effect.flatMap(PaymentsBulkhead, (bulkhead) => Bulkhead.withPermit(charge("order 7"), bulkhead))
 *
 * const fixedHere = Effect.provide(program, PaymentsBulkhead.layer({ permits: 20, queue: 40, maxWait: "1 second" }))
 * const fromTheEnvironment = Effect.provide(
 *   program,
 *   PaymentsBulkhead.layerConfig({ permits: Config.integer("PAYMENTS_PERMITS"), queue: Config.succeed(40) })
 * )
 * ```
 * @category layers
 * @since 0.1.0
 */
export const Tag =
  <const Id extends string>(id: Id) =>
  <Self>(): TagClass<Self, Id> =>
    serviceTag<Self, Id, Bulkhead, Omit<Options, "name">>(id, (options) => make({ ...options, name: id }))

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Runs an effect when the bulkhead has a permit for it, and gives the permit back when it has ended, however it ends. Where a permit
 * is free that costs no fiber and no timer.
 *
 * An effect that asks for a second permit of the same bulkhead may wait for itself.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withPermit: {
  (bulkhead: Bulkhead): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | BulkheadFull, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, bulkhead: Bulkhead): Effect.Effect<A, E | BulkheadFull, R>
} = dual(2, <A, E, R>(self: Effect.Effect<A, E, R>, bulkhead: Bulkhead): Effect.Effect<A, E | BulkheadFull, R> => {
  const queue = bulkhead as Queue
  return Effect.uninterruptibleMask((restore) => {
    const run = () =>
      Effect.flatMap(Effect.exit(restore(self)), (exit) => {
        queue.release()
        return exit
      })
    return Effect.withFiberRuntime<A, E | BulkheadFull, R>((fiber) => {
      const entered = queue.enter()
      if (entered === "admitted") return run()
      if (entered === "queue-full") return queue.rejected(entered)
      const timer = queue.startTimer(entered, fiber)
      // The waiter and not the end of its wait says whether a permit is its own: it may be interrupted and admitted at once.
      return Effect.matchCauseEffect(restore(ofOutcome(entered)), {
        onFailure: (cause): Effect.Effect<never> => {
          timer?.unsafeInterruptAsFork(fiber.id())
          queue.leave(entered)
          return Effect.failCause(cause)
        },
        onSuccess: (): Effect.Effect<A, E | BulkheadFull, R> => {
          if (entered.outcome === "wait-limit") return queue.rejected(entered.outcome)
          timer?.unsafeInterruptAsFork(fiber.id())
          return run()
        }
      })
    })
  })
})
