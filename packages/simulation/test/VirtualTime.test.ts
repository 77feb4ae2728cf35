import { VirtualTime } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Queue, Random, Schedule } from "effect"

const run = <A, E>(program: Effect.Effect<A, E>, options?: VirtualTime.Options) =>
  Effect.runSyncExit(VirtualTime.run(program, options))

const value = <A, E>(program: Effect.Effect<A, E>, options?: VirtualTime.Options): A =>
  Effect.runSync(VirtualTime.run(program, options))

describe("VirtualTime", () => {
  it("lets a year pass at once and tells the time in milliseconds and nanoseconds", () => {
    const program = Effect.sleep("365 days").pipe(
      Effect.zipRight(Effect.all([Clock.currentTimeMillis, Clock.currentTimeNanos]))
    )
    assert.deepStrictEqual(value(program), [31_536_000_000, 31_536_000_000_000_000n])
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
    assert.deepStrictEqual(exit, Exit.fail(new VirtualTime.Deadlock({ at: Duration.seconds(1) })))
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

  it.each([
    { what: "a deferred that nobody completes", program: Effect.flatMap(Deferred.make<void>(), Deferred.await) },
    { what: "a promise", program: Effect.promise(() => Promise.resolve(1)) },
    { what: "a sleep without end", program: Effect.sleep(Duration.infinity) }
  ])("ends in Deadlock where the program waits for $what, and says when", ({ program }) => {
    const exit = run(Effect.zipRight(Effect.sleep("5 seconds"), program))
    assert.deepStrictEqual(exit, Exit.fail(new VirtualTime.Deadlock({ at: Duration.seconds(5) })))
    assert.match(new VirtualTime.Deadlock({ at: Duration.seconds(5) }).message, /^Deadlock at 5s of virtual time/)
  })

  it.each([
    { what: "spins without a sleep", program: Effect.forever(Effect.yieldNow()) },
    { what: "sleeps no time for ever", program: Effect.forever(Effect.sleep(0)) },
    { what: "ticks for ever", program: Effect.forever(Effect.sleep("1 second")) }
  ])("ends in TooManySteps where the program $what", ({ program }) => {
    const exit = run(program, { maxSteps: 10_000 })
    assert.isTrue(Exit.isFailure(exit) && exit.cause._tag === "Fail" && exit.cause.error instanceof VirtualTime.TooManySteps)
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
