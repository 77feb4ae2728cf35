import { Backoff, Jitter, Limit, Presets, RetryAfter, RetryObserver, ScheduleStep } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

interface ApiError {
  readonly retryAfter: number
}

/** The first steps of a schedule, each taken when the wait before it is over. */
const steps = <Out, In>(schedule: Schedule.Schedule<Out, In>, input: In, count: number, foreign = false) =>
  Effect.runSync(
    Effect.gen(function* () {
      const taken: Array<number | string> = []
      let state = schedule.initial
      let now = 0
      while (taken.length < count) {
        const step = yield* ScheduleStep.take(schedule, input, { state, now, foreign })
        taken.push(step._tag === "Continue" ? step.wait : step.reason)
        if (step._tag === "Done") break
        state = step.state
        now += step.wait
      }
      return taken
    })
  )

describe("a step", () => {
  it("waits as the schedule says, and gives the reason of whatever part ended it", () => {
    const backoff = Backoff.exponential({ base: "100 millis" })
    assert.deepStrictEqual(steps(backoff.pipe(Limit.retries(2)), "down", 5), [100, 200, "exhausted"])
    assert.deepStrictEqual(steps(Schedule.recurs(1), "down", 5), [0, "exhausted"])
    assert.deepStrictEqual(
      steps(
        RetryAfter.respect(backoff, { of: ({ retryAfter }: ApiError) => Duration.millis(retryAfter) }),
        { retryAfter: 1e6 },
        5
      ),
      ["retry-after"]
    )
  })

  it("knows the longest wait that could have been drawn", () => {
    const step = Effect.runSync(
      Effect.suspend(() => {
        const schedule = Jitter.full(Backoff.exponential({ base: "100 millis" }))
        return ScheduleStep.take(schedule, "down", { state: schedule.initial, now: 0 })
      })
    )
    assert.strictEqual(step._tag === "Continue" && step.maximumWait, 100)
  })

  it("does not tell the observer, who is told by whoever decides", () => {
    const told: Array<unknown> = []
    const schedule = Backoff.constant({ delay: "1 milli" })
    const step = ScheduleStep.take(schedule, "down", { state: schedule.initial, now: 0 })
    Effect.runSync(RetryObserver.observe(step, (event) => Effect.sync(() => told.push(event))))
    assert.deepStrictEqual(told, [])
  })
})

describe("a step for a failure that is none of the schedule's inputs", () => {
  const of = ({ retryAfter }: ApiError) => Duration.millis(retryAfter)
  const timeOut = {} as ApiError

  it("reads no server's time from it", () => {
    const schedule = RetryAfter.respect(Backoff.constant({ delay: "1 second" }), { of })
    assert.deepStrictEqual(steps(schedule, timeOut, 2, true), [1000, 1000])
  })

  it("takes the wait of the AWS presets that no throttling makes longer", () => {
    const schedule = Presets.awsStandardBefore2026({ throttling: ({ retryAfter }: ApiError) => retryAfter.toFixed() !== "" })
    const [first, second, end] = steps(schedule, timeOut, 3, true)
    assert.isAtMost(first as number, 100)
    assert.isAtMost(second as number, 200)
    assert.strictEqual(end, "exhausted")
  })
})
