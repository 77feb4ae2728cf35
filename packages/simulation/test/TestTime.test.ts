import { TestTime } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import type { Layer } from "effect"
import {
  Chunk,
  Clock,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  Queue,
  Random,
  Ref,
  Schedule,
  Stream,
  TestClock,
  TestContext,
  type TestServices
} from "effect"

type Program = Effect.Effect<unknown, unknown, TestServices.TestServices>

const under = (clock: Layer.Layer<TestServices.TestServices>) => (program: Program) =>
  Effect.runPromise(Effect.exit(Effect.provide(program, clock)))

const stock = under(TestContext.TestContext)
const ours = under(TestTime.layer())

/** What happened, with the time at which it did. */
const diary = Effect.map(Ref.make<ReadonlyArray<string>>([]), (entries) => ({
  note: (entry: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => Ref.update(entries, (before) => [...before, `${now} ${entry}`])),
  read: Ref.get(entries)
}))

/** Each ends by itself, moves its clock itself, and gives what can be compared. */
const programs: Record<string, Program> = {
  "a sleep wakes at its end, not before": Effect.gen(function* () {
    const { note, read } = yield* diary
    yield* Effect.fork(Effect.zipRight(Effect.sleep("10 seconds"), note("woke")))
    yield* TestClock.adjust("9999 millis")
    yield* note("before")
    yield* TestClock.adjust("1 milli")
    yield* note("after")
    return yield* read
  }),
  "sleeps wake in order of time, and the clock stands at each when they do": Effect.gen(function* () {
    const { note, read } = yield* diary
    yield* Effect.forEach([30, 10, 20], (n) => Effect.fork(Effect.zipRight(Effect.sleep(n), note(String(n)))))
    yield* TestClock.adjust(100)
    yield* note("end")
    return yield* read
  }),
  "a chain of sleeps runs through in one adjust": Effect.gen(function* () {
    const { note, read } = yield* diary
    yield* Effect.fork(
      Effect.forEach(
        Array.from({ length: 10 }, (_, n) => n),
        (n) => Effect.zipRight(Effect.sleep("10 seconds"), note(String(n)))
      )
    )
    yield* TestClock.adjust("100 seconds")
    return yield* read
  }),
  "a timeout fires, and one that is beaten does not": Effect.gen(function* () {
    const slow = yield* Effect.fork(Effect.timeoutOption(Effect.sleep("1 hour"), "1 minute"))
    const fast = yield* Effect.fork(Effect.timeoutOption(Effect.sleep("1 second"), "1 minute"))
    yield* TestClock.adjust("1 minute")
    return [yield* Fiber.join(slow), yield* Fiber.join(fast)]
  }),
  "a race is won by the shorter sleep": Effect.gen(function* () {
    const race = yield* Effect.fork(Effect.race(Effect.as(Effect.sleep(200), "slow"), Effect.as(Effect.sleep(100), "fast")))
    yield* TestClock.adjust(100)
    return yield* Fiber.join(race)
  }),
  "a schedule repeats": Effect.gen(function* () {
    const { note, read } = yield* diary
    yield* Effect.fork(Effect.repeat(note("tick"), Schedule.spaced("1 second").pipe(Schedule.intersect(Schedule.recurs(3)))))
    yield* TestClock.adjust("2500 millis")
    yield* note("between")
    yield* TestClock.adjust("10 seconds")
    return yield* read
  }),
  "a schedule retries with a growing wait": Effect.gen(function* () {
    const { note, read } = yield* diary
    yield* note("call").pipe(
      Effect.zipRight(Effect.fail("down")),
      Effect.retry(Schedule.exponential("1 second").pipe(Schedule.intersect(Schedule.recurs(4)))),
      Effect.ignore,
      Effect.fork
    )
    yield* TestClock.adjust("1 minute")
    return yield* read
  }),
  "a fixed schedule keeps its ticks when the work takes long": Effect.gen(function* () {
    const { note, read } = yield* diary
    yield* Effect.fork(Effect.repeat(Effect.zipRight(note("tick"), Effect.sleep("1500 millis")), Schedule.fixed("1 second")))
    yield* TestClock.adjust("10 seconds")
    return yield* read
  }),
  "a stream ticks": Effect.gen(function* () {
    const ticks = yield* Effect.fork(Stream.runCollect(Stream.take(Stream.tick("1 second"), 4)))
    yield* TestClock.adjust("3 seconds")
    return Chunk.size(yield* Fiber.join(ticks))
  }),
  "a stream is debounced and grouped in time": Effect.gen(function* () {
    const source = Stream.fromSchedule(Schedule.spaced("100 millis").pipe(Schedule.intersect(Schedule.recurs(12))))
    const grouped = yield* Effect.fork(Stream.runCollect(Stream.groupedWithin(source, 5, "10 seconds")))
    yield* TestClock.adjust("1 minute")
    return Chunk.toArray(yield* Fiber.join(grouped)).map(Chunk.size)
  }),
  "a queue hands over between sleepers": Effect.gen(function* () {
    const { note, read } = yield* diary
    const queue = yield* Queue.bounded<number>(1)
    yield* Effect.fork(Effect.forEach([1, 2, 3], (n) => Effect.zipRight(Effect.sleep("1 second"), queue.offer(n))))
    const taker = yield* Effect.fork(Effect.forEach([1, 2, 3], () => Effect.flatMap(queue.take, (n) => note(`took ${n}`))))
    yield* TestClock.adjust("3 seconds")
    yield* Fiber.join(taker)
    return yield* read
  }),
  "a deferred is completed by a sleeper": Effect.gen(function* () {
    const { note, read } = yield* diary
    const deferred = yield* Deferred.make<number>()
    const waiter = yield* Effect.fork(Effect.zipLeft(Deferred.await(deferred), note("got it")))
    yield* Effect.fork(Effect.delay(Deferred.succeed(deferred, 42), "5 seconds"))
    yield* TestClock.adjust("5 seconds")
    return [yield* Fiber.join(waiter), yield* read]
  }),
  "a semaphore lets one after the other": Effect.gen(function* () {
    const { note, read } = yield* diary
    const semaphore = yield* Effect.makeSemaphore(1)
    yield* Effect.forEach(["a", "b", "c"], (name) =>
      Effect.fork(semaphore.withPermits(1)(Effect.zipRight(Effect.sleep("1 second"), note(name))))
    )
    yield* TestClock.adjust("3 seconds")
    return yield* read
  }),
  "an interrupted sleep does not wake": Effect.gen(function* () {
    const { note, read } = yield* diary
    const sleeper = yield* Effect.fork(
      Effect.sleep("10 seconds").pipe(
        Effect.zipRight(note("woke")),
        Effect.onInterrupt(() => note("interrupted"))
      )
    )
    yield* TestClock.adjust("5 seconds")
    yield* Fiber.interrupt(sleeper)
    yield* TestClock.adjust("10 seconds")
    return yield* read
  }),
  "Effect.timed measures the clock": Effect.gen(function* () {
    const timed = yield* Effect.fork(Effect.timed(Effect.sleep("1234 millis")))
    yield* TestClock.adjust("2 seconds")
    return Duration.toMillis((yield* Fiber.join(timed))[0])
  }),
  "a cached effect with a lifetime is computed again after it": Effect.gen(function* () {
    const count = yield* Ref.make(0)
    const cached = yield* Effect.cachedWithTTL(
      Ref.updateAndGet(count, (n) => n + 1),
      "1 minute"
    )
    const first = yield* cached
    yield* TestClock.adjust("59 seconds")
    const second = yield* cached
    yield* TestClock.adjust("2 seconds")
    return [first, second, yield* cached]
  }),
  "an adjust inside of what an adjust has woken": Effect.gen(function* () {
    const { note, read } = yield* diary
    const outer = yield* Effect.fork(Effect.zipRight(Effect.sleep("1 second"), note("woke")))
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(outer)
    const inner = yield* Effect.fork(Effect.zipRight(TestClock.adjust("5 seconds"), note("adjusted")))
    yield* Fiber.join(inner)
    yield* note("end")
    return yield* read
  }),
  "adjustWith moves the clock while an effect runs": Effect.gen(function* () {
    const slept = yield* Effect.sleep("3 seconds").pipe(
      Effect.zipRight(Clock.currentTimeMillis),
      TestClock.adjustWith("3 seconds")
    )
    return [slept, yield* Clock.currentTimeMillis]
  }),
  "setTime runs what is due and stands there": Effect.gen(function* () {
    const { note, read } = yield* diary
    yield* Effect.fork(Effect.zipRight(Effect.sleep("1 hour"), note("woke")))
    yield* TestClock.setTime(10_000)
    yield* note("set")
    yield* TestClock.setTime(7_200_000)
    return [yield* read, yield* Clock.currentTimeMillis]
  }),
  "save restores the time and the sleeps": Effect.gen(function* () {
    yield* TestClock.adjust("1 minute")
    yield* Effect.fork(Effect.sleep("1 hour"))
    yield* TestClock.adjust("1 second")
    const restore = yield* TestClock.save()
    yield* TestClock.adjust("30 minutes")
    yield* restore
    return [yield* Clock.currentTimeMillis, Chunk.toReadonlyArray(yield* TestClock.sleeps())]
  }),
  "sleeps tells when each would wake": Effect.gen(function* () {
    yield* Effect.forEach([30, 10, 20], (n) => Effect.fork(Effect.sleep(n)))
    yield* TestClock.adjust(5)
    return Array.from(yield* TestClock.sleeps()).sort((a, b) => a - b)
  }),
  "a promise settles between adjusts": Effect.gen(function* () {
    const { note, read } = yield* diary
    const fiber = yield* Effect.fork(
      Effect.sleep("1 second").pipe(
        Effect.zipRight(Effect.promise(() => Promise.resolve("settled").then((text) => text))),
        Effect.flatMap(note),
        Effect.zipRight(Effect.sleep("1 second")),
        Effect.zipRight(note("done"))
      )
    )
    yield* TestClock.adjust("1 second")
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(fiber)
    return yield* read
  }),
  "a promise settles in the middle of an adjust": Effect.gen(function* () {
    const { note, read } = yield* diary
    const fiber = yield* Effect.fork(
      Effect.sleep("1 second").pipe(
        Effect.zipRight(Effect.promise(async () => await Promise.resolve("settled"))),
        Effect.flatMap(note),
        Effect.zipRight(Effect.sleep("1 second")),
        Effect.zipRight(note("done"))
      )
    )
    yield* TestClock.adjust("10 seconds")
    yield* Fiber.join(fiber)
    return yield* read
  }),
  "a failure comes out as it is": Effect.gen(function* () {
    const failing = yield* Effect.fork(Effect.zipRight(Effect.sleep("1 second"), Effect.fail("no")))
    yield* TestClock.adjust("1 second")
    return yield* Fiber.join(failing)
  }),
  "a clock of one's own starts at the epoch": Clock.currentTimeMillis
}

describe("TestTime gives what the stock TestClock gives", () => {
  it.each(Object.keys(programs))("%s", async (name) => {
    const [expected, actual] = await Promise.all([stock(programs[name]!), ours(programs[name]!)])
    assert.isTrue(Exit.isSuccess(expected) || name.includes("failure"), String(expected))
    assert.deepStrictEqual(actual, expected)
  })
})

describe("TestTime", () => {
  const run = (program: Program, options?: TestTime.Options) => under(TestTime.layer(options))(program)

  const defect = (exit: Exit.Exit<unknown, unknown>): unknown =>
    Exit.isFailure(exit) && exit.cause._tag === "Die" ? exit.cause.defect : exit

  it("wakes sleeps of one instant in the order in which they began", async () => {
    const program = Effect.gen(function* () {
      const order: Array<number> = []
      yield* Effect.forEach([0, 1, 2, 3], (n) =>
        Effect.fork(
          Effect.zipRight(
            Effect.sleep(10),
            Effect.sync(() => order.push(n))
          )
        )
      )
      yield* TestClock.adjust(10)
      return order
    })
    assert.deepStrictEqual(await run(program), Exit.succeed([0, 1, 2, 3]))
  })

  it("forgets an interrupted sleep", async () => {
    const program = Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.sleep("1 hour"))
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(fiber)
      return Chunk.size(yield* TestClock.sleeps())
    })
    assert.deepStrictEqual(await run(program), Exit.succeed(0))
  })

  it("is seeded: the same numbers in every run", async () => {
    assert.deepStrictEqual(await run(Random.next), await run(Random.next))
    assert.notDeepEqual(await run(Random.next), await run(Random.next, { seed: 1 }))
  })

  it("is a clock of its own for every test that shares the layer", async () => {
    const layer = TestTime.layer()
    const program = Effect.zipRight(TestClock.adjust("1 hour"), Clock.currentTimeMillis)
    const twice = [await under(layer)(program), await under(layer)(program)]
    assert.deepStrictEqual(twice, [Exit.succeed(3_600_000), Exit.succeed(3_600_000)])
  })

  it("C89: fails where the test sleeps itself and nobody moves the clock, and says what to do", async () => {
    const program = Effect.gen(function* () {
      yield* Effect.retry(Effect.fail("down"), Schedule.spaced("1 second").pipe(Schedule.intersect(Schedule.recurs(2))))
      yield* TestClock.adjust("2 seconds")
    })
    const error = defect(await run(program, { patience: "50 millis" }))
    assert.isTrue(error instanceof TestTime.ClockNotMoved)
    assert.match((error as Error).message, /stands at 0, fibers sleep until 1s, and nobody moves the clock\. Fork what sleeps/)
  })

  it("waits for something real without complaint while nobody sleeps, and for longer than its patience where fibers turn", async () => {
    const real = Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 150)))
    assert.deepStrictEqual(await run(real, { patience: "50 millis" }), Exit.void)
    const short = Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 20)))
    const beside = Effect.zipRight(Effect.fork(Effect.sleep("1 hour")), Effect.repeatN(short, 5))
    assert.deepStrictEqual(await run(beside, { patience: "100 millis" }), Exit.void)
  })

  it("fails where an adjust would never end, and says why", async () => {
    const spins = Effect.zipRight(Effect.fork(Effect.forever(Effect.yieldNow())), TestClock.adjust("1 second"))
    const ticks = Effect.zipRight(Effect.fork(Effect.forever(Effect.sleep("1 milli"))), TestClock.adjust("365 days"))
    for (const program of [spins, ticks]) {
      const error = defect(await run(program, { maxSteps: 20_000 }))
      assert.isTrue(error instanceof TestTime.EndlessAdjust, String(error))
    }
  })

  it("leaves no timer behind", async () => {
    const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
    await run(Effect.zipRight(Effect.fork(Effect.sleep("1 hour")), Effect.yieldNow()), { patience: "1 minute" })
    assert.strictEqual(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length, before)
  })

  it("C90: a chain of sleeps runs through, and each call comes at its own time", async () => {
    const program = Effect.gen(function* () {
      const times: Array<number> = []
      const call = Effect.flatMap(Clock.currentTimeMillis, (now) => (times.push(now) === 1 ? Effect.fail("down") : Effect.void))
      const fiber = yield* Effect.fork(Effect.retry(call, Schedule.spaced("50 millis")))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      return [times, yield* Clock.currentTimeMillis]
    })
    assert.deepStrictEqual(await run(program), Exit.succeed([[0, 50], 1000]))
  })
})
