import { it } from "@breakwater/simulation/vitest"
import { Clock, Effect, Fiber, TestClock } from "effect"
import { assert, describe, expect } from "vitest"

describe("it", () => {
  it("is vitest's own it", () => {
    expect(1 + 1).toBe(2)
  })

  it.effect("lets the test move the clock", () =>
    Effect.gen(function* () {
      const sleeper = yield* Effect.fork(Effect.zipRight(Effect.sleep("1 day"), Clock.currentTimeMillis))
      yield* TestClock.adjust("1 day")
      assert.strictEqual(yield* Fiber.join(sleeper), 86_400_000)
    })
  )

  it.effect("starts every test at 0", () => Effect.map(Clock.currentTimeMillis, (now) => assert.strictEqual(now, 0)))

  it.virtual("C89: moves time by itself: the test just sleeps", () =>
    Effect.gen(function* () {
      yield* Effect.sleep("1 day")
      assert.strictEqual(yield* Clock.currentTimeMillis, 86_400_000)
    })
  )

  it.scoped("has a scope", () => Effect.acquireRelease(Effect.void, () => Effect.void))
  it.virtual("has a scope in virtual time too", () => Effect.acquireRelease(Effect.void, () => Effect.sleep("1 hour")))

  it.effect.each([1, 2, 3])("takes each value: %i", (n) => Effect.sync(() => assert.isAbove(n, 0)))
  it.effect.fails("fails where the effect fails", () => Effect.fail(new Error("no")))
  it.virtual.fails("fails where the program deadlocks", () => Effect.never)
  it.effect.runIf(true)("runs if", () => Effect.void)
})
