/**
 * What a user never has to help: the types that are inferred, and the mistakes that do not compile.
 */
import { Backoff, Jitter, Limit, Presets, Preview, RetryAfter, RetryObserver } from "@breakwater/schedule"
import type { Duration } from "effect"
import { Effect, Schedule } from "effect"
import { describe, expect, test } from "tstyche"

interface ApiError {
  readonly status: number
  readonly retryAfter?: Duration.Duration
}
declare const call: Effect.Effect<string, ApiError>
declare const of: (error: ApiError) => Duration.Duration | undefined

const backoff = Backoff.exponential({ base: "100 millis", cap: "10 seconds" })
const numbers = Schedule.recurs(3)

describe("a pipe", () => {
  test("keeps output, input and environment, and takes the error of what looks at it", () => {
    const patient = backoff.pipe(Jitter.full, RetryAfter.respect({ of }), Limit.attempts(4), Limit.elapsed("1 minute"))
    expect(patient).type.toBe<Schedule.Schedule<Duration.Duration, ApiError>>()
    expect(call.pipe(Effect.retry(patient))).type.toBe<Effect.Effect<string, ApiError>>()
  })

  test("keeps an output that is not a duration, and an input that was there before", () => {
    expect(numbers.pipe(Limit.retries(2))).type.toBe<Schedule.Schedule<number>>()
    expect(Jitter.full(numbers)).type.toBe<Schedule.Schedule<number>>()
    expect(RetryObserver.observed(numbers)).type.toBe<Schedule.Schedule<number>>()
    const selective = backoff.pipe(
      Schedule.whileInput((error: { readonly status: number }) => error.status === 503),
      RetryAfter.respect({ of })
    )
    expect(selective).type.toBe<Schedule.Schedule<Duration.Duration, { readonly status: number } & ApiError>>()
  })

  test("does not retry an effect whose error the schedule cannot look at", () => {
    const patient = RetryAfter.respect(backoff, { of })
    expect(Effect.retry).type.not.toBeCallableWith(Effect.fail("down"), patient)
  })

  test("combines with Effect's own", () => {
    expect(backoff.pipe(Schedule.intersect(numbers))).type.toBe<Schedule.Schedule<[Duration.Duration, number]>>()
  })
})

describe("both call styles", () => {
  test("give the same", () => {
    expect(Limit.attempts(backoff, 4)).type.toBe<Schedule.Schedule<Duration.Duration>>()
    expect(Limit.retries(backoff, 4)).type.toBe<Schedule.Schedule<Duration.Duration>>()
    expect(Limit.elapsed(backoff, "1 minute")).type.toBe<Schedule.Schedule<Duration.Duration>>()
    expect(Jitter.proportional(backoff, 0.2)).type.toBe<Schedule.Schedule<Duration.Duration>>()
    expect(backoff.pipe(Jitter.proportional(0.2))).type.toBe<Schedule.Schedule<Duration.Duration>>()
    expect(RetryAfter.respect(backoff, { of })).type.toBe<Schedule.Schedule<Duration.Duration, ApiError>>()
    expect(RetryObserver.observe(call, () => Effect.void)).type.toBe<Effect.Effect<string, ApiError>>()
    expect(call.pipe(RetryObserver.observe(() => Effect.void))).type.toBe<Effect.Effect<string, ApiError>>()
  })
})

describe("proportional jitter", () => {
  test("wants a cap where the schedule has none in its type", () => {
    expect(Jitter.proportional).type.toBeCallableWith(backoff, 0.2)
    expect(Jitter.proportional).type.not.toBeCallableWith(numbers, 0.2)
    expect(Jitter.proportional).type.toBeCallableWith(numbers, { ratio: 0.2, cap: "1 second" })
  })
})

describe("options", () => {
  test("take durations in every form of Effect, and nothing else", () => {
    expect(Backoff.exponential).type.toBeCallableWith({ base: 100, cap: "1 minute" })
    expect(Backoff.exponential).type.not.toBeCallableWith({ base: "soon" })
    expect(Backoff.exponential).type.not.toBeCallableWith({ base: 100, caps: 1 })
    expect(Backoff.exponential).type.not.toBeCallableWith({})
  })

  test("take undefined for absent, as a computed option gives it", () => {
    expect(Backoff.exponential).type.toBeCallableWith({ base: 100, cap: undefined, factor: undefined })
  })

  test("a wait from an error is a Duration: a bare number would hide its unit", () => {
    expect(RetryAfter.respect).type.not.toBeCallableWith(backoff, { of: () => 30 })
  })
})

describe("headers", () => {
  test("come as a record or as an object with get", () => {
    expect(RetryAfter.fromHeaders).type.toBeCallableWith((error: { readonly headers: Record<string, string> }) => error.headers)
    expect(RetryAfter.fromHeaders).type.toBeCallableWith((_: unknown) => ({ get: (_: string): string | null => null }))
    expect(RetryAfter.fromHeaders).type.toBeCallableWith((_: unknown) => undefined)
  })
})

describe("presets", () => {
  test("take any error, or the one they are told to look at", () => {
    expect(call.pipe(Effect.retry(Presets.interactive()))).type.toBe<Effect.Effect<string, ApiError>>()
    expect(Presets.batch({ retryAfter: of })).type.toBe<Schedule.Schedule<Duration.Duration, ApiError>>()
    expect(Presets.grpc()).type.toBe<Schedule.Schedule<Duration.Duration>>()
  })
})

describe("a preview", () => {
  test("wants an error where the schedule looks at it", () => {
    expect(Preview.of(backoff)).type.toBe<Effect.Effect<Preview.Preview>>()
    expect(Preview.of).type.not.toBeCallableWith(RetryAfter.respect(backoff, { of }))
    expect(Preview.of).type.toBeCallableWith(RetryAfter.respect(backoff, { of }), { input: { status: 503 } })
  })
})
