import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Schedule from "effect/Schedule"
import { callTimes, gaps } from "./schedule.js"

const backoff = Backoff.exponential({ base: "100 millis", cap: "800 millis" })

describe("Jitter", () => {
  it.each([
    { jitter: "full", schedule: Jitter.full(backoff), least: (d: number) => 0 * d, most: (d: number) => d },
    { jitter: "equal", schedule: Jitter.equal(backoff), least: (d: number) => d / 2, most: (d: number) => d },
    {
      jitter: "proportional",
      schedule: Jitter.proportional(backoff, 0.5),
      least: (d: number) => Math.min(d / 2, 266),
      most: (d: number) => Math.min(d * 1.5, 800)
    }
  ])("$jitter draws whole waits from its interval, never above the cap", async ({ least, most, schedule }) => {
    const { calls } = await callTimes(schedule.pipe(Limit.attempts(200)), "down", { for: 200_000 })
    const waits = gaps(calls)
    assert.strictEqual(waits.length, 199)
    waits.forEach((wait, retries) => {
      const d = Math.min(800, 100 * 2 ** retries)
      assert.isTrue(Number.isInteger(wait) && wait >= least(d) && wait <= most(d), `wait ${retries}: ${wait}`)
    })
    // At the cap the draws still differ.
    assert.isAbove(new Set(waits.slice(10)).size, 100)
  })

  it("draws the same waits again for the same seed, others for another", async () => {
    const waits = async (seed: string) =>
      (await callTimes(backoff.pipe(Jitter.full, Limit.attempts(10)), "down", { for: 10_000, seed })).calls
    assert.deepStrictEqual(await waits("a"), await waits("a"))
    assert.notDeepEqual(await waits("a"), await waits("b"))
  })

  it("takes any schedule in both call styles, and for proportional its cap", async () => {
    const spaced = Schedule.spaced("1 second")
    const options = { ratio: 0.2, cap: "1 second" } as const
    for (const schedule of [Jitter.proportional(spaced, options), spaced.pipe(Jitter.proportional(options))]) {
      const { calls } = await callTimes(schedule.pipe(Limit.retries(50)), "down", { for: 60_000 })
      assert.isTrue(gaps(calls).every((wait) => wait >= 667 && wait <= 1000))
    }
  })

  it("gives whole waits over a schedule whose own are not", async () => {
    const schedule = Schedule.exponential("3 millis", 1.7).pipe(Jitter.full, Limit.attempts(12))
    const { calls } = await callTimes(schedule, "down", { for: 60_000 })
    assert.isTrue(gaps(calls).every(Number.isInteger))
  })
})
