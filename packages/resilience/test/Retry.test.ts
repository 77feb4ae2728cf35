import { AttemptTimeout, Deadline, LocalRefusal, Retry, RetryBudget, RetryMetrics, RetryScope } from "@breakwater/resilience"
import { Backoff, Limit, RetryAfter, RetryObserver } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { interruptedAt, operation, scripted, sleepsOf, timed } from "./operation.js"

const every = (millis: number) => Backoff.constant({ delay: millis })
const seconds = (count: number) => Duration.seconds(count)
const failure = <A, E>(exit: Exit.Exit<A, E>): E => {
  const error = Exit.isFailure(exit) ? Cause.failureOption(exit.cause) : Option.none<E>()
  return Option.getOrThrowWith(error, () => new Error(`Expected a failure, got ${String(exit)}`))
}

describe("the error table", () => {
  it("exhausted: gives the last error, unchanged", () => {
    const first = { _tag: "First" } as const
    const last = { _tag: "Last" } as const
    const { attempts, endedAt, exit, reason } = operation<{ readonly _tag: string }, Retry.Options<unknown>>(
      [{ fails: first }, { fails: first }, { fails: last }],
      {
        schedule: every(100).pipe(Limit.attempts(3))
      }
    )
    assert.strictEqual(failure(exit), last)
    assert.deepStrictEqual([attempts, endedAt, reason], [3, 200, Option.some("exhausted")])
  })

  it("a schedule that ends for a reason of its own: gives the last error and that reason", () => {
    const { calls, reason } = operation([{ fails: "down" }], {
      schedule: every(100).pipe(RetryAfter.respect({ of: () => Duration.hours(1) }))
    })
    assert.deepStrictEqual([calls, reason], [[0], Option.some("retry-after")])
  })

  it("not retryable: gives that error after one attempt, without asking schedule or budget", () => {
    const budget = Effect.runSync(RetryBudget.make(RetryBudget.tokens({ capacity: 10, cost: { failure: 10 } })))
    const { attempts, exit, reason } = operation([{ fails: { status: 400 } }], {
      schedule: every(100),
      while: ({ status }) => status >= 500,
      budget
    })
    assert.deepStrictEqual(failure(exit), { status: 400 })
    assert.deepStrictEqual([attempts, reason], [1, Option.some("not-retryable")])
    assert.strictEqual(Effect.runSync(budget.balance), 1)
  })

  it("the next wait does not fit the deadline: gives the last error at once", () => {
    const { calls, endedAt, exit, reason } = operation([{ fails: "down", takes: 100 }], {
      schedule: every(500),
      deadline: "1 second"
    })
    assert.strictEqual(failure(exit), "down")
    assert.deepStrictEqual([calls, endedAt, reason], [[0, 600], 700, Option.some("deadline")])
  })

  it("the next attempt does not fit the deadline: gives the last error at once", () => {
    const { calls, reason } = operation([{ fails: "down" }], {
      schedule: every(400),
      deadline: "1 second",
      minimumAttemptTime: "300 millis"
    })
    // 200 ms would be left at 800
    assert.deepStrictEqual([calls, reason], [[0, 400], Option.some("deadline")])
  })

  it("the budget refuses: gives the last error at once", () => {
    const { calls, endedAt, exit, reason } = operation([{ fails: "down" }], {
      schedule: every(100),
      budget: Effect.runSync(RetryBudget.make(RetryBudget.fixedRate({ retries: 2 })))
    })
    assert.strictEqual(failure(exit), "down")
    assert.deepStrictEqual([calls, endedAt, reason], [[0, 100, 200], 200, Option.some("budget-exhausted")])
  })

  it("the deadline cuts a running attempt: DeadlineExceeded with the last known error", () => {
    const { attempts, endedAt, exit, reason } = operation([{ fails: "down" }, { hangs: true }], {
      schedule: every(100),
      deadline: "1 second"
    })
    const error = failure(exit)
    assert.instanceOf(error, Deadline.DeadlineExceeded)
    assert.deepStrictEqual((error as Deadline.DeadlineExceeded).lastError, Option.some("down"))
    assert.deepStrictEqual([attempts, endedAt, reason], [2, 1000, Option.some("deadline")])
  })

  it("the deadline cuts the first attempt: DeadlineExceeded without an error", () => {
    const error = failure(operation([{ hangs: true }], { schedule: every(100), deadline: "1 second" }).exit)
    assert.deepStrictEqual((error as Deadline.DeadlineExceeded).lastError, Option.none())
  })

  it("the attempt time-out cuts an attempt: it is retried", () => {
    const { calls, endedAt, exit, history } = operation([{ hangs: true }, { takes: 50 }], {
      schedule: every(100),
      attemptTimeout: "1 second"
    })
    assert.deepStrictEqual(exit, Exit.succeed("answer 2"))
    assert.deepStrictEqual([calls, endedAt], [[0, 1100], 1150])
    assert.instanceOf(Option.getOrThrow(history[0]!.error), AttemptTimeout.AttemptTimedOut)
  })

  it("the attempt time-out cuts an attempt that must not be repeated: AttemptTimedOut", () => {
    const { calls, endedAt, exit, reason } = operation([{ hangs: true }], {
      schedule: every(100),
      attemptTimeout: "1 second",
      idempotent: false
    })
    assert.instanceOf(failure(exit), AttemptTimeout.AttemptTimedOut)
    assert.deepStrictEqual([calls, endedAt, reason], [[0], 1000, Option.some("timed-out")])
  })

  const refusals = [
    ["breaker", new LocalRefusal.CircuitOpen({ breaker: "default", retryAfter: seconds(5) })],
    ["bulkhead", new LocalRefusal.BulkheadFull({ bulkhead: "default", retryAfter: Duration.zero })],
    ["throttle", new LocalRefusal.Throttled({ throttle: "default", retryAfter: Duration.zero })]
  ] as const

  it.each(refusals)("the %s refuses the first attempt: its error, and no attempt", (_, refusal) => {
    const { attempts, exit, reason } = operation([{ fails: refusal }], { schedule: every(100) })
    assert.strictEqual(failure(exit), refusal)
    assert.deepStrictEqual([attempts, reason], [0, Option.some("refused-locally")])
  })

  it.each(refusals)("the %s refuses a later attempt: the last real error", (_, refusal) => {
    const budget = Effect.runSync(RetryBudget.make(RetryBudget.tokens({ capacity: 10, cost: { failure: 1 } })))
    const { attempts, calls, exit, reason } = operation<
      unknown,
      { schedule: Schedule.Schedule<Duration.Duration>; budget: RetryBudget.RetryBudget }
    >([{ fails: "down" }, { fails: refusal }], { schedule: every(100), budget })
    assert.strictEqual(failure(exit), "down")
    assert.deepStrictEqual([attempts, calls, reason], [1, [0, 100], Option.some("refused-locally")])
    assert.strictEqual(Effect.runSync(budget.balance), 10)
  })

  it("interrupted: interruption, at once", () => {
    const { call, calls } = scripted([{ fails: "down" }])
    const { exit } = interruptedAt(Retry.retry(call, { schedule: every(1000), log: false }), 1500)
    assert.isTrue(Exit.isSuccess(exit) && Exit.isInterrupted(exit.value.exit))
    assert.deepStrictEqual([Exit.isSuccess(exit) && exit.value.at, calls], [1500, [0, 1000]])
  })
})

describe("a defect", () => {
  it("is never retried, and nothing is kept", () => {
    const budget = Effect.runSync(RetryBudget.make(RetryBudget.inFlight({ minimum: 1 })))
    const { exit } = timed(Retry.retry(Effect.die("bug"), { schedule: every(1), budget, log: false }))
    assert.deepStrictEqual(exit, Exit.die("bug"))
    assert.strictEqual(Effect.runSync(budget.balance), 1)
  })

  it.each([
    [
      "while",
      {
        while: () => {
          throw new Error("in while")
        }
      }
    ],
    [
      "kind",
      {
        kind: () => {
          throw new Error("in kind")
        }
      }
    ],
    ["schedule", { schedule: Schedule.mapEffect(Schedule.recurs(3), () => Effect.die(new Error("in schedule"))) }]
  ] as ReadonlyArray<[string, Partial<Retry.Options<string>>]>)(
    "in %s ends the operation, and nothing is kept",
    (where, options) => {
      const budget = Effect.runSync(RetryBudget.make(RetryBudget.inFlight({ minimum: 1 })))
      const { exit } = timed(
        Retry.retry(Effect.fail("down"), {
          schedule: every(1),
          budget,
          log: false,
          ...options
        } as Retry.Options<string>) as Effect.Effect<never, unknown>
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.pretty(exit.cause).includes(`in ${where}`))
      assert.strictEqual(Effect.runSync(budget.balance), 1)
    }
  )
})

describe("the account", () => {
  it("tells of each attempt when it ran, what it failed with and what was decided", () => {
    const { attempts, history } = operation([{ fails: "down", takes: 10 }, { takes: 20 }], { schedule: every(100) })
    assert.strictEqual(attempts, 2)
    assert.deepStrictEqual(history, [
      {
        number: 1,
        startedAt: Duration.zero,
        endedAt: Duration.millis(10),
        error: Option.some("down"),
        decision: { _tag: "Retrying", wait: Duration.millis(100), maximumWait: Duration.millis(100) }
      },
      {
        number: 2,
        startedAt: Duration.millis(110),
        endedAt: Duration.millis(130),
        error: Option.none(),
        decision: { _tag: "Succeeded" }
      }
    ])
  })

  it("keeps its size where the retrying has no end", () => {
    const { call, calls } = scripted([...Array.from({ length: 1000 }, () => ({ fails: "down" })), {}])
    const { exit } = timed(Retry.report(call, { schedule: Schedule.forever, log: false }))
    const report = Exit.isSuccess(exit) ? exit.value : undefined
    assert.strictEqual(calls.length, 1001)
    assert.strictEqual(report?.attempts, 1001)
    assert.strictEqual(report?.history.length, Retry.historyLength)
    assert.strictEqual(report?.history.at(-1)?.number, 1001)
  })

  it("is told to the observer, once for each failure, with the reason", () => {
    const told: Array<string> = []
    const observer: RetryObserver.Observer = (event) =>
      Effect.sync(() =>
        told.push(
          event._tag === "Retrying" ? `${event.attempt}: ${Duration.format(event.wait)}` : `${event.attempt}: ${event.reason}`
        )
      )
    const { call } = scripted([{ fails: "down" }])
    timed(Retry.retry(call, { schedule: every(100), deadline: "250 millis", log: false }).pipe(RetryObserver.observe(observer)))
    assert.deepStrictEqual(told, ["1: 100ms", "2: 100ms", "3: deadline"])
  })
})

describe("what an attempt finds", () => {
  it("the metadata of its iteration, as under Effect.retry", () => {
    const seen: Array<readonly [number, unknown]> = []
    const call = Effect.flatMap(Schedule.CurrentIterationMetadata, ({ input, recurrence }) => {
      seen.push([recurrence, input])
      return Effect.fail(`failure ${seen.length}`)
    })
    timed(Retry.retry(call, { schedule: every(100).pipe(Limit.attempts(3)), log: false }))
    assert.deepStrictEqual(seen, [
      [0, undefined],
      [1, "failure 1"],
      [2, "failure 2"]
    ])
  })

  it("no metadata of an iteration around it", () => {
    const seen: Array<number> = []
    const call = Effect.flatMap(Schedule.CurrentIterationMetadata, ({ recurrence }) => Effect.sync(() => seen.push(recurrence)))
    timed(Effect.repeat(Retry.retry(call, { schedule: every(100), log: false }), Schedule.recurs(2)))
    assert.deepStrictEqual(seen, [0, 0, 0])
  })

  it("leaves what it sets in its fiber, with a time limit as without one", () => {
    const ref = FiberRef.unsafeMake(0)
    const set = FiberRef.set(ref, 1)
    for (const attemptTimeout of [undefined, "1 second"] as const) {
      const run = (call: Effect.Effect<void>) =>
        timed(Effect.zipRight(Retry.retry(call, { schedule: every(100), attemptTimeout, log: false }), FiberRef.get(ref))).exit
      assert.deepStrictEqual(run(set), Exit.succeed(1))
      assert.deepStrictEqual(run(Effect.zipRight(Effect.sleep(1), set)), Exit.succeed(1))
    }
  })

  it("takes none of its marks out of the operation", () => {
    const marks = Effect.all([RetryScope.attempt, Deadline.remaining])
    const { exit } = timed(
      Effect.zipRight(
        Retry.retry(Effect.sleep(1), { schedule: every(1), attemptTimeout: "1 second", deadline: "1 minute", log: false }),
        marks
      )
    )
    assert.deepStrictEqual<unknown>(exit, Exit.succeed([Option.none(), Option.none()]))
  })
})

describe("a schedule over the caller's errors", () => {
  it("reads no server's time from a time-out", () => {
    const respect = RetryAfter.respect(every(100), {
      of: ({ retryAfter }: { retryAfter: number }) => Duration.millis(retryAfter)
    })
    const { calls } = operation<{ retryAfter: number }, Retry.Options<{ retryAfter: number }>>([{ hangs: true }, {}], {
      schedule: respect,
      attemptTimeout: "1 second"
    })
    assert.deepStrictEqual(calls, [0, 1100])
  })

  it("is given the error before, where a predicate of Effect's asks about a time-out", () => {
    const schedule = every(100).pipe(Schedule.whileInput((error: { readonly transient: boolean }) => error.transient))
    const { calls, exit } = operation([{ fails: { transient: true } }, { hangs: true }, {}], {
      schedule,
      attemptTimeout: "1 second"
    })
    assert.deepStrictEqual([calls, exit], [[0, 100, 1200], Exit.succeed("answer 3")])
  })
})

describe("an attempt that cannot be interrupted", () => {
  const stubborn = (ends: Effect.Effect<string, string>) => Effect.uninterruptible(Effect.zipRight(Effect.sleep(1000), ends))

  it("ends when it ends, and a success that comes too late is a time-out all the same", () => {
    const call = stubborn(Effect.succeed("late"))
    const { endedAt, exit } = timed(Retry.retry(call, { schedule: Schedule.stop, attemptTimeout: "100 millis", log: false }))
    assert.instanceOf(failure(exit), AttemptTimeout.AttemptTimedOut)
    assert.strictEqual(endedAt, 1000)
  })

  it("ends when it ends, and a late failure is what it failed with", () => {
    const call = stubborn(Effect.fail("late"))
    const { exit } = timed(Retry.retry(call, { schedule: Schedule.stop, attemptTimeout: "100 millis", log: false }))
    assert.deepStrictEqual(exit, Exit.fail("late"))
  })
})

describe("interrupted", () => {
  const cases = [
    ["while it waits", [{ fails: "down" }], 50],
    ["during its first attempt", [{ hangs: true }], 50],
    ["during a later attempt", [{ fails: "down" }, { hangs: true }], 150]
  ] as const

  it.each(cases)("%s, it gives back what it has: permit, marks, timer", (_, script, at) => {
    const ledger = RetryBudget.inFlight({ percent: 0, minimum: 1 })
    const program = Effect.gen(function* () {
      const budget = yield* RetryBudget.make(ledger)
      const { call } = scripted<string>(script)
      const fiber = yield* Effect.fork(
        Retry.retry(call, { schedule: every(100), budget, attemptTimeout: "1 hour", deadline: "2 hours", log: false })
      )
      yield* Effect.sleep(at)
      yield* Fiber.interrupt(fiber)
      return yield* budget.balance
    })
    // A timer that was left would let the run end an hour later.
    const { endedAt, exit } = timed(program)
    assert.deepStrictEqual([exit, endedAt], [Exit.succeed(1), at])
  })

  it("leaves no fiber and no sleep behind, at whatever instant", () => {
    for (let at = 0; at <= 700; at += 50) {
      const program = Effect.gen(function* () {
        const budget = yield* RetryBudget.make(RetryBudget.tokens({ capacity: 100, cost: { failure: 1, timeout: 1 } }))
        const { call } = scripted<string>([{ fails: "down", takes: 100 }, { hangs: true }, { takes: 50, fails: "down" }, {}])
        const fiber = yield* Effect.fork(
          Retry.retry(call, { schedule: every(100), budget, attemptTimeout: "200 millis", log: false })
        )
        yield* Effect.sleep(at)
        yield* Fiber.interrupt(fiber)
        return yield* budget.balance
      })
      const { endedAt, exit } = timed(program)
      const sent = at <= 200 ? 0 : at <= 500 ? 1 : 2
      assert.deepStrictEqual([at, exit, endedAt], [at, Exit.succeed(100 - sent), at])
    }
  })
})

describe("a wait that ends late", () => {
  it("is followed by no attempt that does not fit any more, and what was granted for it is given back", () => {
    const program = Effect.gen(function* () {
      const clock = yield* Effect.clock
      const late: Clock.Clock = {
        [Clock.ClockTypeId]: Clock.ClockTypeId,
        unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis(),
        unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
        currentTimeMillis: clock.currentTimeMillis,
        currentTimeNanos: clock.currentTimeNanos,
        sleep: (duration) => clock.sleep(Duration.sum(duration, "1 second"))
      }
      const budget = yield* RetryBudget.make(RetryBudget.tokens({ capacity: 10, cost: { failure: 1 } }))
      const { call, calls } = scripted([{ fails: "down" }])
      const operation = Retry.report(call, { schedule: every(100), deadline: "500 millis", budget, log: false })
      const { exit, reason } = yield* Effect.withClock(operation, late)
      return { exit, reason, calls: calls.length, balance: yield* budget.balance }
    })
    assert.deepStrictEqual(
      timed(program).exit,
      Exit.succeed({ exit: Exit.fail("down"), reason: Option.some("deadline" as const), calls: 1, balance: 10 })
    )
  })
})

describe("what ends without waiting", () => {
  it("starts no timer and sleeps no sleep, with an attempt time-out and a deadline", () => {
    const policy = Retry.retry({ schedule: every(1), attemptTimeout: "1 second", deadline: "1 minute" })
    assert.deepStrictEqual(timed(sleepsOf(policy(Effect.succeed(1)))).exit, Exit.succeed({ begun: 0, pending: 0 }))
  })
})

describe("metrics", () => {
  const count = (metric: Metric.Metric.Counter<number>) => Effect.runSync(Metric.value(metric)).count

  it("count every attempt, operation and give-up exactly once", () => {
    const { firstAttempts, giveUps, operationDuration, operations, retries } = RetryMetrics.ofPolicy("metrics, once")
    const options = { name: "metrics, once", schedule: every(1).pipe(Limit.attempts(3)) }
    operation([{}], options)
    operation([{ fails: "down" }, {}], options)
    operation([{ fails: "down" }], options)
    interruptedAt(Retry.retry(Effect.never, { ...options, log: false }), 10)
    assert.deepStrictEqual([firstAttempts, retries].map(count), [4, 3])
    assert.deepStrictEqual(
      (["succeeded", "succeeded-after-retry", "failed", "interrupted"] as const).map((outcome) => count(operations(outcome))),
      [1, 1, 1, 1]
    )
    assert.deepStrictEqual(
      (["exhausted", "interrupted", "deadline"] as const).map((reason) => count(giveUps(reason))),
      [1, 1, 0]
    )
    assert.strictEqual(Effect.runSync(Metric.value(operationDuration)).count, 4)
  })
})

describe("wrong options", () => {
  it("name the function, the field and the rule", () => {
    assert.throws(
      () => Retry.retry({ schedule: every(1), attemptTimeout: -1 }),
      "AttemptTimeout.fixed: limit must be a whole number of milliseconds, at least 1, or infinite, got -1"
    )
    assert.throws(
      () => Retry.retry({ schedule: every(1), deadline: Number.NaN }),
      "Retry.retry: deadline must be a whole number of milliseconds, at least 0, or infinite, got NaN"
    )
  })
})
