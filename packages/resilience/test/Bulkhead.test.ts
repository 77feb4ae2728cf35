import { Bulkhead, LocalRefusal } from "@breakwater/resilience"
import { VirtualTime } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import * as Option from "effect/Option"
import { sleepsOf, timed } from "./operation.js"

class PaymentsBulkhead extends Bulkhead.Tag("PaymentsBulkhead")<PaymentsBulkhead>() {}

/** The value of a program in virtual time. */
const valueOf = <A, E>(program: Effect.Effect<A, E>): A => {
  const { exit } = timed(program)
  return Exit.isSuccess(exit) ? exit.value : assert.fail(String(exit.cause))
}

/** A bulkhead whose calls write down when they begin and end, or what became of them. */
const logged = (options: Bulkhead.Options) =>
  Effect.map(Bulkhead.make(options), (bulkhead) => {
    const log: Array<string> = []
    const write = (what: string) => Effect.map(Clock.currentTimeMillis, (now) => void log.push(`${now} ${what}`))
    const call = (name: string, takes: number) =>
      write(`${name} begins`).pipe(
        Effect.zipRight(Effect.sleep(takes)),
        Bulkhead.withPermit(bulkhead),
        Effect.onExit((exit) => write(`${name} ${ended(exit)}`)),
        Effect.fork
      )
    const free = Effect.all([bulkhead.running, bulkhead.waiting])
    return { bulkhead, log, call, free }
  })

const ended = (exit: Exit.Exit<unknown, LocalRefusal.BulkheadFull>): string => {
  if (Exit.isSuccess(exit)) return "ends"
  if (Cause.isInterruptedOnly(exit.cause)) return "interrupted"
  return Option.isSome(Cause.failureOption(exit.cause)) ? "rejected" : "died"
}

const until = (millis: number) => Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sleep(millis - now))

describe("a bulkhead", () => {
  it("passes on what it runs: success, failure, defect, interruption, and has its permit back", () => {
    const bulkhead = Effect.runSync(Bulkhead.make({ permits: 1 }))
    const passed = (effect: Effect.Effect<string, string>) => timed(Bulkhead.withPermit(effect, bulkhead)).exit
    assert.deepStrictEqual(passed(Effect.succeed("a")), Exit.succeed("a"))
    assert.deepStrictEqual(passed(Effect.fail("b")), Exit.fail("b"))
    assert.deepStrictEqual(passed(Effect.die("c")), Exit.die("c"))
    assert.isTrue(Exit.isInterrupted(passed(Effect.interrupt)))
    assert.strictEqual(Effect.runSync(bulkhead.running), 0)
  })

  it("runs as many as it has permits, and refuses the next at once, with nothing to wait for", () => {
    const program = Effect.gen(function* () {
      const { bulkhead, call } = yield* logged({ permits: 2 })
      yield* call("a", 100)
      yield* call("b", 100)
      yield* Effect.sleep(10)
      const refused = yield* Effect.flip(Bulkhead.withPermit(Effect.void, bulkhead))
      return [refused, yield* Clock.currentTimeMillis, yield* bulkhead.running] as const
    })
    const [refused, at, running] = valueOf(program)
    assert.instanceOf(refused, LocalRefusal.BulkheadFull)
    assert.isTrue(LocalRefusal.isLocalRefusal(refused))
    assert.deepStrictEqual([Duration.toMillis(refused.retryAfter), at, running], [0, 10, 2])
  })

  it("serves first who came first", () => {
    const program = Effect.gen(function* () {
      const { call, free, log } = yield* logged({ permits: 1, queue: Infinity })
      for (const name of ["a", "b", "c", "d"]) {
        yield* call(name, 100)
        yield* Effect.sleep(1)
      }
      assert.deepStrictEqual(yield* free, [1, 3])
      yield* Effect.sleep(1000)
      return log.filter((line) => line.endsWith("begins"))
    })
    assert.deepStrictEqual(valueOf(program), ["0 a begins", "100 b begins", "200 c begins", "300 d begins"])
  })

  it("lets nobody overtake in the instant in which a permit is handed over", () => {
    const program = Effect.gen(function* () {
      const { bulkhead, call, log } = yield* logged({ permits: 1, queue: 2 })
      const latch = yield* Deferred.make<void>()
      // Who holds the permit asks for another one in the turn in which it gives it back.
      yield* Effect.fork(
        Effect.zipRight(
          Bulkhead.withPermit(Deferred.await(latch), bulkhead),
          Effect.sync(() => log.push("again")).pipe(Bulkhead.withPermit(bulkhead))
        )
      )
      yield* Effect.sleep(1)
      yield* call("b", 10)
      yield* Effect.sleep(1)
      yield* Deferred.succeed(latch, void 0)
      yield* Effect.sleep(100)
      return log
    })
    assert.deepStrictEqual(valueOf(program), ["2 b begins", "12 b ends", "again"])
  })

  it("costs neither fiber nor timer where a permit is free, and leaves no timer behind", () => {
    const once = (before: (bulkhead: Bulkhead.Bulkhead) => Effect.Effect<unknown>, call = Effect.fiberId) =>
      Effect.gen(function* () {
        const bulkhead = yield* Bulkhead.make({ permits: 1, queue: 1, maxWait: "1 hour" })
        yield* before(bulkhead)
        return yield* Bulkhead.withPermit(call, bulkhead)
      })
    const own = valueOf(Effect.all([Effect.fiberId, once(() => Effect.void)]))
    assert.strictEqual(own[0], own[1])
    assert.deepStrictEqual(valueOf(sleepsOf(once(() => Effect.void))), { begun: 0, pending: 0 })
    // One sleep of the call that runs, one of the wait.
    const held = (bulkhead: Bulkhead.Bulkhead) =>
      Effect.zipRight(Effect.fork(Bulkhead.withPermit(Effect.sleep(5), bulkhead)), Effect.yieldNow())
    assert.deepStrictEqual(valueOf(sleepsOf(once(held))), { begun: 2, pending: 0 })
  })

  it("wakes a fiber that was made to yield between its place in the queue and its sleep", () => {
    // That is after 2,048 operations; which of them lies just there is not ours to know.
    for (let before = 1948; before < 2048; before++) {
      const program = Effect.gen(function* () {
        const bulkhead = yield* Bulkhead.make({ permits: 1, queue: 1 })
        let left = before
        const call = Effect.zipRight(
          Effect.whileLoop({ while: () => left > 0, body: () => Effect.succeed(left--), step: () => undefined }),
          Bulkhead.withPermit(Effect.void, bulkhead)
        )
        const first = yield* Effect.fork(Bulkhead.withPermit(Effect.yieldNow(), bulkhead))
        const second = yield* Effect.fork(call)
        return yield* Effect.timeout(Effect.all([Fiber.join(first), Fiber.join(second)], { discard: true }), "1 second")
      })
      assert.deepStrictEqual(timed(program).exit, Exit.void, `after ${before} operations`)
    }
  })
})

describe("the limit of the wait", () => {
  it("rejects who waits longer, and not who is served in time", () => {
    const program = Effect.gen(function* () {
      const { call, free, log } = yield* logged({ permits: 1, queue: 5, maxWait: 100 })
      yield* call("a", 90)
      yield* Effect.sleep(1)
      yield* call("b", 200)
      yield* call("c", 200)
      yield* until(150)
      assert.deepStrictEqual(yield* free, [1, 0])
      yield* until(1000)
      return log
    })
    assert.deepStrictEqual(valueOf(program), ["0 a begins", "90 a ends", "90 b begins", "101 c rejected", "290 b ends"])
  })

  it("takes no permit with it that is handed over in the turn in which it ends", () => {
    const program = Effect.gen(function* () {
      const bulkhead = yield* Bulkhead.make({ permits: 1, queue: 1, maxWait: 100 })
      let endTimer = (): void => assert.fail("no timer was started")
      const byHand = Object.assign(Object.create(Clock.make()) as Clock.Clock, {
        sleep: () => Effect.async<void>((resume) => void (endTimer = () => resume(Effect.void)))
      })
      const first = yield* Effect.fork(Bulkhead.withPermit(Effect.sleep(10), bulkhead))
      const second = yield* Effect.fork(Effect.withClock(Bulkhead.withPermit(Effect.succeed("ran"), bulkhead), byHand))
      yield* Effect.yieldNow()
      // The timer's fiber has been woken and not run when the permit comes.
      yield* Effect.zipRight(
        Effect.sync(() => endTimer()),
        bulkhead.resize(2)
      )
      const answer = yield* Fiber.join(second)
      yield* Fiber.join(first)
      return [answer, yield* bulkhead.running]
    })
    assert.deepStrictEqual(valueOf(program), ["ran", 0])
  })

  it("is of the wait, not of the call", () => {
    const program = Effect.gen(function* () {
      const { call, log } = yield* logged({ permits: 1, queue: 1, maxWait: 10 })
      yield* call("a", 5)
      yield* Effect.sleep(1)
      yield* call("b", 1000)
      yield* until(2000)
      return log
    })
    assert.deepStrictEqual(valueOf(program), ["0 a begins", "5 a ends", "5 b begins", "1005 b ends"])
  })
})

describe("a change of size", () => {
  it("lets as many begin as permits were added", () => {
    const program = Effect.gen(function* () {
      const { bulkhead, call, free, log } = yield* logged({ permits: 1, queue: 10 })
      for (const name of ["a", "b", "c", "d"]) yield* call(name, 100)
      yield* until(10)
      yield* bulkhead.resize(3)
      yield* until(20)
      assert.deepStrictEqual([...(yield* free), yield* bulkhead.permits], [3, 1, 3])
      yield* until(1000)
      return log.filter((line) => line.endsWith("begins"))
    })
    assert.deepStrictEqual(valueOf(program), ["0 a begins", "10 b begins", "10 c begins", "100 d begins"])
  })

  it("lets those finish that run, and none begin until enough have", () => {
    const program = Effect.gen(function* () {
      const { bulkhead, call, free, log } = yield* logged({ permits: 3, queue: 10 })
      yield* call("a", 100)
      yield* call("b", 200)
      yield* call("c", 300)
      yield* call("d", 50)
      yield* until(10)
      yield* bulkhead.resize(1)
      yield* until(20)
      assert.deepStrictEqual(yield* free, [3, 1])
      yield* until(250)
      assert.deepStrictEqual(yield* free, [1, 1])
      yield* until(1000)
      assert.deepStrictEqual(yield* free, [0, 0])
      return log
    })
    assert.deepStrictEqual(valueOf(program), [
      "0 a begins",
      "0 b begins",
      "0 c begins",
      "100 a ends",
      "200 b ends",
      "300 c ends",
      "300 d begins",
      "350 d ends"
    ])
  })

  it("to a wrong number is refused", () => {
    const bulkhead = Effect.runSync(Bulkhead.make({ permits: 1 }))
    assert.throws(() => bulkhead.resize(0), "Bulkhead.resize: permits must be a whole number, at least 1, or Infinity, got 0")
  })
})

describe("reported bugs of other bulkheads", () => {
  it("C69: who is interrupted while waiting leaves its place at once", () => {
    const program = Effect.gen(function* () {
      const { call, free, log } = yield* logged({ permits: 1, queue: 1 })
      yield* call("A", 1000)
      yield* until(10)
      const second = yield* call("B", 1000)
      yield* until(20)
      yield* Fiber.interrupt(second)
      assert.deepStrictEqual(yield* free, [1, 0])
      yield* until(30)
      yield* call("C", 10)
      yield* until(2000)
      return log
    })
    assert.deepStrictEqual(valueOf(program), ["0 A begins", "20 B interrupted", "1000 A ends", "1000 C begins", "1010 C ends"])
  })

  it("C70: who has waited too long leaves no entry that swallows a permit, a thousand times", () => {
    const program = Effect.gen(function* () {
      const { call, free, log } = yield* logged({ permits: 1, queue: 1, maxWait: 100 })
      for (let round = 0; round < 1000; round++) {
        const from = round * 1000
        yield* call("A", 500)
        yield* until(from + 10)
        yield* call("B", 500)
        yield* until(from + 600)
        yield* call("C", 100)
        yield* until(from + 1000)
        const expected = ["0 A begins", "110 B rejected", "500 A ends", "600 C begins", "700 C ends"]
        assert.deepStrictEqual(
          log.splice(0),
          expected.map((line) => line.replace(/^\d+/, (at) => String(from + Number(at))))
        )
      }
      return yield* free
    })
    assert.deepStrictEqual(valueOf(program), [0, 0])
  })

  it.each([2 ** 31 - 1, Number.MAX_SAFE_INTEGER, Infinity])("C96: a queue of %d is a queue", (queue) => {
    const program = Effect.gen(function* () {
      const { call, log } = yield* logged({ permits: 1, queue })
      for (const name of ["a", "b", "c"]) yield* call(name, 100)
      yield* until(1000)
      return log.filter((line) => line.endsWith("begins"))
    })
    assert.deepStrictEqual(valueOf(program), ["0 a begins", "100 b begins", "200 c begins"])
  })
})

describe("an interruption", () => {
  it("of a call that runs is not held up, and gives its permit back", () => {
    const program = Effect.gen(function* () {
      const { call, free, log } = yield* logged({ permits: 1, queue: 1 })
      const first = yield* call("a", 1000)
      yield* call("b", 1000)
      yield* until(10)
      yield* Fiber.interrupt(first)
      yield* until(20)
      assert.deepStrictEqual(yield* free, [1, 0])
      return log
    })
    assert.deepStrictEqual(valueOf(program).slice(0, 3), ["0 a begins", "10 a interrupted", "10 b begins"])
  })

  it("of a call that waits leaves no timer behind", () => {
    const program = Effect.gen(function* () {
      const bulkhead = yield* Bulkhead.make({ permits: 1, queue: 1, maxWait: "1 hour" })
      const first = yield* Effect.fork(Bulkhead.withPermit(Effect.never, bulkhead))
      const second = yield* Effect.fork(Bulkhead.withPermit(Effect.never, bulkhead))
      yield* Effect.yieldNow()
      yield* Fiber.interruptAll([second, first])
      yield* Effect.sleep(1)
    })
    assert.deepStrictEqual(valueOf(sleepsOf(program)), { begun: 2, pending: 0 })
  })

  it("of who was handed a permit in the same turn hands it on", () => {
    const program = Effect.gen(function* () {
      const { bulkhead, call, free, log } = yield* logged({ permits: 1, queue: 5 })
      const latch = yield* Deferred.make<void>()
      yield* Effect.fork(Bulkhead.withPermit(Deferred.await(latch), bulkhead))
      yield* Effect.sleep(1)
      const first = yield* call("b", 10)
      yield* Effect.sleep(1)
      yield* call("c", 10)
      yield* Effect.sleep(1)
      // Both orders: the permit is there when the interruption comes, and the other way round.
      yield* Effect.zipRight(Deferred.succeed(latch, void 0), Effect.fork(Fiber.interrupt(first)))
      yield* Effect.sleep(100)
      return [log.filter((line) => line.includes("c")), yield* free] as const
    })
    assert.deepStrictEqual(valueOf(program), [
      ["3 c begins", "13 c ends"],
      [0, 0]
    ])
  })

  it("of a resize's beneficiary hands on what it was given", () => {
    const program = Effect.gen(function* () {
      const { bulkhead, call, free, log } = yield* logged({ permits: 1, queue: 5 })
      yield* call("a", 50)
      const second = yield* call("b", 1000)
      yield* Effect.sleep(1)
      yield* call("c", 10)
      yield* Effect.sleep(1)
      // Without a turn between them: b has the permit and has not begun.
      yield* bulkhead.resize(2)
      yield* Fiber.interrupt(second)
      yield* Effect.sleep(100)
      return [log, yield* free] as const
    })
    assert.deepStrictEqual(valueOf(program), [
      ["0 a begins", "2 b interrupted", "2 c begins", "12 c ends", "50 a ends"],
      [0, 0]
    ])
  })
})

// Any calls, interruptions and changes of size.

type Happening =
  | { readonly _tag: "call"; readonly after: number; readonly takes: number; readonly cutAfter: number | undefined }
  | { readonly _tag: "resize"; readonly after: number; readonly permits: number }

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      _tag: fc.constant("call" as const),
      after: fc.integer({ min: 0, max: 3 }),
      takes: fc.integer({ min: 0, max: 12 }),
      cutAfter: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined })
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      _tag: fc.constant("resize" as const),
      after: fc.integer({ min: 0, max: 3 }),
      permits: fc.integer({ min: 1, max: 4 })
    })
  }
)

describe("laws", () => {
  it("no permit is lost or gained, none more runs than there are permits, and first come is first served", () => {
    fc.assert(
      fc.property(
        fc.record({
          permits: fc.integer({ min: 1, max: 3 }),
          queue: fc.constantFrom(0, 1, 2, 5, Infinity),
          maxWait: fc.constantFrom(1, 3, 5, Duration.infinity)
        }),
        fc.array(happening, { maxLength: 40, size: "max" }),
        fc.integer({ min: 0, max: 1000 }),
        (options, happenings, seed) => {
          const program = Effect.gen(function* () {
            const bulkhead = yield* Bulkhead.make(options)
            /** When each call began, by its number. */
            const began: Array<number> = []
            let [inside, permits] = [0, options.permits]
            const call = (number: number, takes: number) =>
              Effect.acquireUseRelease(
                Effect.map(Clock.currentTimeMillis, (now) => {
                  began[number] = now
                  inside++
                }),
                () => Effect.sleep(takes),
                () => Effect.sync(() => inside--)
              ).pipe(Bulkhead.withPermit(bulkhead), Effect.fork)
            const fibers: Array<Fiber.RuntimeFiber<unknown, unknown>> = []
            for (const [number, it] of happenings.entries()) {
              if (it.after > 0) yield* Effect.sleep(it.after)
              if (it._tag === "resize") {
                yield* bulkhead.resize(it.permits)
                // Those that run may finish.
                permits = it.permits
              } else {
                const fiber = yield* call(number, it.takes)
                fibers.push(fiber)
                if (it.cutAfter !== undefined) {
                  yield* Effect.fork(Effect.delay(Fiber.interrupt(fiber), it.cutAfter))
                }
              }
              const [running, waiting] = yield* Effect.all([bulkhead.running, bulkhead.waiting])
              assert.isAtMost(inside, running)
              assert.isAtMost(waiting, options.queue)
              if (!happenings.some(({ _tag }) => _tag === "resize")) assert.isAtMost(running, permits)
              if (waiting > 0) assert.isAtLeast(running, permits, "nobody waits while a permit is free")
            }
            yield* Effect.forEach(fibers, Fiber.await)
            const inOrder = began.filter((at) => at !== undefined)
            assert.deepStrictEqual(
              inOrder,
              inOrder.slice().sort((a, b) => a - b),
              "first come, first served"
            )
            assert.strictEqual(inside, 0)
            assert.deepStrictEqual([yield* bulkhead.running, yield* bulkhead.waiting], [0, 0])
            // All permits are free: as many run at once, and not one more.
            const latch = yield* Deferred.make<void>()
            yield* bulkhead.resize(options.permits)
            for (let i = 0; i < options.permits; i++) {
              yield* Effect.fork(Bulkhead.withPermit(Deferred.await(latch), bulkhead))
            }
            yield* Effect.sleep(1)
            assert.strictEqual(yield* bulkhead.running, options.permits)
            yield* Deferred.succeed(latch, void 0)
          })
          Effect.runSync(VirtualTime.run(program, { seed }))
        }
      ),
      { numRuns: 300 }
    )
  })
})

describe("the layer", () => {
  it("is one bulkhead for all who share it", () => {
    const program = Effect.gen(function* () {
      const [one, other] = [yield* PaymentsBulkhead, yield* PaymentsBulkhead]
      yield* Effect.fork(Bulkhead.withPermit(Effect.sleep(10), one))
      yield* Effect.yieldNow()
      return [one.name, yield* Effect.flip(Bulkhead.withPermit(Effect.void, other))] as const
    })
    const [name, refused] = valueOf(Effect.provide(program, PaymentsBulkhead.layer({ permits: 1 })))
    assert.strictEqual(name, "PaymentsBulkhead")
    assert.instanceOf(refused, LocalRefusal.BulkheadFull)
  })

  it("is made from the configuration, whose wrong values fail and name their key", () => {
    const layer = PaymentsBulkhead.layerConfig({ permits: Config.integer("PERMITS"), maxWait: Config.duration("MAX_WAIT") })
    const run = (permits: string) =>
      PaymentsBulkhead.pipe(
        Effect.flatMap(({ permits }) => permits),
        Effect.provide(layer),
        Effect.withConfigProvider(
          ConfigProvider.fromMap(
            new Map([
              ["PERMITS", permits],
              ["MAX_WAIT", "1 second"]
            ])
          )
        ),
        Effect.either,
        Effect.runSync
      )
    assert.deepStrictEqual(run("7"), Either.right(7))
    const wrong = run("0")
    assert.isTrue(wrong._tag === "Left" && String(wrong.left).includes("PERMITS"), String(wrong))
  })
})

describe("wrong options", () => {
  it.each([
    [{ permits: 0 }, "Bulkhead.make: permits must be a whole number, at least 1, or Infinity, got 0"],
    [{ permits: 1.5 }, "Bulkhead.make: permits must be a whole number, at least 1, or Infinity, got 1.5"],
    [{ permits: 1, queue: -1 }, "Bulkhead.make: queue must be a whole number, at least 0, or Infinity, got -1"],
    [{ permits: 1, queue: NaN }, "Bulkhead.make: queue must be a whole number, at least 0, or Infinity, got NaN"],
    [
      { permits: 1, maxWait: 0 },
      "Bulkhead.make: maxWait must be a whole number of milliseconds, at least 1, or infinite, got 0"
    ]
  ])("%o", (options, message) => {
    assert.throws(() => Bulkhead.make(options), message)
  })
})

describe("metrics", () => {
  const labels = (of: Record<string, string>) => Object.entries(of).map(([key, value]) => MetricLabel.make(key, value))
  const gauge = (name: string, description: string) =>
    Metric.value(
      Metric.fromMetricKey(MetricKey.taggedWithLabels(MetricKey.gauge(name, { description }), labels({ bulkhead: "metrics" })))
    )
  const rejections = (reason: string) =>
    Metric.value(
      Metric.fromMetricKey(
        MetricKey.taggedWithLabels(
          MetricKey.counter("bulkhead_rejections", { description: "Calls that did not run", incremental: true }),
          labels({ bulkhead: "metrics", reason })
        )
      )
    )

  it("show how many run and wait, and count rejections by their reason", () => {
    const now = Effect.map(
      Effect.all([
        gauge("bulkhead_running", "Calls that have a permit"),
        gauge("bulkhead_waiting", "Calls in the queue"),
        rejections("queue-full"),
        rejections("wait-limit")
      ]),
      ([running, waiting, full, limit]) => [running.value, waiting.value, full.count, limit.count]
    )
    const program = Effect.gen(function* () {
      const { call } = yield* logged({ name: "metrics", permits: 1, queue: 1, maxWait: 10 })
      for (const name of ["a", "b", "c"]) yield* call(name, 100)
      yield* until(1)
      const first = yield* now
      yield* until(20)
      const second = yield* now
      yield* until(200)
      return [first, second, yield* now]
    })
    assert.deepStrictEqual(valueOf(program), [
      [1, 1, 1, 0],
      [1, 0, 1, 1],
      [0, 0, 1, 1]
    ])
  })

  it("show who begins because there are more permits", () => {
    const program = Effect.gen(function* () {
      const { bulkhead, call } = yield* logged({ name: "metrics", permits: 1, queue: 2 })
      for (const name of ["a", "b", "c"]) yield* call(name, 100)
      yield* until(1)
      yield* bulkhead.resize(2)
      return [
        (yield* gauge("bulkhead_running", "Calls that have a permit")).value,
        (yield* gauge("bulkhead_waiting", "Calls in the queue")).value
      ]
    })
    assert.deepStrictEqual(valueOf(program), [2, 1])
  })
})
