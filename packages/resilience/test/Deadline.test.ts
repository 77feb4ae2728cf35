import { Deadline, Retry } from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import { VirtualTime } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { scripted, sleepsOf, timed } from "./operation.js"

const left = Effect.map(Deadline.remaining, Option.map(Duration.toMillis))
const exceeded = (exit: Exit.Exit<unknown, unknown>) => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
  assert.instanceOf(error, Deadline.DeadlineExceeded)
  return (error as Deadline.DeadlineExceeded).lastError
}

describe("a deadline", () => {
  it("cuts what does not end in its time", () => {
    const { endedAt, exit } = timed(Deadline.within(Effect.never, "1 second"))
    assert.deepStrictEqual([exceeded(exit), endedAt], [Option.none(), 1000])
  })

  it("leaves alone what does, and is gone with it", () => {
    const call = Effect.delay(Effect.succeed("answer"), 10)
    const { endedAt, exit } = timed(Effect.zip(call.pipe(Deadline.within("1 second")), left))
    assert.deepStrictEqual([exit, endedAt], [Exit.succeed<unknown>(["answer", Option.none()]), 10])
  })

  it("starts no timer for what ends without waiting, and leaves none behind", () => {
    assert.deepStrictEqual(timed(sleepsOf(Deadline.within(Effect.void, 1000))).exit, Exit.succeed({ begun: 0, pending: 0 }))
    assert.deepStrictEqual(timed(sleepsOf(Deadline.within(Effect.sleep(1), 1000))).exit, Exit.succeed({ begun: 2, pending: 0 }))
  })

  it("tells what is left, in the forks too", () => {
    const program = Effect.gen(function* () {
      yield* Effect.sleep(300)
      return yield* Fiber.join(yield* Effect.fork(left))
    })
    assert.deepStrictEqual(timed(Deadline.within(program, 1000)).exit, Exit.succeed(Option.some(700)))
  })

  it("can be tightened inside, never loosened", () => {
    const inside = (limit: number) => timed(Deadline.within(Deadline.within(left, limit), 1000)).exit
    assert.deepStrictEqual([inside(400), inside(4000)], [Exit.succeed(Option.some(400)), Exit.succeed(Option.some(1000))])
  })

  it("is back to what it was when a tighter one inside is over", () => {
    const program = Effect.zipRight(Deadline.within(Effect.sleep(100), 400), left)
    assert.deepStrictEqual(timed(Deadline.within(program, 1000)).exit, Exit.succeed(Option.some(900)))
  })

  it("ends with its operation: a daemon that lives on has none of it, but still the one further out", () => {
    const daemon = Effect.forkDaemon(Effect.delay(left, 500))
    const alone = Effect.flatMap(Deadline.within(daemon, 200), Fiber.join)
    assert.deepStrictEqual(timed(alone).exit, Exit.succeed(Option.none()))
    assert.deepStrictEqual(timed(Deadline.within(alone, 2000)).exit, Exit.succeed(Option.some(1500)))
  })

  it("does not reach a sibling", () => {
    const program = Effect.all([Deadline.within(Effect.sleep(1), 1000), left], { concurrency: 2 })
    assert.deepStrictEqual<unknown>(timed(program).exit, Exit.succeed([undefined, Option.none()]))
  })

  it("is measured on the monotonic clock, whatever the wall clock does", () => {
    for (const step of [-3_600_000, 3_600_000]) {
      const stepped = Effect.zipRight(Effect.delay(VirtualTime.stepWallClock(step), 300), Effect.never)
      const program = Effect.exit(Deadline.within(stepped, 1000)).pipe(
        Effect.zip(Effect.clockWith((clock) => clock.currentTimeNanos))
      )
      const { exit } = timed(program)
      assert.strictEqual(Exit.isSuccess(exit) && exit.value[1], 1_000_000_000n)
    }
  })

  it("tells the last error of a retry inside that it cuts", () => {
    const { call } = scripted([{ fails: "down" }, { hangs: true }])
    const inner = Retry.retry(call, { schedule: Backoff.constant({ delay: 10 }), log: false })
    assert.deepStrictEqual(exceeded(timed(Deadline.within(inner, 1000)).exit), Option.some("down"))
  })

  it("lets no retry inside begin a wait that does not fit", () => {
    const { call, calls } = scripted([{ fails: "down" }])
    const inner = Retry.retry(call, { schedule: Backoff.constant({ delay: 400 }).pipe(Limit.attempts(9)), log: false })
    const { endedAt, exit } = timed(Deadline.within(inner, 1000))
    assert.deepStrictEqual([exit, calls, endedAt], [Exit.fail("down"), [0, 400, 800], 800])
  })

  it("leaves a defect what it is", () => {
    const stubborn = Effect.uninterruptible(Effect.zipRight(Effect.sleep(100), Effect.die("bug")))
    const { exit } = timed(Deadline.within(stubborn, 10))
    assert.deepStrictEqual(Exit.isFailure(exit) && Array.from(Cause.defects(exit.cause)), ["bug"])
  })

  it("of nothing runs nothing; an infinite one cuts nothing", () => {
    let ran = false
    exceeded(
      timed(
        Deadline.within(
          Effect.sync(() => void (ran = true)),
          0
        )
      ).exit
    )
    assert.isFalse(ran)
    const infinite = timed(sleepsOf(Deadline.within(Effect.sleep(1), Duration.infinity)))
    assert.deepStrictEqual(infinite.exit, Exit.succeed({ begun: 1, pending: 0 }))
  })

  it("interrupted, is interrupted, and leaves no timer", () => {
    const program = Effect.gen(function* () {
      const fiber = yield* Effect.fork(Deadline.within(Effect.never, "1 hour"))
      yield* Effect.sleep(100)
      return yield* Fiber.interrupt(fiber)
    })
    const { endedAt, exit } = timed(program)
    assert.isTrue(Exit.isSuccess(exit) && Exit.isInterrupted(exit.value))
    assert.strictEqual(endedAt, 100)
  })
})

describe("a check", () => {
  it("fails where no time is left", () => {
    const checked: Array<string> = []
    const late = Effect.either(Deadline.check).pipe(
      Effect.tap(({ _tag }) => Effect.sync(() => checked.push(_tag))),
      Effect.delay(100),
      Effect.uninterruptible
    )
    timed(Deadline.within(late, 50))
    assert.deepStrictEqual(checked, ["Left"])
    assert.isTrue(Exit.isSuccess(timed(Deadline.within(Deadline.check, 50)).exit))
    assert.isTrue(Exit.isSuccess(timed(Deadline.check).exit))
  })
})

describe("a header", () => {
  it("carries what is left, rounded down", () => {
    const after = (millis: number) => timed(Deadline.within(Effect.zipRight(Effect.sleep(millis), Deadline.header), 2000)).exit
    assert.deepStrictEqual([after(500), after(0.5)], [Exit.succeed(Option.some("1500m")), Exit.succeed(Option.some("1999m"))])
    assert.deepStrictEqual(timed(Deadline.header).exit, Exit.succeed(Option.none()))
  })

  it("sets the deadline of the caller on the next hop", () => {
    assert.deepStrictEqual(timed(left.pipe(Deadline.withinHeader("1500m"))).exit, Exit.succeed(Option.some(1500)))
  })

  it("that nobody sent, or that cannot be read, sets none", () => {
    for (const value of [undefined, "", "soon", "-1m", "1e9m", "999999999m", "1".repeat(1e6)]) {
      assert.deepStrictEqual(timed(left.pipe(Deadline.withinHeader(value))).exit, Exit.succeed(Option.none()))
    }
  })

  it("is believed up to a maximum", () => {
    const max = Duration.minutes(1)
    assert.deepStrictEqual(timed(left.pipe(Deadline.withinHeader("24H", { max }))).exit, Exit.succeed(Option.some(60_000)))
    assert.deepStrictEqual(timed(Deadline.withinHeader(left, "24H")).exit, Exit.succeed(Option.some(3_600_000)))
  })
})

describe("a wrong limit", () => {
  it("names function, field and rule", () => {
    assert.throws(
      () => Deadline.within(Effect.void, -5),
      "Deadline.within: limit must be a whole number of milliseconds, at least 0, or infinite, got -5"
    )
  })
})
