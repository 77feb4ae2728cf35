import { Backoff, Jitter } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Schedule from "effect/Schedule"
import { waits } from "./schedule.js"

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
  ])("$jitter draws whole waits from its interval, never above the cap", ({ least, most, schedule }) => {
    const drawn = waits(schedule, "down", { count: 200 })
    assert.strictEqual(drawn.length, 200)
    drawn.forEach((wait, retries) => {
      const d = Math.min(800, 100 * 2 ** retries)
      assert.isTrue(Number.isInteger(wait) && wait >= least(d) && wait <= most(d), `wait ${retries}: ${wait}`)
    })
    // At the cap the draws still differ.
    assert.isAbove(new Set(drawn.slice(10)).size, 100)
  })

  it("draws the same waits again for the same seed, others for another", () => {
    const of = (seed: number) => waits(Jitter.full(backoff), "down", { count: 10, seed })
    assert.deepStrictEqual(of(1), of(1))
    assert.notDeepEqual(of(1), of(2))
  })

  it("takes any schedule in both call styles, and for proportional its cap", () => {
    const spaced = Schedule.spaced("1 second")
    const options = { ratio: 0.2, cap: "1 second" } as const
    for (const schedule of [Jitter.proportional(spaced, options), spaced.pipe(Jitter.proportional(options))]) {
      assert.isTrue(waits(schedule, "down", { count: 50 }).every((wait) => wait >= 667 && wait <= 1000))
    }
  })

  it("gives whole waits over a schedule whose own are not", () => {
    const schedule = Schedule.exponential("3 millis", 1.7).pipe(Jitter.full)
    assert.isTrue(waits(schedule, "down", { count: 12 }).every(Number.isInteger))
  })
})
