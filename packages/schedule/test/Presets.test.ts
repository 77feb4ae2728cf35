import { InvalidOption } from "@breakwater/core"
import { Presets } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Schedule from "effect/Schedule"
import { calls } from "./schedule.js"

const draws = [0.1, 0.9, 0.37, 0.999, 0.5, 0.73, 0.25, 0.61, 0.05, 0.8]

/** The waits of a schedule for these draws, until it ends. */
const drawn = <E>(schedule: Schedule.Schedule<unknown, E>, error: E): ReadonlyArray<number> => {
  let used = 0
  const random: Random.Random = { ...Random.make(0), next: Effect.sync(() => draws[used++]!) }
  const program = Effect.gen(function* () {
    const waits: Array<number> = []
    let state = schedule.initial
    while (used < draws.length) {
      const [next, , decision] = yield* schedule.step(0, error, state)
      if (decision._tag === "Done") break
      waits.push(decision.intervals.intervals.pipe(([first]) => first!.startMillis))
      state = next
    }
    return waits
  })
  return Effect.runSync(Effect.withRandom(program, random))
}

const many = { maxAttempts: 11 }
const throttling = () => true

describe("Presets wait as the peers do", () => {
  it.each([
    // Computed by the packages themselves: DefaultRetryBackoffStrategy of @smithy/core 3.41.1 and 3.39.0, Math.random replaced.
    { peer: "AWS 2026", schedule: Presets.awsStandard2026(many), waits: [5, 90, 74, 399, 400, 1168, 800, 3904, 640, 16_000] },
    {
      peer: "AWS 2026, throttling",
      schedule: Presets.awsStandard2026({ ...many, throttling }),
      waits: [100, 1800, 1480, 7992, 8000, 14_600, 5000, 12_200, 1000, 16_000]
    },
    {
      peer: "AWS before 2026",
      schedule: Presets.awsStandardBefore2026(many),
      waits: [10, 180, 148, 799, 800, 2336, 1600, 7808, 1000, 16_000]
    },
    {
      peer: "AWS before 2026, throttling",
      schedule: Presets.awsStandardBefore2026({ ...many, throttling }),
      waits: [50, 900, 740, 3996, 4000, 11_680, 5000, 12_200, 1000, 16_000]
    },
    // Computed in Python from the formulas of the sources.
    { peer: "gRPC", schedule: Presets.grpc({ maxAttempts: 5 }), waits: [84, 232, 379, 959] },
    {
      peer: "gRPC, Google Cloud Storage",
      schedule: Presets.grpc({ maxAttempts: 9, initialBackoff: "1 second", maxBackoff: "1 minute" }),
      // Of nine attempts five.
      waits: [840, 2320, 3792, 9596]
    },
    {
      peer: "gRPC above its maximum",
      schedule: Presets.grpc({ initialBackoff: 1000, maxBackoff: 1000 }),
      waits: [840, 1160, 948]
    },
    { peer: "Polly", schedule: Presets.polly(), waits: [2000, 2000, 2000] },
    {
      peer: "Polly constant, jitter",
      schedule: Presets.polly({ useJitter: true, maxRetryAttempts: 10 }),
      waits: [1600, 2400, 1870, 2499, 2000, 2230, 1750, 2110, 1550, 2300]
    },
    {
      peer: "Polly linear",
      schedule: Presets.polly({ backoffType: "linear", maxRetryAttempts: 4 }),
      waits: [2000, 4000, 6000, 8000]
    },
    {
      peer: "Polly linear, jitter",
      schedule: Presets.polly({ backoffType: "linear", useJitter: true, maxRetryAttempts: 10 }),
      waits: [1600, 4800, 5610, 9996, 10_000, 13_380, 12_250, 16_880, 13_950, 23_000]
    },
    {
      peer: "Polly exponential",
      schedule: Presets.polly({ backoffType: "exponential", maxRetryAttempts: 5 }),
      waits: [2000, 4000, 8000, 16_000, 32_000]
    },
    {
      peer: "Polly exponential, jitter",
      schedule: Presets.polly({ backoffType: "exponential", useJitter: true, maxRetryAttempts: 10 }),
      waits: [857, 4431, 2064, 15_472, 9485, 43_501, 32_904, 170_360, 99_523, 894_879]
    },
    {
      peer: "Polly exponential, jitter, its spread lost at the maximum",
      schedule: Presets.polly({ backoffType: "exponential", useJitter: true, maxRetryAttempts: 10, maxDelay: "30 seconds" }),
      waits: [857, 4431, 2064, 15_472, 9485, 30_000, 30_000, 30_000, 30_000, 30_000]
    },
    { peer: "Resilience4j", schedule: Presets.resilience4j(), waits: [500, 500] },
    {
      peer: "Resilience4j, randomised exponential",
      schedule: Presets.resilience4j({ maxAttempts: 11, multiplier: 1.5, randomizationFactor: 0.5, maxInterval: "10 seconds" }),
      waits: [300, 1050, 978, 2529, 2531, 4670, 4271, 9482, 7047, 10_000]
    },
    {
      peer: "tenacity, random exponential",
      schedule: Presets.tenacityRandomExponential({ max: "1 minute" }),
      waits: [100, 1800, 1480, 7992, 8000, 23_360, 15_000, 36_600, 3000, 48_000]
    },
    {
      peer: "tenacity, exponential with jitter, none left at the maximum",
      schedule: Presets.tenacityExponentialJitter({ max: "5 seconds" }),
      waits: [1100, 2900, 4370, 5000, 5000, 5000, 5000, 5000, 5000, 5000]
    },
    {
      peer: "Brooker's decorrelated jitter",
      schedule: Presets.brookerDecorrelated({ base: 100, cap: 800 }),
      waits: [120, 334, 433, 800, 800, 800, 675, 800, 215, 536]
    }
  ])("$peer", ({ schedule, waits }) => {
    assert.deepStrictEqual(drawn(schedule, "down"), waits)
  })

  it.each([
    { server: 60_000, wait: 5005 },
    { server: 3000, wait: 3000 },
    { server: 1, wait: 5 }
  ])("AWS 2026 cuts what a server asks for to five seconds beyond its own wait: $server", ({ server, wait }) => {
    const schedule = Presets.awsStandard2026({ retryAfter: () => Duration.millis(server) })
    assert.strictEqual(drawn(schedule, "down")[0], wait)
  })

  it.each([
    { peer: "AWS", schedule: Presets.awsStandard2026(), attempts: 3 },
    { peer: "gRPC", schedule: Presets.grpc(), attempts: 4 },
    { peer: "Polly", schedule: Presets.polly(), attempts: 4 },
    { peer: "Resilience4j", schedule: Presets.resilience4j(), attempts: 3 }
  ])("$peer makes $attempts calls in all unless told otherwise", ({ attempts, schedule }) => {
    assert.strictEqual(calls(schedule, () => "down").calls.length, attempts)
  })

  it("stays finite and whole a thousand retries on, whatever the draw", () => {
    const schedules = [
      Presets.awsStandard2026({ maxAttempts: Infinity }),
      Presets.polly({ maxRetryAttempts: Infinity, backoffType: "exponential" }),
      Presets.polly({ maxRetryAttempts: Infinity, backoffType: "exponential", useJitter: true }),
      Presets.resilience4j({ maxAttempts: Infinity, multiplier: 1.5, randomizationFactor: 0.5 }),
      Presets.tenacityRandomExponential(),
      Presets.tenacityExponentialJitter(),
      Presets.brookerDecorrelated({ base: 1, cap: Infinity })
    ]
    for (const schedule of schedules) {
      for (const random of [0, 0.5, 1 - 2 ** -53]) {
        const fixed: Random.Random = { ...Random.make(0), next: Effect.succeed(random) }
        let state = schedule.initial
        for (let retry = 0; retry < 3000; retry++) {
          const [next, , decision] = Effect.runSync(Effect.withRandom(schedule.step(0, "down", state), fixed))
          assert.isTrue(decision._tag === "Continue")
          const wait = decision._tag === "Continue" ? decision.intervals.intervals.pipe(([first]) => first!.startMillis) : NaN
          assert.isTrue(Number.isInteger(wait) && wait >= 0 && wait <= InvalidOption.maxMillis, `${wait} at ${retry}`)
          state = next
        }
      }
    }
  })

  it("says what it refuses", () => {
    const refusals = [
      [() => Presets.grpc({ maxAttempts: 1 }), "Presets.grpc: maxAttempts must be a whole number, at least 2"],
      [() => Presets.polly({ delay: -1 }), "Presets.polly: delay must be"],
      [() => Presets.resilience4j({ multiplier: 0.5 }), "Presets.resilience4j: multiplier must be"],
      [() => Presets.tenacityRandomExponential({ multiplier: 0 }), "Presets.tenacityRandomExponential: multiplier must be"]
    ] as const
    for (const [make, message] of refusals) assert.throws(make, InvalidOption.InvalidOption, message)
  })
})

describe("Presets of our own", () => {
  const asks = (millis: number) => ({ retryAfter: () => Duration.millis(millis) })

  it("interactive: three calls, over within 300 ms of waiting, and a long Retry-After is not waited for", () => {
    const { calls: at, endedAt } = calls(Presets.interactive(), () => "down")
    assert.strictEqual(at.length, 3)
    assert.isAtMost(endedAt!, 300)
    assert.strictEqual(calls(Presets.interactive(asks(2001)), () => "down").calls.length, 1)
    assert.strictEqual(calls(Presets.interactive(asks(1500)), () => "down").calls.length, 2)
  })

  it("interactive: calls that take long leave no time for another", () => {
    assert.strictEqual(calls(Presets.interactive(), () => "down", { callTakes: 3000 }).calls.length, 2)
  })

  it("batch: goes on for a quarter of an hour, not much longer than a minute apart", () => {
    const { calls: at, endedAt } = calls(Presets.batch(), () => "down")
    assert.isTrue(endedAt! > 14 * 60_000 && endedAt! < 15 * 60_000)
    at.slice(1).forEach((time, index) => assert.isAtMost(time - at[index]!, 60_000))
    assert.isTrue(at.length > 20 && at.length < 60)
  })
})
