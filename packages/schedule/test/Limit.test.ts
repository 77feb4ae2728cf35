import { InvalidOption } from "@breakwater/core"
import { Backoff, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Schedule from "effect/Schedule"
import { callTimes } from "./schedule.js"

const backoff = Backoff.exponential({ base: "1 second" })

describe("Limit", () => {
  it.each([
    { limit: "attempts(1)", schedule: Limit.attempts(backoff, 1), calls: [0], endedAt: 0 },
    { limit: "attempts(4)", schedule: Limit.attempts(backoff, 4), calls: [0, 1000, 3000, 7000], endedAt: 7000 },
    { limit: "retries(0)", schedule: Limit.retries(backoff, 0), calls: [0], endedAt: 0 },
    { limit: "retries(2)", schedule: Limit.retries(backoff, 2), calls: [0, 1000, 3000], endedAt: 3000 },
    { limit: "elapsed(5 s)", schedule: Limit.elapsed(backoff, "5 seconds"), calls: [0, 1000, 3000], endedAt: 3000 },
    {
      limit: "elapsed(7 s), the end itself too late",
      schedule: Limit.elapsed(backoff, "7 seconds"),
      calls: [0, 1000, 3000],
      endedAt: 3000
    }
  ])("$limit ends with the last call, without a wait after it", async ({ calls, endedAt, schedule }) => {
    assert.deepStrictEqual(await callTimes(schedule, "down", { for: 60_000 }), { calls, endedAt })
  })

  it("keeps the output and the input of the schedule it ends", () => {
    const schedule: Schedule.Schedule<number, string> = Schedule.recurs(5).pipe(
      Schedule.whileInput((error: string) => error !== "fatal"),
      Limit.attempts(3)
    )
    assert.isTrue(Schedule.isSchedule(schedule))
  })

  it("says which function refused a limit", () => {
    assert.throws(() => Limit.attempts(backoff, 0), InvalidOption.InvalidOption, "Limit.attempts: attempts must be")
    assert.throws(() => Limit.elapsed(backoff, -1), InvalidOption.InvalidOption, "Limit.elapsed: limit must be")
  })
})
