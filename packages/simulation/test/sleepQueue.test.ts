import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { type Sleep, SleepQueue } from "../src/internal/sleepQueue.js"

describe("SleepQueue", () => {
  it("gives out what a sorted list would, for any sequence of arrivals, removals and wake-ups", () => {
    const command = FastCheck.oneof(
      { weight: 5, arbitrary: FastCheck.record({ add: FastCheck.integer({ min: 0, max: 20 }) }) },
      { weight: 2, arbitrary: FastCheck.record({ remove: FastCheck.nat() }) },
      { weight: 3, arbitrary: FastCheck.constant("next" as const) }
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(command, { maxLength: 200 }), (commands) => {
        const queue = new SleepQueue()
        let model: Array<Sleep> = []
        const gone: Array<Sleep> = []
        for (const command of commands) {
          if (command === "next") {
            const expected = model.sort((a, b) => a.until - b.until || a.order - b.order).shift()
            const next = queue.next()
            assert.strictEqual(next, expected)
            if (next !== undefined) gone.push(next)
          } else if ("add" in command) {
            model.push(queue.add(command.add, () => undefined))
          } else {
            // Those that are gone too: an interrupt may come after the wake-up.
            const sleep = [...model, ...gone][command.remove % (model.length + gone.length)]
            if (sleep === undefined) continue
            queue.remove(sleep)
            model = model.filter((other) => other !== sleep)
            gone.push(sleep)
          }
          assert.strictEqual(queue.size, model.length)
        }
      })
    )
  })
})
