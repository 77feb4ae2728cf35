import { InvalidOption } from "@breakwater/core"
import { Backoff, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import { callTimes, gaps } from "./schedule.js"

describe("Backoff.exponential", () => {
  it("waits base, base times 2, ... up to the cap between the calls of Effect.retry", async () => {
    const schedule = Backoff.exponential({ base: "100 millis", cap: "800 millis" }).pipe(Limit.attempts(7))
    const { calls, endedAt } = await callTimes(schedule, "down", { for: 60_000 })
    assert.deepStrictEqual(gaps(calls), [100, 200, 400, 800, 800, 800])
    assert.strictEqual(endedAt, 3100)
  })

  it("is capped at 30 seconds unless told otherwise, and says so", () => {
    assert.strictEqual(Duration.toMillis(Backoff.exponential({ base: 1 }).cap), 30_000)
    assert.isFalse(Duration.isFinite(Backoff.exponential({ base: 1, cap: Duration.infinity }).cap))
  })

  it.each([
    { options: { base: -1 }, message: "Backoff.exponential: base must be a whole number of milliseconds, at least 0, got -1" },
    { options: { base: "-5 seconds" as const }, message: "base must be a whole number of milliseconds, at least 0, got -5000" },
    { options: { base: NaN }, message: "base must be a whole number of milliseconds, at least 0, got NaN" },
    { options: { base: "500 micros" as const }, message: "base must be a whole number of milliseconds, at least 0, got 0.5" },
    { options: { base: -1_000_000n }, message: "base must be a whole number of milliseconds, at least 0, got -1" },
    { options: { base: "soon" as "1 second" }, message: 'base must be a duration, for example "100 millis", got "soon"' }
  ])("refuses $options where Duration would have made it zero", ({ message, options }) => {
    assert.throws(() => Backoff.exponential(options), InvalidOption.InvalidOption, message)
  })
})
