import { AttemptTimeout } from "@breakwater/resilience"
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as LiveTimer from "../src/internal/liveTimer.js"

describe("a timer of real time", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const startedFor = (millis: number) => {
    const seen = { calls: 0, stop: () => undefined as void }
    seen.stop = LiveTimer.start(millis, () => seen.calls++)
    return seen
  }

  it("calls back once, at its time", () => {
    const seen = startedFor(100)
    vi.advanceTimersByTime(99)
    assert.strictEqual(seen.calls, 0)
    vi.advanceTimersByTime(1000)
    assert.deepStrictEqual([seen.calls, vi.getTimerCount()], [1, 0])
  })

  it("waits for more than the platform's timers can, neither early nor never", () => {
    const days = 24 * 60 * 60 * 1000
    const seen = startedFor(60 * days)
    vi.advanceTimersByTime(60 * days - 1)
    assert.strictEqual(seen.calls, 0)
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual([seen.calls, vi.getTimerCount()], [1, 0])
  })

  it.each([0, 1, 30])("leaves nothing behind where it is stopped after %d days", (days) => {
    const seen = startedFor(60 * 24 * 60 * 60 * 1000)
    vi.advanceTimersByTime(days * 24 * 60 * 60 * 1000)
    seen.stop()
    assert.strictEqual(vi.getTimerCount(), 0)
    vi.advanceTimersByTime(100 * 24 * 60 * 60 * 1000)
    assert.strictEqual(seen.calls, 0)
  })
})

describe("a time limit in real time", () => {
  it("cuts, and leaves no timer behind where it did not have to", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length
    const before = timers()
    const cut = await Effect.runPromise(Effect.exit(AttemptTimeout.timeout(Effect.never, 5)))
    assert.isTrue(Exit.isFailure(cut))
    const ended = await Effect.runPromise(
      AttemptTimeout.timeout(
        Effect.promise(() => Promise.resolve(1)),
        "1 hour"
      )
    )
    assert.deepStrictEqual([ended, timers() - before], [1, 0])
  })
})
