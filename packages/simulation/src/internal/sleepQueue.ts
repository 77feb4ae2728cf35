import type * as Effect from "effect/Effect"

/** How a sleeping fiber goes on: with nothing, or with the reason why it may sleep no longer. */
type Wake = (result: Effect.Effect<void>) => void

/** One fiber's sleep. `index` is its place in the heap, -1 once it is out of it. */
export interface Sleep {
  readonly until: number
  readonly order: number
  readonly wake: Wake
  index: number
}

/**
 * The sleeps of a run, earliest first; equal instants wake in the order in which they arrived. A binary heap that knows where
 * each sleep stands, so that an interrupted one leaves in O(log n) instead of staying to be woken for nothing.
 */
export class SleepQueue {
  private heap: Array<Sleep> = []
  private arrived = 0

  get size(): number {
    return this.heap.length
  }

  /** When the sleep that ends first ends; Infinity where nobody sleeps. */
  get earliest(): number {
    return this.heap.length === 0 ? Infinity : this.heap[0]!.until
  }

  add(until: number, wake: Wake): Sleep {
    const sleep: Sleep = { until, order: this.arrived++, wake, index: this.heap.length }
    this.heap.push(sleep)
    this.rise(sleep)
    return sleep
  }

  remove(sleep: Sleep): void {
    if (sleep.index === -1) return
    const last = this.heap.pop()!
    if (last !== sleep) {
      this.place(last, sleep.index)
      this.rise(last)
      this.sink(last)
    }
    sleep.index = -1
  }

  /** Takes out the sleep that ends first. */
  next(): Sleep | undefined {
    const first = this.heap[0]
    if (first !== undefined) this.remove(first)
    return first
  }

  /** All sleeps, in the order in which they would wake. */
  all(): ReadonlyArray<Sleep> {
    return this.heap.slice().sort((a, b) => (before(a, b) ? -1 : 1))
  }

  /** Exchanges what is in the queue for what {@link all} has given earlier. */
  replaceWith(sleeps: ReadonlyArray<Sleep>): void {
    for (const sleep of this.heap) sleep.index = -1
    // In order they are a heap as they stand.
    this.heap = sleeps.slice()
    this.heap.forEach((sleep, index) => (sleep.index = index))
  }

  private place(sleep: Sleep, index: number): void {
    this.heap[index] = sleep
    sleep.index = index
  }

  private rise(sleep: Sleep): void {
    while (sleep.index > 0) {
      const parent = this.heap[(sleep.index - 1) >> 1]!
      if (before(parent, sleep)) return
      this.swap(parent, sleep)
    }
  }

  private sink(sleep: Sleep): void {
    for (;;) {
      const left = this.heap[2 * sleep.index + 1]
      const right = this.heap[2 * sleep.index + 2]
      const child = left !== undefined && right !== undefined && before(right, left) ? right : left
      if (child === undefined || before(sleep, child)) return
      this.swap(sleep, child)
    }
  }

  private swap(upper: Sleep, lower: Sleep): void {
    const index = upper.index
    this.place(upper, lower.index)
    this.place(lower, index)
  }
}

const before = (a: Sleep, b: Sleep): boolean => a.until < b.until || (a.until === b.until && a.order < b.order)
