import { Retry, RetryBudget, RetryMetrics } from "@breakwater/resilience"
import { Backoff, Limit, RetryObserver } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Schedule from "effect/Schedule"
import { scripted, timed } from "./operation.js"

class Shared extends RetryBudget.Tag("Shared")<Shared>() {}
class PerHost extends RetryBudget.KeyedTag("PerHost")<PerHost>() {}

const three = { schedule: Schedule.recurs(2), log: false } as const
const fiveRetries = RetryBudget.tokens({ capacity: 5, cost: { failure: 1, timeout: 1, throttled: 1 } })
const succeeded = <A>(exit: Exit.Exit<A, unknown>): A => (Exit.isSuccess(exit) ? exit.value : assert.fail(String(exit)))
const run = <A>(program: Effect.Effect<A, unknown>): A => succeeded(timed(program).exit)

/** How many calls a number of failing operations make under a policy. */
const outage = <R>(operations: number, policy: (call: Effect.Effect<string, string>) => Effect.Effect<string, string, R>) => {
  return Effect.suspend(() => {
    const { call, calls } = scripted([{ fails: "down" }])
    const all = Effect.forEach(Array.from({ length: operations }), () => Effect.ignore(policy(call)))
    return Effect.map(all, () => calls.length)
  })
}

describe("one budget", () => {
  it("is what all clients of one layer share", () => {
    const client = outage(10, Retry.retry({ ...three, budget: Shared }))
    const both = Effect.all([client, client]).pipe(Effect.provide(Shared.layer(fiveRetries)))
    assert.deepStrictEqual(run(both), [15, 10])
  })

  it("is not what two layers are, nor one layer provided twice", () => {
    const layer = Shared.layer(fiveRetries)
    const client = outage(10, Retry.retry({ ...three, budget: Shared })).pipe(Effect.provide(layer))
    assert.deepStrictEqual(run(Effect.all([client, client])), [15, 15])
  })

  it("is one again where its layer is shared by a larger one", () => {
    class Client extends Effect.Service<Client>()("Client", {
      effect: Effect.map(Shared, (budget) => ({ calls: outage(10, Retry.retry({ ...three, budget })) }))
    }) {}
    const program = Effect.gen(function* () {
      const direct = yield* outage(10, Retry.retry({ ...three, budget: Shared }))
      return [direct, yield* Effect.flatMap(Client, ({ calls }) => calls)]
    })
    const layer = Shared.layer(fiveRetries)
    assert.deepStrictEqual(run(Effect.provide(program, Layer.provideMerge(Client.Default, layer))), [15, 10])
  })

  it("bounds a full outage: 10 % make 1.1 times the load, without one it is three times", () => {
    const budget = Effect.runSync(RetryBudget.make(RetryBudget.ratio({ percent: 10, reservePerSecond: 0 })))
    assert.strictEqual(run(outage(1000, Retry.retry({ ...three, budget }))), 1100)
    assert.strictEqual(run(outage(1000, Retry.retry({ ...three, budget: RetryBudget.unlimited }))), 3000)
    assert.strictEqual(run(outage(1000, Retry.retry({ ...three, budget: RetryBudget.empty }))), 1000)
  })

  it("says what it would grant, in a gauge too, and counts what it refuses", () => {
    const { balance, refusals } = RetryMetrics.ofBudget("gauged")
    const program = Effect.gen(function* () {
      const budget = yield* RetryBudget.make(fiveRetries, { name: "gauged" })
      yield* outage(2, Retry.retry({ ...three, budget }))
      assert.strictEqual(yield* budget.balance, 1)
      assert.strictEqual((yield* Metric.value(balance)).value, 1)
      yield* outage(2, Retry.retry({ ...three, budget }))
      return [(yield* Metric.value(refusals)).count, yield* budget.balance]
    })
    assert.deepStrictEqual(run(program), [2, 0])
  })
})

describe("the gauge", () => {
  const gauge = (name: string) => Effect.map(Metric.value(RetryMetrics.ofBudget(name).balance), ({ value }) => value)

  it("shows a throttle that has paused, though nothing was granted since", () => {
    const program = Effect.gen(function* () {
      const budget = yield* RetryBudget.make(RetryBudget.throttle({ maxTokens: 2 }), { name: "paused" })
      const fresh = yield* gauge("paused")
      yield* outage(2, Retry.retry({ ...three, budget }))
      return [fresh, yield* gauge("paused")]
    })
    assert.deepStrictEqual(run(program), [Infinity, 0])
  })

  it("shows what successes have given back", () => {
    const program = Effect.gen(function* () {
      const ledger = RetryBudget.tokens({ capacity: 2, cost: { failure: 1 }, success: 1 })
      const budget = yield* RetryBudget.make(ledger, { name: "refilled" })
      yield* outage(1, Retry.retry({ ...three, budget }))
      const drained = yield* gauge("refilled")
      yield* Retry.retry(Effect.void, { ...three, budget })
      return [drained, yield* gauge("refilled")]
    })
    assert.deepStrictEqual(run(program), [0, 1])
  })
})

describe("a permit", () => {
  it("counts once: given back twice, or after it was used, it changes nothing", () => {
    const budget = Effect.runSync(RetryBudget.make(fiveRetries))
    const balance = () => Effect.runSync(budget.balance)
    const permit = budget.unsafeRetry("failure", 0)!
    assert.strictEqual(balance(), 4)
    budget.unsafeReturned(permit, 0)
    budget.unsafeReturned(permit, 0)
    assert.deepStrictEqual([balance(), permit.spent], [5, true])
    const used = budget.unsafeRetry("failure", 0)!
    budget.unsafeSettled("failure", used, 0)
    budget.unsafeReturned(used, 0)
    assert.strictEqual(balance(), 4)
  })
})

describe("budgets together", () => {
  const make = (ledger: RetryBudget.Ledger) => Effect.runSync(RetryBudget.make(ledger))
  const balances = (...budgets: ReadonlyArray<RetryBudget.RetryBudget>) => budgets.map(({ balance }) => Effect.runSync(balance))

  it("grant a retry where all of them do, and take it from all", () => {
    const [client, process] = [make(RetryBudget.fixedRate({ retries: 5 })), make(RetryBudget.fixedRate({ retries: 3 }))]
    assert.strictEqual(run(outage(10, Retry.retry({ ...three, budget: RetryBudget.all(client, process) }))), 13)
    assert.deepStrictEqual(balances(client, process), [2, 0])
  })

  it("lose nothing to each other's refusal, in whatever order", () => {
    const [rich, poor] = [make(RetryBudget.fixedRate({ retries: 5 })), make(RetryBudget.fixedRate({ retries: 0 }))]
    for (const both of [RetryBudget.all(rich, poor), RetryBudget.all(poor, rich)]) {
      assert.isUndefined(both.unsafeRetry("failure", 0))
      assert.deepStrictEqual(balances(rich, poor), [5, 0])
    }
  })

  it("give back to all of them", () => {
    const [one, other] = [make(RetryBudget.fixedRate({ retries: 5 })), make(RetryBudget.fixedRate({ retries: 3 }))]
    const both = RetryBudget.all(one, other)
    both.unsafeReturned(both.unsafeRetry("failure", 0)!, 0)
    assert.deepStrictEqual(balances(one, other, both), [5, 3, 3])
  })

  it("ask one that is named twice once, also inside another", () => {
    const budget = make(RetryBudget.fixedRate({ retries: 5 }))
    RetryBudget.all(budget, RetryBudget.all(budget, budget)).unsafeRetry("failure", 0)
    assert.deepStrictEqual(balances(budget), [4])
  })

  it("are unlimited where there is none", () => {
    assert.deepStrictEqual(balances(RetryBudget.all(), RetryBudget.unlimited), [Infinity, Infinity])
  })
})

describe("a budget for each key", () => {
  const retries = (host: string) => outage(10, Retry.retry({ ...three, budget: PerHost.forKey(host) }))

  it("is the same for the same key, and another one for another", () => {
    const program = Effect.all([retries("a"), retries("b"), retries("a")])
    assert.deepStrictEqual(run(Effect.provide(program, PerHost.layer(fiveRetries))), [15, 15, 10])
  })

  it("goes when it was idle for long", () => {
    const program = Effect.gen(function* () {
      const first = yield* retries("a")
      yield* Effect.sleep("10 minutes")
      return [first, yield* retries("a"), yield* Effect.flatMap(PerHost, ({ size }) => size)]
    })
    const layer = PerHost.layer(fiveRetries, { idleTimeToLive: "5 minutes" })
    assert.deepStrictEqual(run(Effect.provide(program, layer)), [15, 15, 1])
  })

  it("is bounded in number, and no call fails for it", () => {
    const program = Effect.gen(function* () {
      const hosts = Array.from({ length: 1000 }, (_, index) => `host ${index}`)
      const calls = yield* Effect.forEach(hosts, retries)
      return [calls.every((count) => count === 15), yield* Effect.flatMap(PerHost, ({ size }) => size)]
    })
    assert.deepStrictEqual(run(Effect.provide(program, PerHost.layer(fiveRetries, { maxKeys: 10 }))), [true, 10])
  })

  it("is shared by newcomers while all others are in use", () => {
    const program = Effect.gen(function* () {
      const busy = yield* Effect.fork(Retry.retry(Effect.never, { ...three, budget: PerHost.forKey("busy") }))
      yield* Effect.yieldNow()
      const newcomers = yield* Effect.all([retries("a"), retries("b")])
      yield* Fiber.interrupt(busy)
      return newcomers
    })
    assert.deepStrictEqual(run(Effect.provide(program, PerHost.layer(fiveRetries, { maxKeys: 1 }))), [15, 10])
  })

  it("can be had together with one for all of them", () => {
    const program = Effect.gen(function* () {
      const all = yield* RetryBudget.make(RetryBudget.fixedRate({ retries: 6 }))
      const keyed = yield* RetryBudget.makeKeyed(fiveRetries)
      const host = (key: string) => outage(10, Retry.retry({ ...three, budget: RetryBudget.all(keyed.forKey(key), all) }))
      return [yield* host("a"), yield* host("b")]
    })
    assert.deepStrictEqual(run(program), [15, 11])
  })
})

describe("the configuration", () => {
  const layer = Shared.layerConfig(RetryBudget.ratio, {
    percent: Config.number("PERCENT").pipe(Config.nested("PAYMENTS")),
    window: Config.duration("WINDOW").pipe(Config.withDefault("10 seconds" as const))
  })
  const built = (values: ReadonlyArray<readonly [string, string]>) =>
    Effect.runSync(
      Effect.either(Effect.provide(Shared, layer)).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map(values))))
    )

  it("gives a ledger its options", () => {
    assert.strictEqual(built([["PAYMENTS.PERCENT", "20"]])._tag, "Right")
  })

  it.each([
    ["missing", [], "PAYMENTS.PERCENT"],
    ["no number", [["PAYMENTS.PERCENT", "many"]], "PAYMENTS.PERCENT"],
    ["out of range", [["PAYMENTS.PERCENT", "-1"]], "PAYMENTS.PERCENT"]
  ] as ReadonlyArray<[string, ReadonlyArray<readonly [string, string]>, string]>)(
    "%s: fails and names the key",
    (_, values, key) => {
      const result = built(values)
      assert.isTrue(result._tag === "Left" && String(result.left).includes(key), String(result))
    }
  )

  it("tells which rule a value breaks", () => {
    const result = built([["PAYMENTS.PERCENT", "-1"]])
    assert.isTrue(result._tag === "Left" && String(result.left).includes("RetryBudget.ratio: percent must be"))
  })
})

describe("a plain schedule with a budget", () => {
  const schedule = (budget: RetryBudget.RetryBudget) =>
    Backoff.constant({ delay: 100 }).pipe(Limit.attempts(3), RetryBudget.withdraw(budget))

  it("goes on only where the budget grants it, and tells the observer why not", () => {
    const reasons: Array<string> = []
    const program = Effect.gen(function* () {
      const budget = yield* RetryBudget.make(fiveRetries)
      return yield* outage(10, (call) => Effect.retry(call, schedule(budget)))
    }).pipe(RetryObserver.observe((event) => Effect.sync(() => void (event._tag === "GaveUp" && reasons.push(event.reason)))))
    assert.strictEqual(run(program), 15)
    assert.deepStrictEqual(reasons.slice(0, 4), ["exhausted", "exhausted", "budget-exhausted", "budget-exhausted"])
  })

  it("takes nothing where the schedule itself ends", () => {
    const budget = Effect.runSync(RetryBudget.make(fiveRetries))
    run(outage(1, (call) => Effect.retry(call, schedule(budget))))
    assert.strictEqual(Effect.runSync(budget.balance), 3)
  })

  it("lives from successes and operations where the call is tracked", () => {
    const program = (ledger: RetryBudget.Ledger) =>
      Effect.gen(function* () {
        const budget = yield* RetryBudget.make(ledger)
        return yield* outage(100, (call) => call.pipe(RetryBudget.track(budget), Effect.retry(schedule(budget))))
      })
    assert.strictEqual(run(program(RetryBudget.ratio({ percent: 10, reservePerSecond: 0 }))), 110)
    const refilled = Effect.gen(function* () {
      const budget = yield* RetryBudget.make(RetryBudget.throttle())
      const tracked = (call: Effect.Effect<string, string>) =>
        call.pipe(RetryBudget.track(budget), Effect.retry(schedule(budget)))
      yield* outage(10, tracked)
      const drained = yield* budget.balance
      yield* Effect.forEach(Array.from({ length: 100 }), () => tracked(Effect.succeed("answer")))
      return [drained, (yield* budget.balance) > 0]
    })
    assert.deepStrictEqual(run(refilled), [0, true])
  })

  it("gets back, once, what an interrupted wait was granted", () => {
    const program = Effect.gen(function* () {
      const budget = yield* RetryBudget.make(fiveRetries)
      const { call } = scripted([{ fails: "down" }])
      const fiber = yield* Effect.fork(call.pipe(RetryBudget.track(budget), Effect.retry(schedule(budget))))
      yield* Effect.sleep(50)
      const waiting = yield* budget.balance
      yield* Fiber.interrupt(fiber)
      return [waiting, yield* budget.balance]
    })
    assert.deepStrictEqual(run(program), [4, 5])
  })

  it("gets back what a run was granted and did not use, when the fiber goes on", () => {
    const program = Effect.gen(function* () {
      const budget = yield* RetryBudget.make(fiveRetries)
      const tracked = Effect.fail("down").pipe(RetryBudget.track(budget))
      // `while` is asked after the schedule.
      yield* Effect.ignore(Effect.retry(tracked, { schedule: schedule(budget), while: () => false }))
      const unused = yield* budget.balance
      yield* Effect.void.pipe(RetryBudget.track(budget))
      return [unused, yield* budget.balance]
    })
    assert.deepStrictEqual(run(program), [4, 5])
  })
})
