/**
 * What a user never has to help: the types that are inferred, and the mistakes that do not compile.
 */
import {
  AdaptiveThrottle,
  type AttemptTimeout,
  AttemptTimeout as Timeouts,
  Bulkhead,
  CircuitBreaker,
  Deadline,
  type LocalRefusal,
  Policy,
  Retry,
  RetryBudget,
  type RetryScope
} from "@breakwater/resilience"
import { Backoff, Jitter, Limit, RetryAfter } from "@breakwater/schedule"
import { Config, type ConfigError, type Duration, Effect, type Layer, Schedule } from "effect"
import { describe, expect, test } from "tstyche"

interface ApiError {
  readonly _tag: "ApiError"
  readonly status: number
  readonly retryAfter?: Duration.Duration
}
interface Http {
  readonly http: unique symbol
}
declare const call: Effect.Effect<string, ApiError, Http>
declare const of: (error: ApiError) => Duration.Duration | undefined
interface Calendar {
  readonly calendar: unique symbol
}
declare const onWorkdays: Schedule.Schedule<number, unknown, Calendar>

class PaymentsBudget extends RetryBudget.Tag("PaymentsBudget")<PaymentsBudget>() {}
class HostBudgets extends RetryBudget.KeyedTag("HostBudgets")<HostBudgets>() {}
class PaymentsTimeout extends Timeouts.Tag("PaymentsTimeout")<PaymentsTimeout>() {}

const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Jitter.full, Limit.attempts(4))

describe("a retry", () => {
  test("fails with what its call fails with, and needs what its call needs", () => {
    expect(call.pipe(Retry.retry({ schedule }))).type.toBe<Effect.Effect<string, ApiError, Http>>()
    expect(Retry.retry(call, { schedule })).type.toBe<Effect.Effect<string, ApiError, Http>>()
  })

  test("can be cut only where it was given a time", () => {
    expect(call.pipe(Retry.retry({ schedule, attemptTimeout: "2 seconds" }))).type.toBe<
      Effect.Effect<string, ApiError | AttemptTimeout.AttemptTimedOut, Http>
    >()
    expect(call.pipe(Retry.retry({ schedule, deadline: "10 seconds" }))).type.toBe<
      Effect.Effect<string, ApiError | Deadline.DeadlineExceeded<ApiError>, Http>
    >()
    expect(call.pipe(Retry.retry({ schedule, attemptTimeout: "2 seconds", deadline: "10 seconds" }))).type.toBe<
      Effect.Effect<
        string,
        ApiError | AttemptTimeout.AttemptTimedOut | Deadline.DeadlineExceeded<ApiError | AttemptTimeout.AttemptTimedOut>,
        Http
      >
    >()
    expect(call.pipe(Retry.retry({ schedule, attemptTimeout: undefined }))).type.toBe<Effect.Effect<string, ApiError, Http>>()
  })

  test("fails for its place only where it was told to", () => {
    expect(call.pipe(Retry.retry({ schedule, nested: "fail" }))).type.toBe<
      Effect.Effect<string, ApiError | RetryScope.NestedRetry, Http>
    >()
    expect(call.pipe(Retry.retry({ schedule, nested: "warn" }))).type.toBe<Effect.Effect<string, ApiError, Http>>()
  })

  test("needs the services it was given by their tags, and what its schedule needs", () => {
    expect(call.pipe(Retry.retry({ schedule, budget: PaymentsBudget }))).type.toBe<
      Effect.Effect<string, ApiError, Http | PaymentsBudget>
    >()
    expect(call.pipe(Retry.retry({ schedule, budget: HostBudgets.forKey("example.com") }))).type.toBe<
      Effect.Effect<string, ApiError, Http | HostBudgets>
    >()
    expect(call.pipe(Retry.retry({ schedule, attemptTimeout: PaymentsTimeout }))).type.toBe<
      Effect.Effect<string, ApiError | AttemptTimeout.AttemptTimedOut, Http | PaymentsTimeout>
    >()
    expect(call.pipe(Retry.retry({ schedule: onWorkdays }))).type.toBe<Effect.Effect<string, ApiError, Http | Calendar>>()
  })

  test("infers the error that its functions look at, from the call", () => {
    call.pipe(Retry.retry({ schedule, while: (error) => error.status >= 500, kind: () => "throttled" }))
    Retry.retry(call, { schedule, while: (error) => error.status >= 500 })
    expect(call.pipe(Retry.retry({ schedule: RetryAfter.respect(schedule, { of }) }))).type.toBe<
      Effect.Effect<string, ApiError, Http>
    >()
  })

  test("made once, does for calls that fail with anything", () => {
    const policy = Retry.retry({ schedule, attemptTimeout: "2 seconds" })
    expect(policy(call)).type.toBe<Effect.Effect<string, ApiError | AttemptTimeout.AttemptTimedOut, Http>>()
    expect(policy({} as Effect.Effect<number, "other">)).type.toBe<
      Effect.Effect<number, "other" | AttemptTimeout.AttemptTimedOut>
    >()
  })

  test("made once with functions, does for calls that fail with what they look at", () => {
    const policy = Retry.retry({ schedule, while: (error: ApiError) => error.status >= 500 })
    expect(policy(call)).type.toBe<Effect.Effect<string, ApiError, Http>>()
    expect(policy).type.not.toBeCallableWith({} as Effect.Effect<number, "other">)
    const respectful = Retry.retry({ schedule: RetryAfter.respect(schedule, { of }) })
    expect(respectful(call)).type.toBe<Effect.Effect<string, ApiError, Http>>()
  })

  test("does not take a schedule or a function that cannot look at its errors", () => {
    const picky = schedule.pipe(Schedule.whileInput((error: { readonly code: number }) => error.code === 1))
    expect(Retry.retry).type.not.toBeCallableWith(call, { schedule: picky })
    expect(Retry.retry).type.not.toBeCallableWith(call, {
      schedule,
      while: (error: { readonly code: number }) => error.code === 1
    })
    expect(Retry.retry).type.not.toBeCallableWith({ schedule, nested: "sometimes" })
  })

  test("gives an account that never fails", () => {
    expect(call.pipe(Retry.report({ schedule, attemptTimeout: "2 seconds" }))).type.toBe<
      Effect.Effect<Retry.Report<string, ApiError | AttemptTimeout.AttemptTimedOut>, never, Http>
    >()
  })
})

describe("a time limit", () => {
  test("adds its error, with the last error of its effect", () => {
    expect(Deadline.within(call, "1 second")).type.toBe<
      Effect.Effect<string, ApiError | Deadline.DeadlineExceeded<ApiError>, Http>
    >()
    expect(call.pipe(Deadline.withinHeader("1S"))).type.toBe<
      Effect.Effect<string, ApiError | Deadline.DeadlineExceeded<ApiError>, Http>
    >()
    expect(call.pipe(Timeouts.timeout("1 second"))).type.toBe<
      Effect.Effect<string, ApiError | AttemptTimeout.AttemptTimedOut, Http>
    >()
  })
})

describe("what refuses on this side", () => {
  const breaker = {} as CircuitBreaker.CircuitBreaker
  const bulkhead = {} as Bulkhead.Bulkhead
  const throttle = {} as AdaptiveThrottle.AdaptiveThrottle

  test("adds its error and keeps the rest, in both call styles", () => {
    expect(CircuitBreaker.execute(call, breaker)).type.toBe<Effect.Effect<string, ApiError | LocalRefusal.CircuitOpen, Http>>()
    expect(call.pipe(CircuitBreaker.execute(breaker))).type.toBe<
      Effect.Effect<string, ApiError | LocalRefusal.CircuitOpen, Http>
    >()
    expect(Bulkhead.withPermit(call, bulkhead)).type.toBe<Effect.Effect<string, ApiError | LocalRefusal.BulkheadFull, Http>>()
    expect(call.pipe(Bulkhead.withPermit(bulkhead))).type.toBe<
      Effect.Effect<string, ApiError | LocalRefusal.BulkheadFull, Http>
    >()
    expect(AdaptiveThrottle.throttled(call, throttle)).type.toBe<
      Effect.Effect<string, ApiError | LocalRefusal.Throttled, Http>
    >()
    expect(call.pipe(AdaptiveThrottle.throttled(throttle))).type.toBe<
      Effect.Effect<string, ApiError | LocalRefusal.Throttled, Http>
    >()
  })
})

describe("a layer", () => {
  test("makes its own service, and fails only from the configuration", () => {
    expect(PaymentsBudget.layer(RetryBudget.ratio())).type.toBe<Layer.Layer<PaymentsBudget>>()
    expect(PaymentsBudget.layerConfig(RetryBudget.ratio, { percent: Config.number("PERCENT") })).type.toBe<
      Layer.Layer<PaymentsBudget, ConfigError.ConfigError>
    >()
    expect(PaymentsBudget.layerConfig).type.not.toBeCallableWith(RetryBudget.ratio, { percent: Config.string("PERCENT") })
  })
})

describe("a schedule with a budget", () => {
  test("keeps output, input and environment", () => {
    const budget = RetryBudget.unlimited
    expect(schedule.pipe(RetryBudget.withdraw(budget))).type.toBe<Schedule.Schedule<Duration.Duration>>()
    expect(RetryBudget.withdraw(RetryAfter.respect(schedule, { of }), budget)).type.toBe<
      Schedule.Schedule<Duration.Duration, ApiError>
    >()
    expect(call.pipe(RetryBudget.track(budget))).type.toBe<Effect.Effect<string, ApiError, Http>>()
  })
})

describe("a policy", () => {
  class Payments extends Policy.Tag("Payments")<Payments, ApiError>() {}
  class Tenants extends Policy.KeyedTag("Tenants")<Tenants, ApiError>() {}
  class PaymentsBreaker extends CircuitBreaker.Tag("PaymentsBreaker")<PaymentsBreaker>() {}

  type Refused = LocalRefusal.CircuitOpen | LocalRefusal.BulkheadFull | LocalRefusal.Throttled
  type Failed =
    ApiError | AttemptTimeout.AttemptTimedOut | Deadline.DeadlineExceeded<ApiError | AttemptTimeout.AttemptTimedOut> | Refused

  test("adds its errors and keeps the rest, in both call styles", () => {
    const policy = {} as Policy.Policy<ApiError>
    expect(Policy.protect(call, policy)).type.toBe<Effect.Effect<string, Failed, Http>>()
    expect(call.pipe(Policy.protect(policy))).type.toBe<Effect.Effect<string, Failed, Http>>()
    expect(call.pipe(Policy.report(policy))).type.toBe<Effect.Effect<Retry.Report<string, Failed>, never, Http>>()
    expect(call.pipe(Payments.protect)).type.toBe<Effect.Effect<string, Failed, Http | Payments>>()
    expect(call.pipe(Tenants.protect("a"))).type.toBe<Effect.Effect<string, Failed, Http | Tenants>>()
    expect(Tenants.protect(call, "a")).type.toBe<Effect.Effect<string, Failed, Http | Tenants>>()
  })

  test("protects only what fails with its errors", () => {
    const other = {} as Effect.Effect<number, "other">
    expect(Payments.protect).type.not.toBeCallableWith(other)
    expect(Tenants.protect).type.not.toBeCallableWith(other, "a")
    expect(Policy.protect(Effect.succeed(1), {} as Policy.Policy<ApiError>)).type.toBe<
      Effect.Effect<
        number,
        AttemptTimeout.AttemptTimedOut | Deadline.DeadlineExceeded<AttemptTimeout.AttemptTimedOut> | Refused
      >
    >()
    expect(Policy.protect).type.not.toBeCallableWith(other, {} as Policy.Policy<ApiError>)
  })

  test("is for the errors that its options look at", () => {
    expect(Policy.make({ schedule })).type.toBe<Effect.Effect<Policy.Policy<unknown>>>()
    expect(Policy.make({ isFailure: (error: ApiError) => error.status >= 500 })).type.toBe<
      Effect.Effect<Policy.Policy<ApiError>>
    >()
    expect(Policy.make({ schedule: RetryAfter.respect(schedule, { of }) })).type.toBe<Effect.Effect<Policy.Policy<ApiError>>>()
  })

  test("needs the services it is given", () => {
    expect(Payments.layer({ schedule, while: (error) => error.status >= 500 })).type.toBe<Layer.Layer<Payments>>()
    expect(Payments.layer({ budget: PaymentsBudget, breaker: PaymentsBreaker })).type.toBe<
      Layer.Layer<Payments, never, PaymentsBudget | PaymentsBreaker>
    >()
    expect(Tenants.layer({ budget: PaymentsBudget }, { maxKeys: 10 })).type.toBe<Layer.Layer<Tenants, never, PaymentsBudget>>()
    expect(Policy.make({ breaker: CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1) }) })).type.toBe<
      Effect.Effect<Policy.Policy<unknown>>
    >()
  })

  test("fails only from the configuration", () => {
    expect(
      Payments.layerConfig({
        schedule: Config.succeed(schedule),
        attemptTimeout: Config.duration("TIMEOUT"),
        bulkhead: { permits: Config.integer("PERMITS"), queue: Config.succeed(10) }
      })
    ).type.toBe<Layer.Layer<Payments, ConfigError.ConfigError>>()
    expect(Payments.layerConfig).type.not.toBeCallableWith({ bulkhead: { permits: Config.string("PERMITS") } })
  })
})
