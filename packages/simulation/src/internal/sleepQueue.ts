/** One fiber's sleep. `index` is its place in the heap, -1 once it is out of it. */
export interface Sleep {
  readonly until: number
  readonly order: number
  readonly wake: () => void
  index: number
}

/**
 * The sleeps of a run, earliest first; equal instants wake in the order in which they arrived. A binary heap that knows where
 * each sleep stands, so that an interrupted one leaves in O(log n) instead of staying to be woken for nothing.
 */
export class SleepQueue {
  private readonly heap: Array<Sleep> = []
  private arrived = 0

  get size(): number {
    return this.heap.length
  }

  add(until: number, wake: () => void): Sleep {
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
