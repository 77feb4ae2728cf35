import { VirtualTime } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Queue, Random, Schedule } from "effect"

const run = <A, E>(program: Effect.Effect<A, E>, options?: VirtualTime.Options) =>
  Effect.runSyncExit(VirtualTime.run(program, options))

const value = <A, E>(program: Effect.Effect<A, E>, options?: VirtualTime.Options): A =>
  Effect.runSync(VirtualTime.run(program, options))

const failure = <A, E>(program: Effect.Effect<A, E>, options?: VirtualTime.Options): E | VirtualTime.VirtualTimeError =>
  Effect.runSync(Effect.flip(VirtualTime.run(program, options)))

describe("VirtualTime", () => {
  it("lets a year pass at once and tells the time in milliseconds and nanoseconds", () => {
    const program = Effect.sleep("365 days").pipe(
      Effect.zipRight(Effect.all([Clock.currentTimeMillis, Clock.currentTimeNanos]))
    )
    assert.deepStrictEqual(value(program), [31_536_000_000, 31_536_000_000_000_000n])
  })

  it("C90: runs a chain of sleeps to its end in one go", () => {
    const program = Effect.zipRight(Effect.repeatN(Effect.sleep("10 seconds"), 9), Clock.currentTimeMillis)
    assert.strictEqual(value(program), 100_000)
  })

  it("wakes the earliest sleep first, and those of one instant in the order in which they began", () => {
    const order: Array<string> = []
    const sleeper = (name: string, millis: number) =>
      Effect.sleep(millis).pipe(Effect.zipRight(Effect.sync(() => order.push(name))))
    value(
      Effect.all([sleeper("c", 20), sleeper("a", 10), sleeper("d", 20), sleeper("b", 10), sleeper("e", 20)], {
        concurrency: "unbounded"
      })
    )
    assert.strictEqual(order.join(""), "abcde")
  })

  it.each([
    { sleep: "1500 micros" as const, micros: 1500 },
    { sleep: "1499 nanos" as const, micros: 1 },
    { sleep: "1500 nanos" as const, micros: 2 },
    { sleep: "0.3 millis" as const, micros: 300 },
    { sleep: "0 millis" as const, micros: 0 }
  ])("rounds a sleep of $sleep once, to $micros microseconds", ({ micros, sleep }) => {
    assert.strictEqual(value(Effect.zipRight(Effect.sleep(sleep), Clock.currentTimeNanos)), BigInt(micros) * 1000n)
  })

  it("tells whole milliseconds, as the real clock does", () => {
    assert.strictEqual(value(Effect.zipRight(Effect.sleep("1500 micros"), Clock.currentTimeMillis)), 1)
  })

  it("runs timeouts, races, queues, schedules and forked fibers to their ends", () => {
    const program = Effect.gen(function* () {
      const timedOut = yield* Effect.never.pipe(
        Effect.timeoutTo({ duration: "1 second", onSuccess: () => 0, onTimeout: () => 1 })
      )
      const winner = yield* Effect.race(
        Effect.as(Effect.sleep("3 seconds"), "slow"),
        Effect.as(Effect.sleep("2 seconds"), "fast")
      )
      const queue = yield* Queue.bounded<number>(1)
      const producer = yield* Effect.fork(Effect.forEach([1, 2, 3], (n) => Effect.delay(queue.offer(n), "1 second")))
      const taken = yield* Effect.all([queue.take, queue.take, queue.take])
      yield* Fiber.join(producer)
      const ticks = yield* Effect.repeat(Clock.currentTimeMillis, Schedule.spaced("1 second").pipe(Schedule.upTo("3 seconds")))
      return { timedOut, winner, taken, ticks }
    })
    assert.deepStrictEqual(value(program), { timedOut: 1, winner: "fast", taken: [1, 2, 3], ticks: 3 })
  })

  it("forgets the sleep of an interrupted fiber: a won race does not hold up the end", () => {
    const program = Effect.gen(function* () {
      yield* Effect.void.pipe(Effect.delay("1 second"), Effect.timeout("1 hour"))
      const before = yield* Clock.currentTimeMillis
      // Nothing sleeps any more: whoever waits now waits for ever.
      yield* Effect.never
      return before
    })
    const exit = run(program)
    const waiting = ["fiber 1 waits"]
    assert.deepStrictEqual(exit, Exit.fail(new VirtualTime.Deadlock({ at: Duration.seconds(1), waiting })))
  })

  it("gives the same random numbers for the same seed, others for another", () => {
    const numbers = Effect.all([Random.next, Random.nextIntBetween(0, 100), Random.shuffle([1, 2, 3, 4, 5])])
    assert.deepStrictEqual(value(numbers, { seed: 7 }), value(numbers, { seed: 7 }))
    assert.notDeepEqual(value(numbers, { seed: 7 }), value(numbers, { seed: 8 }))
  })

  it("gives the program's own failure and defect unchanged", () => {
    assert.deepStrictEqual(run(Effect.zipRight(Effect.sleep("1 second"), Effect.fail("no"))), Exit.fail("no"))
    assert.deepStrictEqual(run(Effect.die("bug")), Exit.die("bug"))
  })

  it("ends in Deadlock where nobody can wake the program, and says when and what each fiber waits for", () => {
    const program = Effect.gen(function* () {
      yield* Effect.sleep("5 seconds")
      const never = yield* Deferred.make<void>()
      const child = yield* Deferred.await(never).pipe(Effect.withSpan("consumer"), Effect.fork)
      yield* Effect.fork(Effect.never)
      yield* Fiber.join(child)
    })
    const error = failure(program)
    assert.isTrue(error instanceof VirtualTime.Deadlock)
    assert.strictEqual(
      (error as Error).message,
      [
        "Deadlock at 5s of virtual time: nothing is ready to run, nobody sleeps, and the program waits.",
        "  fiber 1 waits for fiber 2, or for something it made",
        "  fiber 2 (consumer) waits for fiber 1, or for something it made",
        "  fiber 3 waits"
      ].join("\n")
    )
    assert.isTrue(failure(Effect.sleep(Duration.infinity)) instanceof VirtualTime.Deadlock)
  })

  it.each([
    { call: "Promise.prototype.then", program: Effect.promise(() => Promise.resolve(1)) },
    { call: "setTimeout", program: Effect.async<void>((resume) => void setTimeout(() => resume(Effect.void), 1)) },
    { call: "setImmediate", program: Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void))) },
    { call: "setInterval", program: Effect.sync(() => clearInterval(setInterval(() => undefined, 1000))) },
    { call: "queueMicrotask", program: Effect.async<void>((resume) => queueMicrotask(() => resume(Effect.void))) }
  ])("ends in RealAsynchrony where the program calls $call, with the stack of the call", ({ call, program }) => {
    // Also where a timeout would have gone on without it, and so simulated something else than what runs.
    const error = failure(Effect.sleep("5 seconds").pipe(Effect.zipRight(program), Effect.timeout("1 day")))
    assert.isTrue(error instanceof VirtualTime.RealAsynchrony)
    if (!(error instanceof VirtualTime.RealAsynchrony)) return
    assert.deepStrictEqual([error.call, Duration.toMillis(error.at)], [call, 5000])
    assert.include(error.callStack, "VirtualTime.test.ts")
    assert.include(error.message, error.callStack)
  })

  it("leaves the event loop as it found it, also after an error and when runs are nested", () => {
    const entrances = () => [setTimeout, setInterval, setImmediate, queueMicrotask, Promise.prototype.then, Math.random]
    const before = entrances()
    run(Effect.die("bug"))
    run(Effect.promise(() => Promise.resolve()))
    const nested = VirtualTime.run(Effect.exit(VirtualTime.run(Effect.promise(() => Promise.resolve()))))
    assert.isTrue(Exit.isFailure(Effect.runSync(nested)))
    assert.deepStrictEqual(entrances(), before)
  })

  it("seeds Math.random while it runs", () => {
    const numbers = Effect.sync(() => [Math.random(), Math.random()])
    assert.deepStrictEqual(value(numbers, { seed: 7 }), value(numbers, { seed: 7 }))
    assert.notDeepEqual(value(numbers, { seed: 7 }), value(numbers, { seed: 8 }))
  })

  it.each([
    { what: "spins without a sleep", program: Effect.forever(Effect.yieldNow()) },
    { what: "sleeps no time for ever", program: Effect.forever(Effect.sleep(0)) },
    {
      what: "retries without a delay",
      program: Effect.retry(Effect.zipRight(Effect.yieldNow(), Effect.fail("down")), Schedule.forever)
    }
  ])("ends in Livelock where the program $what", ({ program }) => {
    const error = failure(Effect.zipRight(Effect.sleep("5 seconds"), program), { maxStepsAtOnce: 10_000 })
    assert.isTrue(error instanceof VirtualTime.Livelock)
    assert.match((error as Error).message, /^Livelock at 5s of virtual time: 100\d\d steps without time passing/)
  })

  it("ends in Livelock in seconds, with the default limits, where a fiber never lets go of its turn", () => {
    const spins = Effect.retry(Effect.fail("down"), Schedule.forever)
    const error = failure(Effect.zipRight(Effect.fork(Effect.sleep("1 day")), spins))
    assert.isTrue(error instanceof VirtualTime.Livelock)
  })

  it.each([
    { what: "ticks for ever", program: Effect.forever(Effect.sleep("1 second")) },
    {
      what: "waits for ever beside something that ticks",
      program: Effect.zipRight(Effect.fork(Effect.repeat(Effect.void, Schedule.spaced("1 milli"))), Effect.never)
    }
  ])("ends in TooManySteps where the program $what", ({ program }) => {
    assert.isTrue(failure(program, { maxSteps: 10_000 }) instanceof VirtualTime.TooManySteps)
  })

  it("keeps monotonic time and sleeps apart from a wall clock that is stepped", () => {
    const program = Effect.gen(function* () {
      const sleeper = yield* Effect.fork(Effect.sleep("2 seconds"))
      yield* Effect.sleep("1 second")
      yield* VirtualTime.stepWallClock(-3_600_000)
      const back = yield* Clock.currentTimeMillis
      yield* Fiber.join(sleeper)
      return { back, wall: yield* Clock.currentTimeMillis, monotonic: yield* Clock.currentTimeNanos }
    })
    assert.deepStrictEqual(value(program, { startsAt: 10_000_000 }), {
      back: 6_401_000,
      wall: 6_402_000,
      monotonic: 2_000_000_000n
    })
  })

  it("says so where the wall clock that should be stepped is a real one", () => {
    assert.throws(
      () => Effect.runSync(VirtualTime.stepWallClock(1)),
      "VirtualTime.stepWallClock: the fiber does not run in virtual time"
    )
  })

  it("runs the finalizers of a program that it gives up on", () => {
    const released: Array<string> = []
    const hold = (name: string) => Effect.acquireRelease(Effect.void, () => Effect.sync(() => released.push(name)))
    run(hold("deadlocked").pipe(Effect.zipRight(Effect.never), Effect.scoped))
    run(hold("endless").pipe(Effect.zipRight(Effect.forever(Effect.sleep(1))), Effect.scoped), { maxSteps: 100 })
    assert.deepStrictEqual(released, ["deadlocked", "endless"])
  })

  it("runs inside another program without disturbing its clock", async () => {
    const program = Effect.gen(function* () {
      const before = yield* Clock.currentTimeMillis
      const inside = yield* VirtualTime.run(Effect.zipRight(Effect.sleep("1 day"), Clock.currentTimeMillis))
      const after = yield* Clock.currentTimeMillis
      return { inside, between: after - before }
    })
    const { between, inside } = await Effect.runPromise(program)
    assert.strictEqual(inside, 86_400_000)
    assert.isBelow(between, 86_400_000)
  })
})
