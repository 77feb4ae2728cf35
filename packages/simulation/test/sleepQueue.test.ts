import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FiberRef } from "effect"
import * as Cause from "effect/Cause"
import * as FastCheck from "effect/FastCheck"
import * as FiberId from "effect/FiberId"
import { type Sleep, SleepQueue } from "../src/internal/sleepQueue.js"

/** What the queue looks at in a fiber. */
const fiberThat = (is: { readonly done?: boolean; readonly interrupted?: boolean }): Sleep["fiber"] => {
  const fiber = Effect.runFork(Effect.never)
  const ref = <A>(wanted: FiberRef.FiberRef<A>): A =>
    (wanted as unknown) === FiberRef.interruptedCause && is.interrupted === true
      ? (Cause.interrupt(FiberId.none) as A)
      : fiber.getFiberRef(wanted)
  Effect.runFork(Fiber.interrupt(fiber))
  return Object.assign(Object.create(fiber), {
    unsafePoll: () => (is.done === true ? { _tag: "Success" } : null),
    getFiberRef: ref
  }) as Sleep["fiber"]
}

describe("SleepQueue", () => {
  it("gives out what a sorted list would, for any sequence of arrivals, interrupts and wake-ups", () => {
    const command = FastCheck.oneof(
      { weight: 5, arbitrary: FastCheck.record({ add: FastCheck.integer({ min: 0, max: 20 }) }) },
      { weight: 2, arbitrary: FastCheck.record({ interrupt: FastCheck.nat() }) },
      { weight: 3, arbitrary: FastCheck.constant("next" as const) }
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(command, { maxLength: 200, size: "max" }), (commands) => {
        const queue = new SleepQueue()
        let model: Array<{ readonly until: number; readonly order: number; readonly over: { done: boolean } }> = []
        let order = 0
        for (const command of commands) {
          if (command === "next") {
            const expected = model.sort((a, b) => a.until - b.until || a.order - b.order).shift()
            const next = queue.next()
            assert.deepStrictEqual(next && [next.until, next.order], expected && [expected.until, expected.order])
          } else if ("add" in command) {
            const over = { done: false }
            const fiber = {
              unsafePoll: () => (over.done ? {} : null),
              getFiberRef: () => Cause.empty
            } as unknown as Sleep["fiber"]
            queue.add(command.add, fiber, true, () => undefined)
            model.push({ until: command.add, order: order++, over })
          } else {
            const sleep = model[command.interrupt % model.length]
            if (sleep === undefined) continue
            sleep.over.done = true
            model = model.filter((other) => other !== sleep)
          }
          assert.deepStrictEqual(
            queue.all().map(({ order }) => order),
            model.sort((a, b) => a.until - b.until || a.order - b.order).map(({ order }) => order)
          )
        }
      })
    )
  })

  it.each([
    { what: "of a fiber that sleeps", fiber: {}, interruptible: true, over: false },
    { what: "of a fiber that is done", fiber: { done: true }, interruptible: true, over: true },
    { what: "of an interrupted fiber", fiber: { interrupted: true }, interruptible: true, over: true },
    { what: "that an interrupt cannot end", fiber: { interrupted: true }, interruptible: false, over: false }
  ])("knows whether a sleep is over: $what", ({ fiber, interruptible, over }) => {
    const queue = new SleepQueue()
    queue.add(1, fiberThat(fiber), interruptible, () => undefined)
    assert.strictEqual(queue.peek() === undefined, over)
  })

  it("does not keep what is over: a million timeouts that were beaten leave no million sleeps", () => {
    const queue = new SleepQueue()
    const done = fiberThat({ done: true })
    for (let n = 0; n < 1_000_000; n++) queue.add(1e9 + n, done, true, () => undefined)
    assert.isBelow((queue as unknown as { readonly heap: ReadonlyArray<Sleep> }).heap.length, 2000)
  })
})
