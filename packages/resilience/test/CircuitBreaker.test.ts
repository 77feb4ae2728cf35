import { CircuitBreaker, LocalRefusal, Retry } from "@breakwater/resilience"
import { Backoff } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { scripted, timed, withSleeps } from "./operation.js"

class Payments extends CircuitBreaker.Tag("PaymentsBreaker")<Payments>() {}

const down = Effect.fail("down")
const one = { tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1 second", jitter: 0 } as const

const run = <A>(program: Effect.Effect<A, unknown>, seed?: number): A => {
  const { exit } = timed(program, seed)
  return Exit.isSuccess(exit) ? exit.value : assert.fail(Cause.pretty(exit.cause))
}
const refused = (exit: Exit.Exit<unknown, unknown>): number | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
  return error instanceof LocalRefusal.CircuitOpen ? Duration.toMillis(error.retryAfter) : undefined
}

describe("a breaker", () => {
  it("opens, refuses with the time to wait, looks again, and closes", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make(one)
      const seen: Array<unknown> = []
      yield* Effect.exit(CircuitBreaker.execute(down, breaker))
      yield* Effect.sleep(400)
      seen.push(refused(yield* Effect.exit(CircuitBreaker.execute(Effect.succeed(1), breaker))), yield* breaker.state)
      yield* Effect.sleep(600)
      seen.push(yield* breaker.state, yield* CircuitBreaker.execute(Effect.succeed(2), breaker), yield* breaker.state)
      return seen
    })
    assert.deepStrictEqual(run(program), [600, "Open", "HalfOpen", 2, "Closed"])
  })

  it("C55: of three callers in one turn one is the probe; it fails, and the breaker stays open twice as long", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make({ ...one, openDuration: Schedule.exponential("60 seconds") })
      yield* Effect.exit(CircuitBreaker.execute(down, breaker))
      yield* Effect.sleep("60 seconds")
      const call = (takes: number, effect: Effect.Effect<string, string>) =>
        Effect.exit(CircuitBreaker.execute(Effect.delay(effect, takes), breaker))
      const calls = [call(10, down), call(20, Effect.succeed("a")), call(20, Effect.succeed("b"))]
      const [first, ...others] = yield* Effect.all(calls, { concurrency: "unbounded" })
      const next = refused(yield* Effect.exit(CircuitBreaker.execute(Effect.void, breaker)))
      return [first, others.map(refused), next]
    })
    assert.deepStrictEqual(run(program), [Exit.fail("down"), [0, 0], 120_000])
  })

  it("C56: a probe whose caller has given up frees its place", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make({ ...one, openDuration: "5 seconds" })
      yield* Effect.exit(CircuitBreaker.execute(down, breaker))
      yield* Effect.sleep("7 seconds")
      const probe = yield* Effect.fork(CircuitBreaker.execute(Effect.never, breaker))
      yield* Effect.sleep("1 second")
      yield* Fiber.interrupt(probe)
      return [yield* CircuitBreaker.execute(Effect.succeed("through"), breaker), yield* breaker.state]
    })
    assert.deepStrictEqual(run(program), ["through", "Closed"])
  })

  it("a probe that hangs has failed at its limit, and nobody had to wait for it", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make({ ...one, probeLimit: "10 seconds" })
      yield* Effect.exit(CircuitBreaker.execute(down, breaker))
      yield* Effect.sleep("1 second")
      const hung = yield* Effect.fork(CircuitBreaker.execute(Effect.never, breaker))
      yield* Effect.sleep("11 seconds")
      const states = [yield* breaker.state]
      yield* Effect.sleep("1 second")
      states.push(yield* breaker.state)
      yield* Fiber.interrupt(hung)
      return states
    })
    assert.deepStrictEqual(run(program), ["Open", "HalfOpen"])
  })

  it("C66: a retry around it: the fifth call on the wire opens it, and the operation ends with its last real error", () => {
    const { call, calls } = scripted([{ fails: "down" }])
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make({ ...one, tripPolicy: CircuitBreaker.consecutive(5) })
      const operation = call.pipe(CircuitBreaker.execute(breaker), Retry.report({ schedule: Schedule.recurs(2), log: false }))
      const [first, second] = [yield* operation, yield* operation]
      return [first.attempts, second.attempts, second.exit, second.reason, yield* breaker.state]
    })
    assert.deepStrictEqual<unknown>(run(program), [3, 2, Exit.fail("down"), Option.some("refused-locally"), "Open"])
    assert.strictEqual(calls.length, 5)
  })

  it("around a retry: one failure an operation", () => {
    const { call, calls } = scripted([{ fails: "down" }])
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make({ ...one, tripPolicy: CircuitBreaker.consecutive(5) })
      const operation = call.pipe(Retry.retry({ schedule: Schedule.recurs(2), log: false }), CircuitBreaker.execute(breaker))
      for (let i = 0; i < 6; i++) yield* Effect.exit(operation)
      return yield* breaker.state
    })
    assert.strictEqual(run(program), "Open")
    assert.strictEqual(calls.length, 15)
  })

  it("does not count what was refused further in, nor what was interrupted, nor what it is told to ignore", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make(one)
      yield* Effect.exit(
        CircuitBreaker.execute(
          Effect.fail(new LocalRefusal.BulkheadFull({ bulkhead: "default", retryAfter: Duration.zero })),
          breaker
        )
      )
      const fiber = yield* Effect.fork(CircuitBreaker.execute(Effect.never, breaker))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      yield* Effect.exit(CircuitBreaker.execute(Effect.fail(404), breaker, { classify: () => "ignored" }))
      return yield* breaker.state
    })
    assert.strictEqual(run(program), "Closed")
  })

  it("frees a probe's place where the function that classifies throws, and dies of it", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make(one)
      yield* Effect.exit(CircuitBreaker.execute(down, breaker))
      yield* Effect.sleep("1 second")
      const thrown = CircuitBreaker.execute(Effect.succeed(1), breaker, {
        classify: () => {
          throw new Error("in classify")
        }
      })
      const exit = yield* Effect.exit(thrown)
      return [Exit.isFailure(exit) && Cause.isDie(exit.cause), yield* CircuitBreaker.execute(Effect.succeed(2), breaker)]
    })
    assert.deepStrictEqual(run(program), [true, 2])
  })

  it("needs no timer and no fiber", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make(one)
      yield* Effect.exit(CircuitBreaker.execute(down, breaker))
      return yield* breaker.state
    })
    const { sleeps, value } = run(withSleeps(program))
    assert.deepStrictEqual([sleeps.begun, value], [0, "Open"])
  })
})

describe("the open duration", () => {
  const openFor = (options: Partial<CircuitBreaker.Options>, times: number, seed = 1) =>
    run(
      Effect.gen(function* () {
        const breaker = yield* CircuitBreaker.make({ ...one, ...options })
        const waits: Array<number | undefined> = []
        for (let i = 0; i < times; i++) {
          yield* Effect.exit(CircuitBreaker.execute(down, breaker))
          const wait = refused(yield* Effect.exit(CircuitBreaker.execute(down, breaker)))
          waits.push(wait)
          yield* Effect.sleep(wait ?? 0)
        }
        return waits
      }),
      seed
    )

  it("follows a schedule, and stays at its last time where it ends", () => {
    const schedule = Backoff.exponential({ base: "1 second", cap: "4 seconds" })
    assert.deepStrictEqual(openFor({ openDuration: schedule }, 4), [1000, 2000, 4000, 4000])
    assert.deepStrictEqual(
      openFor({ openDuration: Schedule.intersect(Schedule.spaced("3 seconds"), Schedule.recurs(2)) }, 4),
      [3000, 3000, 3000, 3000]
    )
  })

  it("begins anew after it has closed", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make({ ...one, openDuration: Backoff.exponential({ base: "1 second" }) })
      const opened = Effect.gen(function* () {
        yield* Effect.exit(CircuitBreaker.execute(down, breaker))
        return refused(yield* Effect.exit(CircuitBreaker.execute(down, breaker)))
      })
      const first = yield* opened
      yield* Effect.sleep("1 second")
      const second = yield* opened
      yield* Effect.sleep("2 seconds")
      yield* CircuitBreaker.execute(Effect.void, breaker)
      return [first, second, yield* opened]
    })
    assert.deepStrictEqual(run(program), [1000, 2000, 1000])
  })

  it("is spread, so that a fleet does not look again in the same instant", () => {
    const waits = Array.from({ length: 50 }, (_, seed) => openFor({ jitter: 0.5 }, 1, seed + 1)[0]!)
    assert.isTrue(waits.every((wait) => wait >= 1000 && wait <= 1500))
    assert.isAbove(new Set(waits).size, 30)
  })
})

describe("by hand", () => {
  it("C67: is isolated until it is reset, and disabled until it is reset", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make(one)
      const seen: Array<unknown> = []
      yield* breaker.isolate
      yield* Effect.sleep("1 hour")
      seen.push(refused(yield* Effect.exit(CircuitBreaker.execute(Effect.void, breaker))))
      yield* breaker.reset
      seen.push(yield* CircuitBreaker.execute(Effect.succeed("through"), breaker))
      yield* breaker.disable
      for (let i = 0; i < 10; i++) yield* Effect.exit(CircuitBreaker.execute(down, breaker))
      seen.push(yield* breaker.state)
      return seen
    })
    assert.deepStrictEqual(run(program), [Infinity, "through", "Disabled"])
  })

  it("tells no change where there is none: isolated twice, reset while it is closed", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make(one)
      const told = yield* Effect.fork(Stream.runCollect(Stream.take(breaker.transitions, 2)))
      yield* Effect.sleep(1)
      for (const act of [breaker.reset, breaker.isolate, breaker.isolate, breaker.reset]) yield* act
      return Chunk.toReadonlyArray(yield* Fiber.join(told)).map(({ from, to }) => `${from} ${to}`)
    })
    assert.deepStrictEqual(run(program), ["Closed Isolated", "Isolated Closed"])
  })

  it("tells its transitions, those that time has brought when somebody looks", () => {
    const program = Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make(one)
      const told = yield* Effect.fork(Stream.runCollect(Stream.take(breaker.transitions, 4)))
      yield* Effect.sleep(1)
      yield* Effect.exit(CircuitBreaker.execute(down, breaker))
      yield* Effect.sleep("10 seconds")
      yield* CircuitBreaker.execute(Effect.void, breaker)
      yield* breaker.isolate
      return Chunk.toReadonlyArray(yield* Fiber.join(told)).map(({ from, to }) => `${from} -> ${to}`)
    })
    assert.deepStrictEqual(run(program), ["Closed -> Open", "Open -> HalfOpen", "HalfOpen -> Closed", "Closed -> Isolated"])
  })

  it("C95: goes on in another process from what was saved", () => {
    const program = Effect.gen(function* () {
      const first = yield* CircuitBreaker.make({ ...one, openDuration: "30 seconds" })
      yield* Effect.exit(CircuitBreaker.execute(down, first))
      const saved = yield* first.save
      yield* Effect.sleep("10 seconds")
      const second = yield* CircuitBreaker.make({ ...one, restore: saved })
      const rest = refused(yield* Effect.exit(CircuitBreaker.execute(Effect.void, second)))
      yield* Effect.sleep("35 seconds")
      const third = yield* CircuitBreaker.make({ ...one, restore: saved })
      return [rest, yield* third.state]
    })
    assert.deepStrictEqual(run(program), [20_000, "HalfOpen"])
  })
})

describe("a layer", () => {
  it("is one breaker for all who share it", () => {
    const program = Effect.gen(function* () {
      yield* Effect.exit(CircuitBreaker.execute(down, yield* Payments))
      return yield* (yield* Payments).state
    })
    assert.strictEqual(run(Effect.provide(program, Payments.layer(one))), "Open")
  })

  it("is built from the configuration, and a wrong value names its key", () => {
    const layer = Payments.layerConfig({
      tripPolicy: Config.succeed(CircuitBreaker.consecutive(1)),
      jitter: Config.number("BREAKER_JITTER")
    })
    const built = (jitter: string) =>
      Effect.runSync(
        Effect.either(Effect.provide(Payments, layer)).pipe(
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["BREAKER_JITTER", jitter]])))
        )
      )
    assert.strictEqual(built("0.5")._tag, "Right")
    const wrong = built("2")
    assert.isTrue(wrong._tag === "Left" && String(wrong.left).includes("BREAKER_JITTER"), String(wrong))
  })
})

it("C94: ten thousand breakers, each used once, are kept by nobody", async () => {
  const references: Array<WeakRef<object>> = []
  const used = Effect.gen(function* () {
    const breaker = yield* CircuitBreaker.make(one)
    yield* CircuitBreaker.execute(Effect.void, breaker)
    references.push(new WeakRef(breaker))
  })
  for (let i = 0; i < 10_000; i++) Effect.runSync(used)
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  // A reference that was looked at stays until the end of the turn.
  await new Promise((resolve) => setTimeout(resolve, 1))
  collect()
  const alive = references.filter((reference) => reference.deref() !== undefined).length
  assert.strictEqual(alive, 0)
})
