/** What holds for every operation, whatever its call does, whatever limits it, and whenever it is interrupted. */
import { Deadline, Retry, RetryBudget, RetryMetrics, RetryScope } from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { type Attempt, scripted, timed, withSleeps } from "./operation.js"

const attempt: fc.Arbitrary<Attempt<"down" | "wrong">> = fc.oneof(
  fc.record({ takes: fc.nat(300), fails: fc.constant("down" as const) }),
  fc.record({ takes: fc.nat(300), fails: fc.constant("wrong" as const) }),
  fc.record({ takes: fc.nat(300) }),
  fc.constant({ hangs: true })
)

const setting = fc.record({
  script: fc.array(attempt, { minLength: 1, maxLength: 6 }),
  attempts: fc.integer({ min: 1, max: 5 }),
  wait: fc.nat(200),
  attemptTimeout: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
  deadline: fc.option(fc.nat(800), { nil: undefined }),
  around: fc.option(fc.nat(800), { nil: undefined }),
  interruptAt: fc.nat(1000),
  tokens: fc.nat(3)
})

/** Everything that can be seen of one operation from outside, and what it left behind. */
const observed = ({ around, attempts, attemptTimeout, deadline, interruptAt, script, tokens, wait }: SettingOf) => {
  const { call, calls } = scripted(script)
  const program = Effect.gen(function* () {
    const budget = yield* RetryBudget.make(
      RetryBudget.tokens({ capacity: 10, initial: tokens, cost: { failure: 1, timeout: 1 }, success: 0, refund: false })
    )
    const inFlight = yield* RetryBudget.make(RetryBudget.inFlight({ percent: 0, minimum: 1 }))
    // Grants as many as there are operations in flight.
    const active = yield* RetryBudget.make(RetryBudget.inFlight({ percent: 100, minimum: 0 }))
    const operation = Retry.report(call, {
      name: "laws",
      schedule: Backoff.constant({ delay: wait }).pipe(Limit.attempts(attempts)),
      while: (error) => error === "down",
      budget: RetryBudget.all(budget, inFlight, active),
      attemptTimeout,
      deadline,
      log: false
    })
    const limited = around === undefined ? operation : Deadline.within(operation, around)
    let endedAt = Infinity
    let report: Retry.Report<string, unknown> | undefined
    let inside: unknown
    const fiber = yield* Effect.fork(
      Effect.gen(function* () {
        report = yield* limited
      }).pipe(
        Effect.onExit(() =>
          Effect.gen(function* () {
            endedAt = yield* Clock.currentTimeMillis
            inside = [yield* RetryScope.attempt, yield* Deadline.remaining]
          })
        )
      )
    )
    yield* Effect.sleep(interruptAt)
    yield* Fiber.interrupt(fiber)
    return {
      report,
      endedAt,
      inside,
      interruptedAt: yield* Clock.currentTimeMillis,
      tokens: yield* budget.balance,
      free: yield* inFlight.balance,
      active: yield* active.balance
    }
  })
  const before = counted()
  const { exit } = timed(withSleeps(program))
  const { sleeps, value } = Exit.isSuccess(exit) ? exit.value : assert.fail(String(exit))
  return { ...value, calls, pending: sleeps.pending, before, after: counted() }
}
type SettingOf = typeof setting extends fc.Arbitrary<infer A> ? A : never

const { firstAttempts, operations, retries } = RetryMetrics.ofPolicy("laws")
const count = (metric: Metric.Metric.Counter<number>) => Effect.runSync(Metric.value(metric)).count
const counted = () => ({
  attempts: count(firstAttempts) + count(retries),
  operations: (["succeeded", "succeeded-after-retry", "failed", "interrupted"] as const).reduce(
    (sum, outcome) => sum + count(operations(outcome)),
    0
  )
})

describe("every operation", () => {
  it("keeps its limits, gives back what it did not use, and leaves nothing behind", () => {
    fc.assert(
      fc.property(setting, (given) => {
        const seen = observed(given)
        const sent = seen.calls.length
        assert.isAtMost(sent, given.attempts)
        assert.strictEqual(seen.after.attempts - seen.before.attempts, sent)
        assert.strictEqual(seen.after.operations - seen.before.operations, given.around === 0 ? 0 : 1)
        // A retry that was sent has used its token, no other has.
        assert.strictEqual(seen.tokens, given.tokens - Math.max(0, sent - 1))
        assert.deepStrictEqual([seen.free, seen.active, seen.pending], [1, 0, 0])
        assert.deepStrictEqual(seen.inside, [Option.none(), Option.none()])
        assert.isAtMost(seen.endedAt, Math.min(given.deadline ?? Infinity, given.around ?? Infinity, given.interruptAt))
        assert.strictEqual(seen.interruptedAt, given.interruptAt)
      }),
      { numRuns: 2000 }
    )
  })

  it("tells in its account what was seen from outside", () => {
    fc.assert(
      fc.property(setting, (given) => {
        const { calls, report } = observed({ ...given, interruptAt: 100_000, around: undefined })
        // One that hangs without a limit has no account.
        if (report === undefined) return
        assert.strictEqual(report.attempts, calls.length)
        assert.deepStrictEqual(
          report.history.map(({ startedAt }) => Duration.toMillis(startedAt)),
          calls
        )
        assert.strictEqual(Option.isNone(report.reason), Exit.isSuccess(report.exit))
      }),
      { numRuns: 1000 }
    )
  })
})
