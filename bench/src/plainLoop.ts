/**
 * What virtual time costs at the least: a heap of callbacks and a loop, without Effect.
 */
export class PlainLoop {
  now = 0
  private order = 0
  private readonly heap: Array<{ readonly at: number; readonly order: number; readonly act: () => void }> = []

  plan(at: number, act: () => void): void {
    const heap = this.heap
    const entry = { at, order: this.order++, act }
    let index = heap.push(entry) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (before(heap[parent]!, entry)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = entry
  }

  run(until = Infinity): void {
    for (let next = this.take(); next !== undefined; next = this.take()) {
      if (next.at > until) return
      this.now = next.at
      next.act()
    }
  }

  private take() {
    const heap = this.heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (before(last, heap[child]!)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
    return first
  }
}

const before = (a: { readonly at: number; readonly order: number }, b: { readonly at: number; readonly order: number }) =>
  a.at < b.at || (a.at === b.at && a.order < b.order)
