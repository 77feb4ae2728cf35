import {
  AdaptiveThrottle,
  Bulkhead,
  CircuitBreaker,
  Deadline,
  LocalRefusal,
  Policy,
  Retry,
  RetryBudget
} from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { scripted, timed } from "./operation.js"

class ApiError extends Data.TaggedError("ApiError")<{ readonly status: number }> {}

class Payments extends Policy.Tag("Payments")<Payments, ApiError>() {}
class Tenants extends Policy.KeyedTag("Tenants")<Tenants, string>() {}
class SharedBudget extends RetryBudget.Tag("SharedBudget")<SharedBudget>() {}
class SharedBreaker extends CircuitBreaker.Tag("SharedBreaker")<SharedBreaker>() {}

const run = <A>(program: Effect.Effect<A, unknown>, seed?: number): A => {
  const { exit } = timed(program, seed)
  return Exit.isSuccess(exit) ? exit.value : assert.fail(Cause.pretty(exit.cause))
}

const attempts = (count: number) => Backoff.constant({ delay: "10 millis" }).pipe(Limit.attempts(count))
const quiet = { log: false } as const
const opensAfter = (failures: number) =>
  ({ tripPolicy: CircuitBreaker.consecutive(failures), openDuration: "1 second", jitter: 0 }) as const
const fourFailures = RetryBudget.tokens({
  capacity: 4,
  cost: { failure: 1, timeout: 1, throttled: 1 },
  success: 0,
  refund: false
})

const tagOf = (exit: Exit.Exit<unknown, unknown>): unknown => {
  if (Exit.isSuccess(exit)) return "success"
  const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
  return (error as { _tag?: string } | undefined)?._tag ?? error ?? "no error"
}

const some = <A>(option: Option.Option<A>): A => Option.getOrThrow(option)

/** Takes every permit of a policy's bulkhead until it is interrupted. */
const occupying = (policy: Policy.Policy<unknown>) => Effect.fork(Bulkhead.withPermit(Effect.never, some(policy.bulkhead)))

describe("the order of the parts", () => {
  it("deadline around all: it ends the wait for a permit, and tells of itself", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, deadline: 300, bulkhead: { permits: 1, queue: 1 }, breaker: opensAfter(1) })
      yield* occupying(policy)
      yield* Effect.yieldNow()
      const exit = yield* Effect.exit(Policy.protect(Effect.succeed(1), policy))
      const waiting = yield* some(policy.bulkhead).waiting
      return [tagOf(exit), yield* Clock.currentTimeMillis, waiting, yield* some(policy.breaker).state]
    })
    assert.deepStrictEqual(run(program), ["DeadlineExceeded", 300, 0, "Closed"])
  })

  it("deadline around all: it bounds the waits of the retry, and no attempt is begun that does not fit", () => {
    const { call, calls } = scripted([{ takes: 100, fails: "down" }])
    const program = Effect.gen(function* () {
      const schedule = Schedule.spaced("300 millis")
      const policy = yield* Policy.make({ ...quiet, schedule, deadline: 1000 })
      const report = yield* Policy.report(call, policy)
      return [tagOf(report.exit), Option.getOrUndefined(report.reason), yield* Clock.currentTimeMillis]
    })
    assert.deepStrictEqual(run(program), ["down", "deadline", 900])
    assert.deepStrictEqual(calls, [0, 400, 800])
  })

  it("nesting guard before retry: inside of another retry there is one attempt, and the breaker sees it", () => {
    const { call, calls } = scripted([{ fails: "down" }])
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, schedule: attempts(3), breaker: opensAfter(2) })
      const outer = Retry.retry(Policy.protect(call, policy), { ...quiet, schedule: attempts(4) })
      return [tagOf(yield* Effect.exit(outer)), yield* some(policy.breaker).state]
    })
    // The outer retry's third attempt is refused; it gives the last real error.
    assert.deepStrictEqual(run(program), ["down", "Open"])
    assert.strictEqual(calls.length, 2)
  })

  it("retry around throttle: the throttle is asked for each attempt", () => {
    const program = Effect.gen(function* () {
      const throttle = yield* AdaptiveThrottle.make({ multiplier: 1 })
      const policy = yield* Policy.make({ ...quiet, schedule: attempts(3), throttle })
      yield* Effect.exit(Policy.protect(Effect.fail("overloaded"), policy))
      return yield* throttle.probability
    })
    // (3 - 1 x 0) / (3 + 1), less where one was held back; one request would give 1/2.
    assert.strictEqual(run(program), 0.75)
  })

  it("throttle around breaker: what is held back does not reach the breaker", () => {
    const program = Effect.gen(function* () {
      const throttle = yield* AdaptiveThrottle.make({ multiplier: 1 })
      for (let i = 0; i < 1000; i++) yield* Effect.exit(AdaptiveThrottle.throttled(Effect.fail("overloaded"), throttle))
      const policy = yield* Policy.make({ ...quiet, throttle, breaker: opensAfter(1) })
      const exit = yield* Effect.exit(Policy.protect(Effect.fail("down"), policy))
      return [tagOf(exit), yield* some(policy.breaker).state]
    })
    assert.deepStrictEqual(run(program), ["Throttled", "Closed"])
  })

  it("throttle around breaker: what an open breaker refuses is neither accepted nor an overload", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, throttle: { multiplier: 1 }, breaker: opensAfter(1) })
      yield* some(policy.breaker).isolate
      for (let i = 0; i < 100; i++) yield* Effect.exit(Policy.protect(Effect.succeed(1), policy))
      return yield* some(policy.throttle).probability
    })
    assert.strictEqual(run(program), 0)
  })

  it("retry around breaker: the breaker sees every attempt, and ends the retry when it opens", () => {
    const { call, calls } = scripted([{ fails: "down" }])
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, schedule: attempts(10), breaker: opensAfter(3) })
      const { attempts: sent, exit, reason } = yield* Policy.report(call, policy)
      return [tagOf(exit), sent, Option.getOrUndefined(reason)]
    })
    assert.deepStrictEqual(run(program), ["down", 3, "refused-locally"])
    assert.strictEqual(calls.length, 3)
  })

  it("breaker around bulkhead: an open breaker takes no permit and no place in the queue", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, bulkhead: { permits: 1, queue: 1 }, breaker: opensAfter(1) })
      yield* occupying(policy)
      yield* some(policy.breaker).isolate
      const exit = yield* Effect.exit(Policy.protect(Effect.succeed(1), policy))
      return [tagOf(exit), yield* some(policy.bulkhead).waiting, yield* Clock.currentTimeMillis]
    })
    assert.deepStrictEqual(run(program), ["CircuitOpen", 0, 0])
  })

  it("breaker around bulkhead: a full one opens no breaker, and is not retried", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, schedule: attempts(3), bulkhead: { permits: 1 }, breaker: opensAfter(1) })
      yield* occupying(policy)
      yield* Effect.yieldNow()
      const refused = yield* Effect.forEach([1, 2, 3], () => Policy.report(Effect.succeed(1), policy))
      return [refused.map(({ attempts, exit }) => [tagOf(exit), attempts]), yield* some(policy.breaker).state]
    })
    assert.deepStrictEqual(run(program), [Array.from({ length: 3 }, () => ["BulkheadFull", 0]), "Closed"])
  })

  it("breaker around bulkhead: a probe that the bulkhead refuses frees its place", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, bulkhead: { permits: 1 }, breaker: opensAfter(1) })
      yield* Effect.exit(Policy.protect(Effect.fail("down"), policy))
      yield* Effect.sleep("1 second")
      const busy = yield* occupying(policy)
      yield* Effect.yieldNow()
      const probe = yield* Effect.exit(Policy.protect(Effect.succeed(1), policy))
      yield* Fiber.interrupt(busy)
      const next = yield* Effect.exit(Policy.protect(Effect.succeed(1), policy))
      return [tagOf(probe), tagOf(next), yield* some(policy.breaker).state]
    })
    assert.deepStrictEqual(run(program), ["BulkheadFull", "success", "Closed"])
  })

  it("breaker around bulkhead: what waits for a permit is not sent when the breaker has opened meanwhile", () => {
    const { call, calls } = scripted([{ takes: 10, fails: "down" }])
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, bulkhead: { permits: 1, queue: 4 }, breaker: opensAfter(1) })
      const all = Array.from({ length: 5 }, () => Effect.exit(Policy.protect(call, policy)))
      const exits = yield* Effect.all(all, { concurrency: "unbounded" })
      const bulkhead = some(policy.bulkhead)
      return [exits.map(tagOf), yield* bulkhead.running, yield* bulkhead.waiting]
    })
    const open = "CircuitOpen"
    assert.deepStrictEqual(run(program), [["down", open, open, open, open], 0, 0])
    assert.strictEqual(calls.length, 1)
  })

  it("breaker around bulkhead: a probe that waits for a permit is still the probe", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, bulkhead: { permits: 1, queue: 1 }, breaker: opensAfter(1) })
      yield* Effect.exit(Policy.protect(Effect.fail("down"), policy))
      yield* Effect.sleep("1 second")
      yield* Effect.fork(Bulkhead.withPermit(Effect.sleep(10), some(policy.bulkhead)))
      yield* Effect.yieldNow()
      return [yield* Policy.protect(Effect.succeed("probed"), policy), yield* some(policy.breaker).state]
    })
    assert.deepStrictEqual(run(program), ["probed", "Closed"])
  })

  it("retry around bulkhead: a permit is of an attempt, and free while the retry waits", () => {
    const program = Effect.gen(function* () {
      const schedule = Backoff.constant({ delay: "100 millis" }).pipe(Limit.attempts(2))
      const policy = yield* Policy.make({ ...quiet, schedule, bulkhead: { permits: 1 } })
      const { call } = scripted([{ takes: 10, fails: "down" }, { takes: 10 }])
      const first = yield* Effect.fork(Policy.protect(call, policy))
      yield* Effect.sleep(50)
      const between = yield* Policy.protect(Effect.succeed("between"), policy)
      return [between, yield* Fiber.join(first), yield* some(policy.bulkhead).running]
    })
    assert.deepStrictEqual(run(program), ["between", "answer 2", 0])
  })

  it("bulkhead around attempt time-out: the wait for a permit takes nothing of it", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, attemptTimeout: 100, bulkhead: { permits: 1, queue: 5 } })
      const call = Policy.protect(Effect.as(Effect.sleep(80), "answer"), policy)
      return yield* Effect.all([call, call, call], { concurrency: "unbounded" })
    })
    assert.deepStrictEqual(run(program), ["answer", "answer", "answer"])
  })

  it("bulkhead around attempt time-out: the permit is held until the attempt that was cut has let go", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, attemptTimeout: 100, bulkhead: { permits: 1, queue: 1 } })
      const slowToEnd = Effect.onInterrupt(Effect.never, () => Effect.sleep(50))
      const first = yield* Effect.fork(Effect.exit(Policy.protect(slowToEnd, policy)))
      yield* Effect.sleep(120)
      const second = yield* Policy.protect(Clock.currentTimeMillis, policy)
      return [tagOf(yield* Fiber.join(first)), second]
    })
    assert.deepStrictEqual(run(program), ["AttemptTimedOut", 150])
  })

  it("breaker around attempt time-out: what is cut has failed", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, schedule: attempts(5), attemptTimeout: 100, breaker: opensAfter(2) })
      const { attempts: sent, exit } = yield* Policy.report(Effect.never, policy)
      return [tagOf(exit), sent, yield* some(policy.breaker).state]
    })
    assert.deepStrictEqual(run(program), ["AttemptTimedOut", 2, "Open"])
  })

  it("breaker around bulkhead: the wait for a permit is no slowness of the dependency", () => {
    const tripPolicy = CircuitBreaker.slowCallRate({
      slowerThan: 100,
      threshold: 0.5,
      minimumCalls: 4,
      window: { calls: 10 }
    })
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, breaker: { tripPolicy }, bulkhead: { permits: 1, queue: 10 } })
      const call = Policy.protect(Effect.sleep(80), policy)
      yield* Effect.all(
        Array.from({ length: 8 }, () => call),
        { concurrency: "unbounded" }
      )
      return [yield* some(policy.breaker).state, yield* Clock.currentTimeMillis]
    })
    assert.deepStrictEqual(run(program), ["Closed", 640])
  })

  it("the budget is asked last: an error that is not worth a retry, a breaker that has opened, cost none of it", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({
        ...quiet,
        schedule: attempts(3),
        while: (error: string) => error === "down",
        budget: fourFailures,
        breaker: opensAfter(1)
      })
      yield* Effect.exit(Policy.protect(Effect.fail("wrong"), policy))
      yield* Effect.exit(Policy.protect(Effect.fail("down"), policy))
      return [yield* some(policy.budget).balance, yield* some(policy.breaker).state]
    })
    // The retry that the breaker refused was granted, and has given its token back.
    assert.deepStrictEqual(run(program), [4, "Open"])
  })

  it("what a breaker refuses puts nothing into a budget", () => {
    const program = Effect.gen(function* () {
      const budget = RetryBudget.ratio({ percent: 10, reservePerSecond: 0 })
      const policy = yield* Policy.make({ ...quiet, schedule: attempts(3), budget, breaker: opensAfter(1) })
      yield* some(policy.breaker).isolate
      for (let i = 0; i < 1000; i++) yield* Effect.exit(Policy.protect(Effect.succeed(1), policy))
      return yield* some(policy.budget).balance
    })
    assert.strictEqual(run(program), 0)
  })
})

describe("what counts for the breaker", () => {
  type Case = [name: string, call: Effect.Effect<unknown, string>, options: Policy.Settings<string>, state: string]

  const stateAfter = (
    options: Omit<Policy.Settings<string>, "breaker">,
    call: (policy: Policy.Policy<string>) => Effect.Effect<unknown, unknown>
  ) =>
    Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, ...options, breaker: opensAfter(1) })
      yield* Effect.exit(call(policy))
      return yield* some(policy.breaker).state
    })

  const isDown = { while: (error: string) => error === "down" }

  it.each<Case>([
    ["an error that is worth a retry does", Effect.fail("down"), isDown, "Open"],
    ["an error that is the caller's own does not", Effect.fail("wrong"), isDown, "Closed"],
    ["unless it says that it is the dependency's", Effect.fail("wrong"), { ...isDown, isFailure: () => true }, "Open"],
    ["one worth a retry does not, if it says so", Effect.fail("down"), { ...isDown, isFailure: () => false }, "Closed"],
    ["a time-out does", Effect.never, { attemptTimeout: 10 }, "Open"],
    ["a time-out that must not be retried does", Effect.never, { attemptTimeout: 10, idempotent: false }, "Open"],
    ["an attempt that used up the whole deadline does", Effect.never, { deadline: 10 }, "Open"],
    ["a defect does", Effect.die("bug"), {}, "Open"],
    ["an interruption from inside does not", Effect.interrupt, {}, "Closed"]
  ])("%s", (_, call, options, expected) => {
    assert.strictEqual(run(stateAfter(options, (policy) => Policy.protect(call, policy))), expected)
  })

  it("an attempt that was cut with less than the whole deadline does not: by one further out, or after a wait for a permit", () => {
    const cutFurtherOut = stateAfter({ deadline: 100 }, (policy) => Deadline.within(Policy.protect(Effect.never, policy), 10))
    const waited = stateAfter({ deadline: 100, bulkhead: { permits: 1, queue: 1 } }, (policy) =>
      Effect.gen(function* () {
        const first = yield* Effect.fork(Bulkhead.withPermit(Effect.sleep(90), some(policy.bulkhead)))
        yield* Effect.yieldNow()
        yield* Effect.exit(Policy.protect(Effect.never, policy))
        yield* Fiber.join(first)
      })
    )
    assert.deepStrictEqual([run(cutFurtherOut), run(waited)], ["Closed", "Closed"])
  })

  it("a function of the user's that throws is a defect, and keeps nothing", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({
        ...quiet,
        breaker: opensAfter(1),
        bulkhead: { permits: 1 },
        isFailure: (_: string) => {
          throw new Error("bug")
        }
      })
      const exit = yield* Effect.exit(Policy.protect(Effect.fail("down"), policy))
      return [Exit.isFailure(exit) && Cause.isDie(exit.cause), yield* some(policy.bulkhead).running]
    })
    assert.deepStrictEqual(run(program), [true, 0])
  })
})

describe("what the caller gets", () => {
  it("the refusal names the part and the time to wait, where nothing has been sent", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, name: "payments", schedule: attempts(3), breaker: opensAfter(1) })
      yield* Effect.exit(Policy.protect(Effect.fail("down"), policy))
      yield* Effect.sleep(400)
      return yield* Effect.flip(Policy.protect(Effect.succeed(1), policy))
    })
    const refusal = run(program)
    assert.isTrue(LocalRefusal.isLocalRefusal(refusal))
    assert.strictEqual((refusal as Error).message, 'The circuit breaker "payments" is open; try again in 590ms')
  })

  it("without a schedule one attempt, without anything the effect as it is", () => {
    const { call, calls } = scripted([{ fails: "down" }])
    const exits = run(
      Effect.gen(function* () {
        const bare = yield* Policy.make({ log: false })
        return [yield* Effect.exit(Policy.protect(call, bare)), yield* Effect.exit(Policy.protect(Effect.succeed(2), bare))]
      })
    )
    assert.deepStrictEqual(exits, [Exit.fail("down"), Exit.succeed(2)])
    assert.strictEqual(calls.length, 1)
  })

  it("an adaptive time-out learns from what passes the policy", () => {
    const program = Effect.gen(function* () {
      const policy = yield* Policy.make({ ...quiet, attemptTimeout: { falseTimeouts: 0.1, warmUp: 10, ceiling: 1000 } })
      for (let i = 0; i < 20; i++) yield* Policy.protect(Effect.sleep(20), policy)
      const before = yield* Clock.currentTimeMillis
      const exit = yield* Effect.exit(Policy.protect(Effect.never, policy))
      return [tagOf(exit), (yield* Clock.currentTimeMillis) - before < 100]
    })
    assert.deepStrictEqual(run(program), ["AttemptTimedOut", true])
  })
})

describe("parts that were made elsewhere", () => {
  it("are shared by the policies that are given them", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make(opensAfter(1))
      const budget = yield* RetryBudget.make(fourFailures)
      const parts = { ...quiet, schedule: attempts(2), budget } as const
      const one = yield* Policy.make({ ...parts, breaker: Effect.succeed(breaker) })
      const other = yield* Policy.make({ ...parts, breaker })
      yield* Effect.exit(Policy.protect(Effect.fail("down"), one))
      return [tagOf(yield* Effect.exit(Policy.protect(Effect.succeed(1), other))), yield* budget.balance]
    })
    assert.deepStrictEqual(run(program), ["CircuitOpen", 4])
  })

  it("can be services, which the layer then needs", () => {
    const layer = Payments.layer({ log: false, breaker: SharedBreaker }).pipe(
      Layer.provideMerge(SharedBreaker.layer(opensAfter(1)))
    )
    const program = Effect.gen(function* () {
      yield* Effect.flatMap(SharedBreaker, (breaker) => breaker.isolate)
      return tagOf(yield* Effect.exit(Payments.protect(Effect.succeed(1))))
    })
    assert.strictEqual(run(Effect.provide(program, layer)), "CircuitOpen")
  })
})

describe("a policy as a layer", () => {
  it("protects by its tag, in a pipe too, and all share it", () => {
    const { call, calls } = scripted([{ fails: new ApiError({ status: 503 }) }])
    const program = Effect.gen(function* () {
      const exits = yield* Effect.forEach([1, 2, 3], () => Effect.exit(call.pipe(Payments.protect)))
      return exits.map(tagOf)
    })
    const layer = Payments.layer({ ...quiet, while: (error) => error.status >= 500, breaker: opensAfter(2) })
    assert.deepStrictEqual(run(Effect.provide(program, layer)), ["ApiError", "ApiError", "CircuitOpen"])
    assert.strictEqual(calls.length, 2)
  })

  const configured = (entries: Record<string, string>) =>
    Payments.pipe(
      Effect.flatMap((policy) =>
        Effect.all([Effect.succeed(policy.name), some(policy.bulkhead).permits, some(policy.budget).balance])
      ),
      Effect.provide(
        Payments.layerConfig({
          log: Config.succeed(false),
          schedule: Config.succeed(attempts(3)),
          attemptTimeout: Config.duration("TIMEOUT"),
          budget: Config.map(Config.integer("BUDGET"), (capacity) =>
            RetryBudget.tokens({ capacity, cost: { failure: 1, timeout: 1, throttled: 1 } })
          ),
          bulkhead: { permits: Config.integer("PERMITS"), queue: Config.succeed(50) }
        })
      ),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(entries))))
    )

  it("comes from the configuration", () => {
    const values = run(configured({ TIMEOUT: "2 seconds", BUDGET: "7", PERMITS: "20" }))
    assert.deepStrictEqual(values, ["Payments", 20, 7])
  })

  it.each([
    [{ TIMEOUT: "2 seconds", BUDGET: "7", PERMITS: "0" }, "PERMITS", "bulkhead.permits must be"],
    [{ TIMEOUT: "0 seconds", BUDGET: "7", PERMITS: "20" }, "TIMEOUT", "attemptTimeout must be"],
    [{ TIMEOUT: "2 seconds", BUDGET: "-1", PERMITS: "20" }, "capacity", "capacity must be"],
    [{ TIMEOUT: "2 seconds", BUDGET: "7" }, "PERMITS", "Expected PERMITS to exist"]
  ])("names the key of a wrong value: %j", (entries, key, message) => {
    const error = String(run(Effect.flip(configured(entries))))
    assert.include(error, key)
    assert.include(error, message)
  })
})

describe("a policy for each key", () => {
  const failing = (key: string) => Effect.exit(Tenants.protect(Effect.fail("down"), key))
  const options = { ...quiet, breaker: opensAfter(1), bulkhead: { permits: 1 } } as const

  it("opens the breaker of one tenant alone, in both call styles", () => {
    const program = Effect.gen(function* () {
      const exits = [yield* failing("a"), yield* failing("a"), yield* Effect.exit(Effect.succeed(1).pipe(Tenants.protect("b")))]
      return [exits.map(tagOf), yield* Effect.flatMap(Tenants, ({ size }) => size)]
    })
    assert.deepStrictEqual(run(Effect.provide(program, Tenants.layer(options))), [["down", "CircuitOpen", "success"], 2])
  })

  it("shares what it is given as a service", () => {
    const program = Effect.gen(function* () {
      yield* failing("a")
      yield* failing("b")
      return yield* Effect.flatMap(SharedBudget, ({ balance }) => balance)
    })
    const layer = Tenants.layer({ ...quiet, schedule: attempts(3), budget: SharedBudget }).pipe(
      Layer.provideMerge(SharedBudget.layer(fourFailures))
    )
    assert.strictEqual(run(Effect.provide(program, layer)), 0)
  })

  it("keeps a policy while it is in use, forgets it when it has been idle, and has a bound on how many there are", () => {
    const program = Effect.gen(function* () {
      const size = Effect.flatMap(Tenants, (tenants) => Effect.all([tenants.size, tenants.inUse]))
      const busy = yield* Effect.fork(Tenants.protect(Effect.sleep("2 minutes"), "busy"))
      yield* Effect.yieldNow()
      yield* failing("a")
      // Makes room by letting "a" go, whose breaker was open.
      yield* failing("b")
      const a = tagOf(yield* failing("a"))
      const full = yield* size
      yield* Effect.sleep("90 seconds")
      const forgotten = tagOf(yield* failing("a"))
      const still = yield* Effect.exit(Tenants.protect(Effect.succeed(1), "busy"))
      yield* Fiber.join(busy)
      return [a, full, forgotten, tagOf(still), yield* size]
    })
    const layer = Tenants.layer(options, { maxKeys: 2, idleTimeToLive: "1 minute" })
    assert.deepStrictEqual(run(Effect.provide(program, layer)), ["down", [2, 1], "down", "BulkheadFull", [2, 0]])
  })

  it("lets newcomers share one where there is no room, and no call fails for it", () => {
    const program = Effect.gen(function* () {
      const keys = Array.from({ length: 50 }, (_, index) => String(index))
      const answers = yield* Effect.forEach(keys, (key) => Tenants.protect(Effect.as(Effect.sleep(10), key), key), {
        concurrency: "unbounded"
      })
      return [answers.length, yield* Effect.flatMap(Tenants, (tenants) => Effect.all([tenants.size, tenants.inUse]))]
    })
    const layer = Tenants.layer({ ...quiet, bulkhead: { permits: 100 } }, { maxKeys: 5 })
    assert.deepStrictEqual(run(Effect.provide(program, layer)), [50, [5, 0]])
  })

  it("gives its place back when it is interrupted", () => {
    const program = Effect.gen(function* () {
      const fiber = yield* Effect.fork(Tenants.protect(Effect.never, "a"))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      const inUse = yield* Effect.flatMap(Tenants, (tenants) => tenants.inUse)
      return [inUse, yield* Tenants.use("a", (policy) => some(policy.bulkhead).running)]
    })
    assert.deepStrictEqual(run(Effect.provide(program, Tenants.layer(options))), [0, 0])
  })

  it("comes from the configuration", () => {
    const layer = Tenants.layerConfig(
      { log: Config.succeed(false), bulkhead: { permits: Config.integer("PERMITS") } },
      { maxKeys: 10 }
    )
    const permits = (provided: string) =>
      Tenants.use("a", (policy) => some(policy.bulkhead).permits).pipe(
        Effect.provide(layer),
        Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["PERMITS", provided]])))
      )
    assert.strictEqual(run(permits("3")), 3)
    assert.include(String(run(Effect.flip(permits("0")))), "PERMITS")
  })
})

describe("wrong options", () => {
  it.each<[Omit<Policy.Settings<unknown>, "name">, string]>([
    [{ deadline: -1 }, "Policy.make: deadline must be"],
    [{ attemptTimeout: 0 }, "Policy.make: attemptTimeout must be"],
    [{ attemptTimeout: { falseTimeouts: 5 } }, "Policy.make: attemptTimeout.falseTimeouts must be"],
    [{ breaker: { ...opensAfter(1), jitter: 2 } }, "Policy.make: breaker.jitter must be"],
    [{ bulkhead: { permits: 0 } }, "Policy.make: bulkhead.permits must be"],
    [{ throttle: { multiplier: 0 } }, "Policy.make: throttle.multiplier must be"]
  ])("%j", (options, message) => {
    assert.throws(() => Policy.make(options), message)
    assert.throws(() => Payments.layer(options), message)
    assert.throws(() => Tenants.layer(options), message)
  })
})
