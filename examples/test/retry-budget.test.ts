import { VirtualTime } from "@breakwater/simulation"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { withBudget, withoutBudget } from "../src/retry-budget.js"

describe("retry-budget", () => {
  it.each([1, 2, 3])("bounds what retries add to an outage, and is not noticed without one, seed %i", (seed) => {
    const [before, outage, after] = Effect.runSync(VirtualTime.run(withBudget, { seed }))
    const [beforeUnbounded, outageUnbounded] = Effect.runSync(VirtualTime.run(withoutBudget, { seed }))

    expect(outage!.operations).toBe(2000)
    expect(outageUnbounded!.operations).toBe(2000)
    // Three attempts each; the last few come when the outage is over.
    expect(outageUnbounded!.calls).toBeGreaterThan(5900)
    expect(outageUnbounded!.calls).toBeLessThanOrEqual(6000)
    // A tenth of the operations and one retry a second on top, of twenty seconds and the window of ten before them at most.
    expect(outage!.calls).toBeGreaterThan(2150)
    expect(outage!.calls).toBeLessThanOrEqual(2330)

    // About twenty of 2000 operations fail at first. Only the last ones before the outage fail for good.
    expect(before!.calls).toBeGreaterThan(2000)
    expect(before).toEqual(beforeUnbounded)
    expect(before!.failed).toBeLessThanOrEqual(2)
    expect(after!.failed).toBeLessThanOrEqual(2)
  })
})
