import { InvalidOption } from "@breakwater/core"
import { Backoff, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import { calls } from "./schedule.js"

const backoff = Backoff.exponential({ base: "1 second" })

describe("Limit", () => {
  it.each([
    { limit: "attempts(1)", schedule: Limit.attempts(backoff, 1), at: [0], endedAt: 0 },
    { limit: "attempts(4)", schedule: Limit.attempts(backoff, 4), at: [0, 1000, 3000, 7000], endedAt: 7000 },
    { limit: "retries(0)", schedule: Limit.retries(backoff, 0), at: [0], endedAt: 0 },
    { limit: "retries(2)", schedule: Limit.retries(backoff, 2), at: [0, 1000, 3000], endedAt: 3000 },
    { limit: "elapsed(5 s)", schedule: Limit.elapsed(backoff, "5 seconds"), at: [0, 1000, 3000], endedAt: 3000 },
    {
      limit: "elapsed(7 s), whose end is too late",
      schedule: Limit.elapsed(backoff, "7 seconds"),
      at: [0, 1000, 3000],
      endedAt: 3000
    },
    { limit: "elapsed(7001 ms)", schedule: Limit.elapsed(backoff, 7001), at: [0, 1000, 3000, 7000], endedAt: 7000 }
  ])("$limit ends with the last call, without a wait after it", ({ at, endedAt, schedule }) => {
    assert.deepStrictEqual(
      calls(schedule, () => "down"),
      { calls: at, endedAt, succeeded: false }
    )
  })

  it("counts elapsed time from the first failure, the calls in between included", () => {
    const schedule = Limit.elapsed(backoff, "5 seconds")
    // Failures at 2 s and 5 s: the second wait, of 2 s, would end 5 s after the first failure.
    assert.deepStrictEqual(
      calls(schedule, () => "down", { callTakes: 2000 }),
      { calls: [0, 3000], endedAt: 5000, succeeded: false }
    )
  })

  it("says which function refused a limit", () => {
    assert.throws(() => Limit.attempts(backoff, 0), InvalidOption.InvalidOption, "Limit.attempts: attempts must be")
    assert.throws(() => Limit.retries(backoff, -1), InvalidOption.InvalidOption, "Limit.retries: retries must be")
    assert.throws(() => Limit.elapsed(backoff, -1), InvalidOption.InvalidOption, "Limit.elapsed: limit must be")
  })
})
