import { VirtualTime } from "@breakwater/simulation"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { job, serviceWithOutage } from "../src/batch.js"

const records = Array.from({ length: 100 }, (_, index) => index)

const run = (outage: Duration.DurationInput, seed: number) =>
  Effect.runSync(VirtualTime.run(Effect.timed(job(records, serviceWithOutage(outage))), { seed }))

const seeds = [1, 2, 3, 4, 5]

describe("batch", () => {
  it.each(seeds)("sits out five minutes without the service, seed %i", (seed) => {
    const [took, { gaveUp, left, retries }] = run("5 minutes", seed)
    expect({ gaveUp, left }).toEqual({ gaveUp: undefined, left: [] })
    expect(retries).toBeGreaterThan(5)
    // 100 seconds of work, five minutes of outage, and at most one wait too long.
    expect(Duration.toSeconds(took)).toBeGreaterThanOrEqual(400)
    expect(Duration.toSeconds(took)).toBeLessThanOrEqual(460)
  })

  it.each(seeds)("gives an hour up within a quarter of it, and says where to go on, seed %i", (seed) => {
    const [took, { gaveUp, left }] = run("1 hour", seed)
    expect({ gaveUp, left }).toEqual({ gaveUp: "elapsed", left: records.slice(60) })
    expect(Duration.toMinutes(took)).toBeLessThanOrEqual(16)
  })
})
