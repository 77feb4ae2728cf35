import { AttemptTimeout, Retry } from "@breakwater/resilience"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { operation, sleepsOf, timed } from "./operation.js"

class Measured extends AttemptTimeout.Tag("Measured")<Measured>() {}

const limitOf = (exit: Exit.Exit<unknown, unknown>) => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
  assert.instanceOf(error, AttemptTimeout.AttemptTimedOut)
  return Duration.toMillis((error as AttemptTimeout.AttemptTimedOut).limit)
}

describe("a time-out", () => {
  it("cuts what does not end in its time, and says what its time was", () => {
    const { endedAt, exit } = timed(AttemptTimeout.timeout(Effect.never, "2 seconds"))
    assert.deepStrictEqual([limitOf(exit), endedAt], [2000, 2000])
  })

  it("passes on what ends in its time: success, failure, defect", () => {
    const passed = (effect: Effect.Effect<string, string>) =>
      timed(AttemptTimeout.timeout(Effect.zipRight(Effect.sleep(1), effect), 100)).exit
    assert.deepStrictEqual(passed(Effect.succeed("a")), Exit.succeed("a"))
    assert.deepStrictEqual(passed(Effect.fail("b")), Exit.fail("b"))
    assert.deepStrictEqual(passed(Effect.die("c")), Exit.die("c"))
  })

  it("starts no timer for what ends without waiting, and leaves none behind", () => {
    assert.deepStrictEqual(
      timed(sleepsOf(AttemptTimeout.timeout(Effect.void, 100))).exit,
      Exit.succeed({ begun: 0, pending: 0 })
    )
    assert.deepStrictEqual(
      timed(sleepsOf(AttemptTimeout.timeout(Effect.sleep(1), 100))).exit,
      Exit.succeed({ begun: 2, pending: 0 })
    )
  })

  it("waits until what it cuts has let go", () => {
    const slow = Effect.onInterrupt(Effect.never, () => Effect.sleep(500))
    assert.strictEqual(timed(AttemptTimeout.timeout(slow, 100)).endedAt, 600)
  })

  it("is interrupted with its call, and leaves neither fiber nor timer", () => {
    let released = 0
    const call = Effect.onInterrupt(Effect.never, () => Effect.sync(() => released++))
    const program = Effect.gen(function* () {
      const fiber = yield* Effect.fork(AttemptTimeout.timeout(call, "1 hour"))
      yield* Effect.sleep(10)
      return yield* Fiber.interrupt(fiber)
    })
    const { endedAt, exit } = timed(program)
    assert.isTrue(Exit.isSuccess(exit) && Exit.isInterrupted(exit.value))
    assert.deepStrictEqual([released, endedAt], [1, 10])
  })

  it("ends the fibers that its call has forked, as the call's own fiber does", () => {
    let released = 0
    const call = Effect.zipRight(
      Effect.fork(Effect.onInterrupt(Effect.never, () => Effect.sync(() => released++))),
      Effect.sleep(5)
    )
    timed(AttemptTimeout.timeout(call, 100))
    assert.strictEqual(released, 1)
  })
})

describe("an adaptive limit", () => {
  const options = { falseTimeouts: 0.01, ceiling: "1 second", floor: "10 millis" } as const

  it("is the ceiling until enough has been seen, then what the dependency takes", () => {
    const program = Effect.gen(function* () {
      const timeout = yield* AttemptTimeout.adaptive(options)
      const cold = yield* Effect.flip(AttemptTimeout.timeout(Effect.never, timeout))
      for (let i = 0; i < 1000; i++) yield* AttemptTimeout.timeout(Effect.sleep(50), timeout)
      const warm = yield* Effect.flip(AttemptTimeout.timeout(Effect.never, timeout))
      return [Duration.toMillis(cold.limit), Duration.toMillis(warm.limit)]
    })
    const { exit } = timed(program)
    const [cold, warm] = Exit.isSuccess(exit) ? exit.value : assert.fail(String(exit))
    assert.strictEqual(cold, 1000)
    assert.isTrue(warm! >= 50 && warm! <= 52, String(warm))
  })

  it("grows again where the dependency has become slower than it", () => {
    const program = Effect.gen(function* () {
      const timeout = yield* AttemptTimeout.adaptive(options)
      const call = (takes: number) => Effect.either(AttemptTimeout.timeout(Effect.sleep(takes), timeout))
      for (let i = 0; i < 200; i++) yield* call(50)
      const ended: Array<boolean> = []
      for (let i = 0; i < 400; i++) ended.push((yield* call(150))._tag === "Right")
      return [ended[0], ended.slice(-200).every((inTime) => inTime)]
    })
    assert.deepStrictEqual(timed(program).exit, Exit.succeed([false, true]))
  })

  it("learns from what Retry calls, and makes its median the least time that an attempt needs", () => {
    const timeout = Effect.runSync(AttemptTimeout.adaptive(options))
    const schedule = Schedule.spaced("100 millis")
    for (let i = 0; i < 200; i++) operation([{ takes: 60 }], { schedule, attemptTimeout: timeout })
    // 150 ms: 100 for the wait, which leaves less than an attempt takes
    const { calls, reason } = operation([{ fails: "down" }], { schedule, attemptTimeout: timeout, deadline: 150 })
    assert.deepStrictEqual([calls, reason], [[0], Option.some("deadline")])
  })

  it("is one for all who share its layer, and is made from the configuration", () => {
    const layer = Measured.layerConfig({ ceiling: Config.duration("CEILING"), falseTimeouts: Config.number("RATE") })
    const run = (values: ReadonlyArray<readonly [string, string]>) =>
      Effect.runSync(
        Retry.retry(Effect.succeed("answer"), { schedule: Schedule.stop, attemptTimeout: Measured }).pipe(
          Effect.provide(layer),
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map(values))),
          Effect.either
        )
      )
    assert.strictEqual(
      run([
        ["CEILING", "1 second"],
        ["RATE", "0.01"]
      ])._tag,
      "Right"
    )
    const wrong = run([
      ["CEILING", "1 second"],
      ["RATE", "2"]
    ])
    assert.isTrue(wrong._tag === "Left" && String(wrong.left).includes("RATE"), String(wrong))
  })
})
