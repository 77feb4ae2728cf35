import { InvalidOption } from "@breakwater/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Metric from "effect/Metric"
import type { Bulkhead, Options } from "../Bulkhead.js"
import { BulkheadFull } from "../LocalRefusal.js"
import type { Arrival, Guard, Pass } from "./guard.js"
import { limitOption } from "./limitOption.js"
import { counter, gauge, memoized } from "./metrics.js"
import { startTimer } from "./sleep.js"
import { stackless } from "./stackless.js"

export const TypeId = "~@breakwater/resilience/Bulkhead"

type Reason = "queue-full" | "wait-limit"

/** Where a bulkhead tells how it stands. */
interface Meters {
  readonly running: Metric.Metric.Gauge<number> | undefined
  readonly waiting: Metric.Metric.Gauge<number> | undefined
  readonly rejections: (reason: Reason) => Metric.Metric.Counter<number>
}

/** `many`: bulkheads that share a name tell no numbers, since each would overwrite the other's. */
const metersOf = (bulkhead: string, many: boolean): Meters => ({
  running: many ? undefined : gauge("bulkhead_running", "Calls that have a permit", { bulkhead }),
  waiting: many ? undefined : gauge("bulkhead_waiting", "Calls in the queue", { bulkhead }),
  rejections: memoized((reason) => counter("bulkhead_rejections", "Calls that did not run", { bulkhead, reason }))
})

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
class Queue implements Bulkhead, Guard<BulkheadFull> {
  readonly [TypeId] = TypeId
  private taken = 0
  private readonly waiters = new Set<Waiter>()

  constructor(
    readonly name: string,
    private size: number,
    private readonly limit: number,
    private readonly maxWait: number,
    private readonly meters: Meters
  ) {}

  get permits(): Effect.Effect<number> {
    return Effect.sync(() => this.size)
  }
  get running(): Effect.Effect<number> {
    return Effect.sync(() => this.taken)
  }
  get waiting(): Effect.Effect<number> {
    return Effect.sync(() => this.waiters.size)
  }

  resize(permits: number): Effect.Effect<void> {
    const size = InvalidOption.count("Bulkhead.resize", "permits", permits, 1)
    return Effect.sync(() => {
      this.size = size
      this.handOver()
    })
  }

  admit(arrival: Arrival): Pass | Effect.Effect<Pass, BulkheadFull> {
    if (this.taken < this.size) {
      this.taken++
      this.shownRunning()
      return this.pass
    }
    const refusal = this.refusal()
    if (refusal !== undefined) return refusal
    const waiter: Waiter = { outcome: "waits", wake: () => undefined }
    this.waiters.add(waiter)
    this.shownWaiting()
    return this.waited(waiter, arrival)
  }

  refusal(): Exit.Exit<never, BulkheadFull> | undefined {
    // Compared, not added up: the bound may be any number there is.
    return this.taken >= this.size && this.waiters.size >= this.limit ? this.rejected("queue-full") : undefined
  }

  private readonly pass: Pass = { settle: () => this.release() }

  private release(): undefined {
    this.taken--
    this.handOver()
  }

  private waited(waiter: Waiter, { fiber, patience, restore }: Arrival): Effect.Effect<Pass, BulkheadFull> {
    const maxWait = Math.min(this.maxWait, patience)
    const stopTimer = maxWait === Infinity ? undefined : startTimer(maxWait, fiber, () => this.outOfPatience(waiter))
    // The waiter and not the end of its wait says whether a permit is its own: it may be interrupted and admitted at once.
    return Effect.matchCauseEffect(restore(ofOutcome(waiter)), {
      onFailure: (cause): Effect.Effect<never> => {
        stopTimer?.()
        if (waiter.outcome === "admitted") this.release()
        else this.remove(waiter)
        return Effect.failCause(cause)
      },
      onSuccess: (): Effect.Effect<Pass, BulkheadFull> => {
        if (waiter.outcome === "wait-limit") return this.rejected(waiter.outcome)
        stopTimer?.()
        return Effect.succeed(this.pass)
      }
    })
  }

  private outOfPatience(waiter: Waiter): void {
    // It may have been handed a permit in this very turn, and not have had the time to end its timer.
    if (waiter.outcome !== "waits") return
    waiter.outcome = "wait-limit"
    this.remove(waiter)
    waiter.wake()
  }

  private rejected(reason: Reason): Exit.Exit<never, BulkheadFull> {
    this.meters.rejections(reason).unsafeUpdate(1, [])
    return Exit.fail(stackless(() => new BulkheadFull({ bulkhead: this.name, retryAfter: Duration.zero })))
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
    this.meters.running?.unsafeUpdate(this.taken, [])
  }

  private shownWaiting(): void {
    this.meters.waiting?.unsafeUpdate(this.waiters.size, [])
  }
}

/** Waits until a waiter has an outcome, which it may have before its fiber falls asleep: it may be made to yield in between. */
const ofOutcome = (waiter: Waiter): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (waiter.outcome === "waits") waiter.wake = () => resume(Effect.void)
    else resume(Effect.void)
  })

/** Checks the options at once; `many` are going to share their name. */
export const make = (options: Options, many = options.name === undefined): Effect.Effect<Bulkhead> => {
  const where = "Bulkhead.make"
  const permits = InvalidOption.count(where, "permits", options.permits, 1)
  const queue = InvalidOption.count(where, "queue", options.queue ?? 0)
  const maxWait = limitOption(where, "maxWait", options.maxWait ?? Duration.infinity, 1)
  const name = options.name ?? "default"
  const meters = metersOf(name, many)
  return Effect.sync(() => new Queue(name, permits, queue, maxWait, meters))
}

/** Every bulkhead there is was made here. */
export const guardOf = (bulkhead: Bulkhead): Guard<BulkheadFull> => bulkhead as Queue
