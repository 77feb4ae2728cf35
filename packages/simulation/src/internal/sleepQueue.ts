import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"

/** One fiber's sleep. */
export interface Sleep {
  readonly until: number
  readonly order: number
  readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  /** Whether an interrupt of the fiber ends it. */
  readonly interruptible: boolean
  /** How the fiber goes on: with nothing, or with the reason why it may sleep no longer. */
  readonly wake: (result: Effect.Effect<void>) => void
}

/**
 * The sleeps of a run, earliest first; equal instants wake in the order in which they arrived.
 *
 * A sleep whose fiber has been interrupted is over, though nobody says so: a finalizer on every sleep would cost more than the
 * sleep. It is found out when it would wake, and when so many have come that a sweep is worth it.
 */
export class SleepQueue {
  private heap: Array<Sleep> = []
  private arrived = 0
  private sweepAt = 1024

  add(until: number, fiber: Sleep["fiber"], interruptible: boolean, wake: Sleep["wake"]): void {
    if (this.heap.length >= this.sweepAt) this.sweep()
    const sleep: Sleep = { until, order: this.arrived++, fiber, interruptible, wake }
    this.rise(sleep, this.heap.length)
  }

  /** The sleep that ends first. */
  peek(): Sleep | undefined {
    while (this.heap.length > 0 && isOver(this.heap[0]!)) this.takeFirst()
    return this.heap[0]
  }

  /** Takes out the sleep that ends first. */
  next(): Sleep | undefined {
    const first = this.peek()
    if (first !== undefined) this.takeFirst()
    return first
  }

  /** All sleeps, in the order in which they would wake. */
  all(): ReadonlyArray<Sleep> {
    return this.heap.filter((sleep) => !isOver(sleep)).sort((a, b) => (before(a, b) ? -1 : 1))
  }

  /** Exchanges what is in the queue for what {@link all} has given earlier: in order it is a heap as it stands. */
  replaceWith(sleeps: ReadonlyArray<Sleep>): void {
    this.heap = sleeps.slice()
  }

  private sweep(): void {
    this.replaceWith(this.all())
    this.sweepAt = Math.max(1024, 2 * this.heap.length)
  }

  private takeFirst(): void {
    const last = this.heap.pop()!
    if (this.heap.length > 0) this.sink(last, 0)
  }

  private rise(sleep: Sleep, from: number): void {
    const heap = this.heap
    let index = from
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (before(heap[parent]!, sleep)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = sleep
  }

  private sink(sleep: Sleep, from: number): void {
    const heap = this.heap
    let index = from
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (before(sleep, heap[child]!)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = sleep
  }
}

const before = (a: Sleep, b: Sleep): boolean => a.until < b.until || (a.until === b.until && a.order < b.order)

const isOver = ({ fiber, interruptible }: Sleep): boolean =>
  fiber.unsafePoll() !== null || (interruptible && fiber.getFiberRef(FiberRef.interruptedCause)._tag !== "Empty")
