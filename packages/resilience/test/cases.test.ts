/** Faults that people reported elsewhere; docs/cases.md lists them. */
import { AttemptTimeout, Deadline, Retry, RetryBudget, RetryMetrics, RetryScope } from "@breakwater/resilience"
import { Backoff, Limit, RetryAfter } from "@breakwater/schedule"
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { interruptedAt, operation, scripted, sleepsOf, timed } from "./operation.js"

const every = (millis: number) => Backoff.constant({ delay: millis })
const exponential = (base: number) => Backoff.exponential({ base })
const failure = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit)
    ? Option.getOrThrow(Cause.failureOption(exit.cause))
    : assert.fail(`Expected a failure, got ${String(exit)}`)
const budgetOf = (ledger: RetryBudget.Ledger) => Effect.runSync(RetryBudget.make(ledger))

describe("the range of a timer", () => {
  afterEach(() => void vi.useRealTimers())

  it("C01: a wait of 10^10 ms is slept in full on the live clock, neither 1 ms nor for ever", async () => {
    vi.useFakeTimers({ now: 0, toFake: ["setTimeout", "clearTimeout", "Date", "performance"] })
    const { call, calls } = scripted([{ fails: "down" }, {}])
    const done = Effect.runPromise(Retry.retry(call, { schedule: Backoff.constant({ delay: 1e10 }), log: false }))
    await vi.advanceTimersByTimeAsync(1e10 - 1)
    assert.deepStrictEqual(calls, [0])
    await vi.advanceTimersByTimeAsync(1)
    assert.strictEqual(await done, "answer 2")
    assert.deepStrictEqual(calls, [0, 1e10])
  })

  it("C01: nine retries of a backoff without a cap come exactly when they must", () => {
    const schedule = Backoff.exponential({ base: 1000, factor: 10, cap: Duration.infinity }).pipe(Limit.retries(9))
    const { calls } = operation([{ fails: "down" }], { schedule })
    assert.deepStrictEqual([calls[7]! - calls[6]!, calls[8]! - calls[7]!], [1e9, 1e10])
  })
})

describe("interruption", () => {
  it("C42: an abort while it waits for the server's time ends it at once, and leaves no timer", () => {
    const schedule = exponential(100).pipe(RetryAfter.respect({ of: () => Duration.seconds(3) }))
    const { call, calls } = scripted([{ fails: "429" }])
    const { endedAt, exit } = interruptedAt(Retry.retry(call, { schedule, log: false }), 100)
    assert.isTrue(Exit.isSuccess(exit) && Exit.isInterrupted(exit.value.exit))
    assert.deepStrictEqual([calls, endedAt], [[0], 100])
  })

  it("C43: an attempt that fails because of the abort is not waited on", () => {
    // It lets go with an error of its own, as a call does that was handed the signal.
    const { calls, call } = scripted([{ hangs: true }])
    const signalled = Effect.uninterruptibleMask((restore) =>
      restore(call).pipe(Effect.catchAllCause(() => Effect.fail("aborted")))
    )
    const { endedAt, exit } = interruptedAt(Retry.retry(signalled, { schedule: every(10_000), log: false }), 1000)
    assert.isTrue(Exit.isSuccess(exit) && Exit.isInterrupted(exit.value.exit))
    assert.deepStrictEqual([calls, endedAt], [[0], 1000])
  })

  it("C44: the user's own cancel is not retried", () => {
    const { call, calls } = scripted([{ hangs: true }])
    const { exit } = interruptedAt(Retry.retry(call, { schedule: every(1).pipe(Limit.retries(3)), log: false }), 50)
    assert.isTrue(Exit.isSuccess(exit) && Exit.isInterrupted(exit.value.exit))
    assert.deepStrictEqual(calls, [0])
  })
})

describe("time-outs and deadlines", () => {
  it("C35: a time-out counts as a passing fault", () => {
    const { calls, endedAt, exit } = operation([{ hangs: true }, {}], {
      schedule: every(500).pipe(Limit.retries(3)),
      attemptTimeout: 1000
    })
    assert.deepStrictEqual([calls, endedAt, exit], [[0, 1500], 1500, Exit.succeed("answer 2")])
  })

  it("C45: the deadline is the total, not the limit of each attempt", () => {
    const { calls, endedAt, exit } = operation([{ hangs: true }], {
      schedule: every(1000).pipe(Limit.retries(5)),
      attemptTimeout: 4000,
      deadline: 10_000
    })
    assert.deepStrictEqual([calls, endedAt], [[0, 5000], 9000])
    assert.instanceOf(failure(exit), AttemptTimeout.AttemptTimedOut)
  })

  it("C46: the limit of an attempt is not the total", () => {
    const { calls, endedAt, exit } = operation(
      [{ takes: 2600, fails: "down" }, { takes: 2600, fails: "down" }, { takes: 2600 }],
      {
        schedule: Schedule.recurs(3),
        attemptTimeout: 5000
      }
    )
    assert.deepStrictEqual([calls.length, endedAt, exit], [3, 7800, Exit.succeed("answer 3")])
  })

  it("C47: no wait is begun that ends after the deadline, and none is cut short", () => {
    const { calls, endedAt, exit } = operation([{ fails: "down" }], { schedule: exponential(1000), deadline: 5000 })
    assert.deepStrictEqual([calls, endedAt, failure(exit)], [[0, 1000, 3000], 3000, "down"])
  })

  it("C48: an attempt that timed out is not final", () => {
    const { calls, endedAt } = operation([{ hangs: true }, {}], {
      schedule: every(10_000),
      attemptTimeout: 60_000,
      deadline: 900_000
    })
    assert.deepStrictEqual([calls.length, endedAt], [2, 70_000])
  })

  it("C49: no attempt is begun when no time is left", () => {
    const { calls, endedAt, exit } = operation([{ hangs: true }], {
      schedule: exponential(1000).pipe(Limit.retries(5)),
      deadline: 66
    })
    assert.deepStrictEqual([calls, endedAt], [[0], 66])
    assert.instanceOf(failure(exit), Deadline.DeadlineExceeded)
  })

  it("C49: a deadline of nothing makes no attempt, and is not taken for no limit", () => {
    const { attempts, calls, exit } = operation([{}], { schedule: every(1), deadline: 0 })
    assert.deepStrictEqual([attempts, calls], [0, []])
    assert.instanceOf(failure(exit), Deadline.DeadlineExceeded)
  })

  it("C50: each attempt has a limit of its own", () => {
    const { calls, endedAt } = operation([{ hangs: true }, { takes: 2000 }], {
      schedule: Schedule.recurs(2),
      attemptTimeout: 3000
    })
    assert.deepStrictEqual([calls, endedAt], [[0, 3000], 5000])
  })

  it("C93: nothing limits the whole that nobody asked for", () => {
    const { endedAt, exit } = operation([{ hangs: true }, { hangs: true }, { takes: 95 }], {
      schedule: every(10).pipe(Limit.attempts(3)),
      attemptTimeout: 100
    })
    assert.deepStrictEqual([endedAt, exit], [315, Exit.succeed("answer 3")])
  })
})

describe("leaks", () => {
  it("C51: the timer of a call that was faster is gone at once", () => {
    const { call } = scripted([{ takes: 10 }])
    const { endedAt, exit } = timed(sleepsOf(Retry.retry(call, { schedule: every(1), attemptTimeout: 5000 })))
    // The call's own sleep, and the timer.
    assert.deepStrictEqual([exit, endedAt], [Exit.succeed({ begun: 2, pending: 0 }), 10])
  })

  it("C52: no listener stays on the caller's signal, whatever the outcome", async () => {
    const controller = new AbortController()
    const { signal } = controller
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args))
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args))
    for (let run = 0; run < 20; run++) {
      const { call } = scripted([{ fails: "down" }, { fails: "down", takes: 1 }, run % 2 === 0 ? {} : { fails: "down" }])
      const protectedCall = Retry.retry(call, { schedule: Schedule.recurs(2), attemptTimeout: 1000, log: false })
      await Effect.runPromiseExit(protectedCall, { signal })
      assert.strictEqual(listeners, 0)
    }
  })
})

describe("what reaches the caller", () => {
  const stubborn = Effect.uninterruptible(Effect.zipRight(Effect.sleep(1000), Effect.fail(new Error("A"))))

  it("C53: the deadline does not hide the last error of an attempt that could not be interrupted", () => {
    const { endedAt, exit } = timed(Retry.report(stubborn, { schedule: every(1), deadline: 100, log: false }))
    const report = Exit.isSuccess(exit) ? exit.value : assert.fail("no report")
    const error = failure(report.exit)
    assert.instanceOf(error, Deadline.DeadlineExceeded)
    assert.deepStrictEqual(
      Option.map((error as Deadline.DeadlineExceeded<Error>).lastError, ({ message }) => message),
      Option.some("A")
    )
    assert.deepStrictEqual([report.attempts, endedAt], [1, 1000])
  })

  it("C53: one that is disconnected is left behind at the deadline", () => {
    const program = Retry.report(Effect.disconnect(stubborn), { schedule: every(1), deadline: 100, log: false }).pipe(
      Effect.zip(Effect.clockWith((clock) => clock.currentTimeMillis))
    )
    const { exit } = timed(program)
    const [report, at] = Exit.isSuccess(exit) ? exit.value : assert.fail("no report")
    assert.strictEqual(at, 100)
    assert.deepStrictEqual((failure(report.exit) as Deadline.DeadlineExceeded).lastError, Option.none())
  })

  it("C54: the last answer is handed over as it is, after the last attempt", () => {
    const busy = { status: 503, body: "busy" }
    const { attempts, exit } = operation([{ fails: busy }], { schedule: Schedule.recurs(2) })
    assert.strictEqual(failure(exit), busy)
    assert.strictEqual(attempts, 3)
  })
})

describe("retry budgets", () => {
  const exhaust = (budget: RetryBudget.RetryBudget, options: { readonly attempts: number }) =>
    operation([{ fails: "down" }], { schedule: Schedule.recurs(options.attempts - 1), budget })

  it("C71: a good day piles up nothing, an outage goes to nothing and not below", () => {
    const budget = budgetOf(RetryBudget.throttle({ maxTokens: 10, tokenRatio: 0.1 }))
    const settle = (outcome: RetryBudget.Outcome, times: number) => {
      for (let i = 0; i < times; i++) budget.unsafeSettled(outcome, undefined, 0)
    }
    settle("success", 1e6)
    // 9, 8, 7, 6: four retries; at 5 it pauses
    assert.strictEqual(exhaust(budget, { attempts: 20 }).attempts, 5)
    settle("failure", 20)
    settle("success", 60)
    assert.strictEqual(exhaust(budget, { attempts: 2 }).attempts, 1)
    settle("failure", 20)
    settle("success", 61)
    assert.strictEqual(exhaust(budget, { attempts: 2 }).attempts, 2)
  })

  it("C72: successes refill what was drained", () => {
    const budget = budgetOf(RetryBudget.tokens({ capacity: 500, cost: { failure: 5 }, success: 1 }))
    assert.strictEqual(exhaust(budget, { attempts: 1000 }).attempts, 101)
    for (let i = 0; i < 5; i++) operation([{}], { schedule: Schedule.stop, budget })
    assert.strictEqual(exhaust(budget, { attempts: 3 }).attempts, 2)
  })

  it("C73: the tokens are shared, the count of attempts is not", () => {
    const budget = budgetOf(RetryBudget.tokens({ capacity: 500, cost: { failure: 5 } }))
    const policy = Retry.retry({ schedule: Schedule.recurs(2), budget, log: false })
    const { call, calls } = scripted([{ fails: "down" }])
    timed(Effect.ignore(policy(call)))
    timed(Effect.ignore(policy(call)))
    assert.strictEqual(calls.length, 6)
  })

  it("C74: a few retries at the same time are granted however little is in flight", () => {
    const concurrent = (operations: number) => {
      const program = Effect.gen(function* () {
        const budget = yield* RetryBudget.make(RetryBudget.inFlight({ percent: 20, minimum: 3 }))
        for (let i = 0; i < operations; i++) budget.unsafeStarted(0)
        return yield* budget.balance
      })
      const { exit } = timed(program)
      return Exit.isSuccess(exit) ? exit.value : undefined
    }
    assert.deepStrictEqual([concurrent(2), concurrent(25)], [3, 5])
  })

  it("C75: a fraction of a retry is not rounded away", () => {
    const granted = (percent: number) => {
      const budget = budgetOf(RetryBudget.ratio({ percent, reservePerSecond: 0 }))
      for (let i = 0; i < 10; i++) budget.unsafeStarted(0)
      return Array.from({ length: 10 }, () => budget.unsafeRetry("failure", 0)).filter((permit) => permit !== undefined).length
    }
    assert.deepStrictEqual([60, 30, 10].map(granted), [6, 3, 1])
  })

  it("C76: what refills with time does", () => {
    const ledger = RetryBudget.tokens({ capacity: 100, cost: { failure: 1 }, refillPerSecond: 10, initial: 0 })
    const program = Effect.gen(function* () {
      const budget = yield* RetryBudget.make(ledger)
      const looks: Array<number> = []
      for (const wait of [99, 1, 900, 9000, 990_000]) {
        yield* Effect.sleep(wait)
        looks.push(yield* budget.balance)
      }
      return looks
    })
    assert.deepStrictEqual(timed(program).exit, Exit.succeed([0, 1, 10, 100, 100]))
  })

  it("C97: the budget is wired in: 1,000 attempts allowed, 101 made, and the reason stands in report, metrics and log", async () => {
    const budget = budgetOf(RetryBudget.tokens({ capacity: 500, cost: { failure: 5 } }))
    const error = new Error("down")
    const logged: Array<string> = []
    const spy = vi.spyOn(console, "log").mockImplementation((line: string) => void logged.push(line))
    const { attempts, exit, reason } = operation([{ fails: error }], {
      name: "C97",
      schedule: Schedule.recurs(999),
      budget,
      log: true
    })
    spy.mockRestore()
    assert.deepStrictEqual([attempts, reason], [101, Option.some("budget-exhausted")])
    assert.strictEqual(failure(exit), error)
    assert.strictEqual(Effect.runSync(Metric.value(RetryMetrics.ofPolicy("C97").giveUps("budget-exhausted"))).count, 1)
    assert.strictEqual(logged.filter((line) => line.includes("budget-exhausted")).length, 1)
  })
})

describe("nested retries", () => {
  it("C77: an app's retry around an SDK that retries makes the app's number of calls", () => {
    const { call, calls } = scripted([{ fails: 429 }])
    const sdk = Retry.retry(call, { schedule: Schedule.recurs(2), log: false })
    timed(Retry.retry(sdk, { schedule: Schedule.recurs(3), log: false }))
    assert.strictEqual(calls.length, 4)
    timed(Retry.retry(RetryScope.allow(sdk), { schedule: Schedule.recurs(3), log: false }))
    assert.strictEqual(calls.length, 4 + 12)
  })
})

describe("metrics", () => {
  it("C85: an operation is counted in one outcome, whatever answers in its place", () => {
    const { firstAttempts, operations, retries } = RetryMetrics.ofPolicy("C85")
    const { call } = scripted([{ fails: "down" }])
    const program = Retry.retry(call, { name: "C85", schedule: Schedule.recurs(2), log: false }).pipe(
      Effect.orElseSucceed(() => "fallback")
    )
    assert.deepStrictEqual(timed(program).exit, Exit.succeed("fallback"))
    const count = (metric: Metric.Metric.Counter<number>) => Effect.runSync(Metric.value(metric)).count
    assert.deepStrictEqual(
      [firstAttempts, retries, operations("succeeded-after-retry"), operations("failed"), operations("succeeded")].map(count),
      [1, 2, 0, 1, 0]
    )
  })
})

describe("what is shared and what is not", () => {
  it("C86: parallel operations under one policy each have their own count of attempts", () => {
    const policy = Retry.retry({ schedule: every(100).pipe(Limit.retries(3)), log: false })
    const scripts = Array.from({ length: 10 }, () => scripted([{ fails: "down" }, { fails: "down" }, {}]))
    const { exit } = timed(
      Effect.all(
        scripts.map(({ call }) => policy(call)),
        { concurrency: "unbounded" }
      )
    )
    assert.isTrue(Exit.isSuccess(exit))
    assert.strictEqual(
      scripts.reduce((sum, { calls }) => sum + calls.length, 0),
      30
    )
  })

  it("C87: a policy stays what it is from one attempt to the next", () => {
    const { calls } = operation(
      [{ fails: { retryAfter: 3600 } }, { fails: { retryAfter: 3600 } }, { fails: { retryAfter: 3600 } }, {}],
      {
        schedule: exponential(100)
      }
    )
    assert.deepStrictEqual(calls, [0, 100, 300, 700])
  })
})
