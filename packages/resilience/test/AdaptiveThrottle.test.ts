import { AdaptiveThrottle, LocalRefusal } from "@breakwater/resilience"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import * as Random from "effect/Random"
import { timed } from "./operation.js"

class PaymentsThrottle extends AdaptiveThrottle.Tag("PaymentsThrottle")<PaymentsThrottle>() {}

const down = Effect.fail("down")

/** The value of a program in virtual time. */
const valueOf = <A, E>(program: Effect.Effect<A, E>): A => {
  const { exit } = timed(program)
  return Exit.isSuccess(exit) ? exit.value : assert.fail(String(exit.cause))
}

/** What a throttle that has seen one refusal has learned from one more effect, which it let through. */
const probabilityAfter = <A, E>(effect: Effect.Effect<A, E>, options?: AdaptiveThrottle.ThrottledOptions<E>) =>
  valueOf(
    Effect.gen(function* () {
      const throttle = yield* AdaptiveThrottle.make()
      yield* Effect.exit(AdaptiveThrottle.throttled(down, throttle))
      yield* Effect.exit(AdaptiveThrottle.throttled(effect, throttle, options)).pipe(alwaysLetThrough)
      return yield* throttle.probability
    })
  )

/** A source of chance that has but one number. */
const chanceOf = (chance: number) =>
  Effect.withRandom({ ...Random.make(0), next: Effect.succeed(chance) } satisfies Random.Random)
const alwaysLetThrough = chanceOf(0.999_999)

describe("a throttle", () => {
  it("passes on what it lets through: success, failure, defect", () => {
    const throttle = Effect.runSync(AdaptiveThrottle.make({ maxProbability: 0 }))
    const passed = (effect: Effect.Effect<string, string>) => timed(AdaptiveThrottle.throttled(effect, throttle)).exit
    assert.deepStrictEqual(passed(Effect.succeed("a")), Exit.succeed("a"))
    assert.deepStrictEqual(passed(Effect.fail("b")), Exit.fail("b"))
    assert.deepStrictEqual(passed(Effect.die("c")), Exit.die("c"))
  })

  it("holds a call back where chance is below the probability, and not where it is the probability", () => {
    const program = Effect.gen(function* () {
      const throttle = yield* AdaptiveThrottle.make()
      const call = AdaptiveThrottle.throttled(down, throttle)
      yield* Effect.flip(call)
      const sent = yield* chanceOf(0.5)(Effect.flip(call))
      // Two wanted, none accepted.
      const held = yield* chanceOf(0.666)(Effect.flip(call))
      return [sent, held, yield* throttle.probability] as const
    })
    const [sent, held, probability] = valueOf(program)
    assert.strictEqual(sent, "down")
    assert.isTrue(held instanceof LocalRefusal.Throttled && LocalRefusal.isLocalRefusal(held))
    assert.strictEqual(Duration.toMillis((held as LocalRefusal.Throttled).retryAfter), 0)
    assert.strictEqual(probability, 3 / 4)
  })

  it("asks for no chance while nothing is to be held back", () => {
    const none: Random.Random = { ...Random.make(0), next: Effect.die("chance was asked for") }
    const program = Effect.flatMap(AdaptiveThrottle.make(), (throttle) =>
      Effect.succeed("answer").pipe(AdaptiveThrottle.throttled(throttle), Effect.withRandom(none))
    )
    assert.strictEqual(valueOf(program), "answer")
  })

  it("does not run what it holds back", () => {
    let runs = 0
    const program = Effect.gen(function* () {
      const throttle = yield* AdaptiveThrottle.make()
      const call = AdaptiveThrottle.throttled(
        Effect.zipRight(
          Effect.sync(() => runs++),
          down
        ),
        throttle
      )
      yield* Effect.forEach(Array.from({ length: 100 }), () => chanceOf(0)(Effect.ignore(call)))
    })
    valueOf(program)
    assert.strictEqual(runs, 1)
  })

  it("does not hold back calls because those before them have not ended", () => {
    const program = Effect.gen(function* () {
      const throttle = yield* AdaptiveThrottle.make()
      const call = AdaptiveThrottle.throttled(Effect.sleep("1 second"), throttle)
      yield* Effect.all(
        Array.from({ length: 100 }, () => call),
        { concurrency: "unbounded" }
      ).pipe(chanceOf(0))
      return yield* throttle.probability
    })
    assert.strictEqual(valueOf(program), 0)
  })

  it("forgets after its window", () => {
    const program = Effect.gen(function* () {
      const throttle = yield* AdaptiveThrottle.make({ window: "10 seconds" })
      yield* Effect.ignore(AdaptiveThrottle.throttled(down, throttle))
      const before = yield* throttle.probability
      yield* Effect.sleep("10 seconds")
      return [before, yield* throttle.probability]
    })
    assert.deepStrictEqual(valueOf(program), [0.5, 0])
  })
})

describe("what an outcome tells a throttle", () => {
  it.each([
    // One refusal before: 1/2 unless it learns something.
    ["a success has been accepted", Effect.void, undefined, 0],
    ["a failure is overload", Effect.fail("a"), undefined, 2 / 3],
    ["a failure that is no overload has been accepted", Effect.fail("a"), () => false, 0],
    ["a failure that is", Effect.fail("a"), (error: string) => error === "a", 2 / 3],
    ["a defect says nothing", Effect.die("a"), () => true, 1 / 2],
    ["an interruption says nothing", Effect.interrupt, () => true, 1 / 2],
    [
      "a local refusal further in says nothing",
      Effect.fail(new LocalRefusal.BulkheadFull({ bulkhead: "default", retryAfter: Duration.zero })),
      () => true,
      1 / 2
    ]
  ] as ReadonlyArray<readonly [string, Effect.Effect<void, never>, (() => boolean) | undefined, number]>)(
    "%s",
    (_, effect, isOverload, expected) => {
      assert.strictEqual(probabilityAfter(effect, { isOverload }), expected)
    }
  )

  it("an interruption from outside says nothing, and is not held up", () => {
    const program = Effect.gen(function* () {
      const throttle = yield* AdaptiveThrottle.make()
      const fiber = yield* Effect.fork(AdaptiveThrottle.throttled(Effect.never, throttle))
      yield* Effect.sleep(10)
      const exit = yield* Fiber.interrupt(fiber)
      return [Exit.isInterrupted(exit), yield* throttle.probability]
    })
    assert.deepStrictEqual(valueOf(program), [true, 0])
  })

  it("an `isOverload` that throws is a defect, and tells nothing", () => {
    const broken = () => {
      throw new Error("broken")
    }
    assert.strictEqual(probabilityAfter(down, { isOverload: broken }), 1 / 2)
    const throttle = Effect.runSync(AdaptiveThrottle.make())
    const { exit } = timed(AdaptiveThrottle.throttled(down, throttle, { isOverload: broken }))
    assert.isTrue(Exit.isFailure(exit) && Cause.pretty(exit.cause).includes("broken"))
  })
})

describe("the layer", () => {
  it("is one throttle for all who share it, with its defaults", () => {
    const program = Effect.gen(function* () {
      const [one, other] = [yield* PaymentsThrottle, yield* PaymentsThrottle]
      yield* Effect.ignore(AdaptiveThrottle.throttled(down, one))
      return [one.name, yield* other.probability] as const
    })
    assert.deepStrictEqual(valueOf(Effect.provide(program, PaymentsThrottle.layer())), ["PaymentsThrottle", 0.5])
  })

  it("is made from the configuration, whose wrong values fail and name their key", () => {
    const layer = PaymentsThrottle.layerConfig({ multiplier: Config.number("K"), window: Config.duration("WINDOW") })
    const run = (k: string) =>
      PaymentsThrottle.pipe(
        Effect.flatMap(({ probability }) => probability),
        Effect.provide(layer),
        Effect.withConfigProvider(
          ConfigProvider.fromMap(
            new Map([
              ["K", k],
              ["WINDOW", "1 minute"]
            ])
          )
        ),
        Effect.either,
        Effect.runSync
      )
    assert.deepStrictEqual(run("1.5"), Either.right(0))
    const wrong = run("0")
    assert.isTrue(wrong._tag === "Left" && String(wrong.left).includes("K"), String(wrong))
  })
})

describe("wrong options", () => {
  it.each([
    [{ multiplier: 0 }, "AdaptiveThrottle.make: multiplier must be a number from 1 to 100, got 0"],
    [{ window: "5 millis" }, "AdaptiveThrottle.make: window must be a whole number of milliseconds, at least 10, got 5"],
    [{ maxProbability: -1 }, "AdaptiveThrottle.make: maxProbability must be a number from 0 to 1, got -1"]
  ] as const)("%o", (options, message) => {
    assert.throws(() => AdaptiveThrottle.make(options), message)
  })
})

describe("metrics", () => {
  const labels = [MetricLabel.make("throttle", "metrics")]
  const probability = Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      MetricKey.gauge("adaptive_throttle_probability", { description: "Of a call to be held back" }),
      labels
    )
  )
  const rejections = Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      MetricKey.counter("adaptive_throttle_rejections", { description: "Calls that were held back", incremental: true }),
      labels
    )
  )

  it("show the probability of the last call, and count those that were held back", () => {
    const program = Effect.gen(function* () {
      const throttle = yield* AdaptiveThrottle.make({ name: "metrics" })
      const call = Effect.ignore(AdaptiveThrottle.throttled(down, throttle))
      yield* call
      yield* chanceOf(0)(call)
      yield* chanceOf(0)(call)
      return [(yield* Metric.value(probability)).value, (yield* Metric.value(rejections)).count]
    })
    assert.deepStrictEqual(valueOf(program), [2 / 3, 2])
  })
})
