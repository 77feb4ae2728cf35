import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberStatus from "effect/FiberStatus"

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

/**
 * The fibers of a run, in the order in which they first had something to do. Their tree does not do: what `Effect.all` and
 * `Effect.forEach` run concurrently are nobody's children.
 */
export class Participants {
  private readonly fibers = new Set<AnyFiber>()
  private sweepAt = 1024

  add(fiber: AnyFiber): void {
    this.fibers.add(fiber)
    if (this.fibers.size > this.sweepAt) this.sweep()
  }

  /**
   * What each of those that are not done waits for, a line a fiber. They are numbered by their order here: their own numbers are
   * counted across the whole process.
   */
  describe(): Effect.Effect<ReadonlyArray<string>> {
    this.sweep()
    const fibers = Array.from(this.fibers)
    const numbers = new Map(fibers.map((fiber, index) => [FiberId.threadName(fiber.id()), index + 1]))
    return Effect.forEach(fibers, (fiber, index) =>
      Effect.map(fiber.status, (status) => {
        const span = fiber.currentSpan?._tag === "Span" ? ` (${fiber.currentSpan.name})` : ""
        return `fiber ${index + 1}${span} ${waitsFor(status, numbers)}`
      })
    )
  }

  private sweep(): void {
    for (const fiber of this.fibers) if (fiber.unsafePoll() !== null) this.fibers.delete(fiber)
    this.sweepAt = Math.max(1024, 2 * this.fibers.size)
  }
}

const waitsFor = (status: FiberStatus.FiberStatus, numbers: ReadonlyMap<string, number>): string => {
  if (!FiberStatus.isSuspended(status)) return "is running"
  const on = numbers.get(FiberId.threadName(status.blockingOn))
  return on === undefined ? "waits" : `waits for fiber ${on}, or for something it made`
}
