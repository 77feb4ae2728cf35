import { Bulkhead, CircuitBreaker, Keyed } from "@breakwater/resilience"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { timed } from "./operation.js"

class Hosts extends Keyed.Tag("Hosts")<Hosts, string, CircuitBreaker.CircuitBreaker>() {}
class Opens extends Context.Tag("Opens")<Opens, number>() {}

const run = <A>(program: Effect.Effect<A, unknown>): A => {
  const { exit } = timed(program)
  return Exit.isSuccess(exit) ? exit.value : assert.fail(Cause.pretty(exit.cause))
}

/** Numbers what it makes, after so many milliseconds. */
const numbered = (takes = 0) => {
  const made = { count: 0 }
  const service = Effect.zipRight(
    takes === 0 ? Effect.void : Effect.sleep(takes),
    Effect.sync(() => ++made.count)
  )
  return { made, service }
}

const itself = <A>(service: A) => Effect.succeed(service)

describe("a registry", () => {
  it("makes one for each key, when it is first used", () => {
    const { made, service } = numbered()
    const program = Effect.gen(function* () {
      const keyed = yield* Keyed.make<string, number>(service)
      const before = made.count
      const used = yield* Effect.forEach(["a", "b", "a"], (key) => keyed.use(key, itself))
      return [before, used, yield* keyed.size, yield* keyed.inUse]
    })
    assert.deepStrictEqual(run(program), [0, [1, 2, 1], 2, 0])
  })

  it("gives all who come while one is being made the same", () => {
    const program = Effect.gen(function* () {
      const keyed = yield* Keyed.make<string, number>(numbered(10).service)
      const uses = Array.from({ length: 5 }, () => keyed.use("a", itself))
      const used = yield* Effect.all(uses, { concurrency: "unbounded" })
      return new Set(used).size
    })
    assert.strictEqual(run(program), 1)
  })

  it("lets another one make it where the first is interrupted meanwhile", () => {
    const program = Effect.gen(function* () {
      const keyed = yield* Keyed.make<string, number>(numbered(10).service)
      const first = yield* Effect.fork(keyed.use("a", itself))
      yield* Effect.sleep(5)
      yield* Fiber.interrupt(first)
      return [yield* keyed.inUse, yield* keyed.use("a", itself)]
    })
    assert.deepStrictEqual(run(program), [0, 1])
  })

  it("is in use until the effect has ended, however it ends", () => {
    const program = Effect.gen(function* () {
      const keyed = yield* Keyed.make<string, number>(Effect.succeed(1))
      const busy = yield* Effect.fork(keyed.use("a", () => Effect.sleep(10)))
      yield* Effect.yieldNow()
      const during = yield* keyed.inUse
      yield* Fiber.join(busy)
      const bugs = [() => Effect.die("bug"), () => Effect.fail("down"), () => assert.fail("thrown")]
      for (const bug of bugs) yield* Effect.exit(keyed.use<never, string, never>("a", bug))
      return [during, yield* keyed.inUse]
    })
    assert.deepStrictEqual(run(program), [1, 0])
  })

  it("lets what waits in it be interrupted, and keeps uninterruptible what is", () => {
    const program = Effect.gen(function* () {
      const keyed = yield* Keyed.make<string, number>(Effect.succeed(1))
      const waits = yield* Effect.fork(keyed.use("a", () => Effect.never))
      let ended = false
      const insisting = Effect.andThen(Effect.sleep(10), () => (ended = true))
      const insists = yield* Effect.fork(Effect.uninterruptible(keyed.use("a", () => insisting)))
      yield* Effect.sleep(1)
      yield* Fiber.interruptAll([waits, insists])
      return [ended, yield* keyed.inUse]
    })
    assert.deepStrictEqual(run(program), [true, 0])
  })

  it("is bounded and forgets who is idle; who is in use is not forgotten", () => {
    const { service } = numbered()
    const program = Effect.gen(function* () {
      const keyed = yield* Keyed.make<string, number>(service, { maxKeys: 2, idleTimeToLive: "1 minute" })
      yield* Effect.fork(keyed.use("busy", () => Effect.never))
      yield* Effect.yieldNow()
      const first = yield* keyed.use("a", itself)
      yield* keyed.use("b", itself)
      const again = yield* keyed.use("a", itself)
      yield* Effect.sleep("1 minute")
      const later = yield* keyed.use("a", itself)
      return [first, again, later, yield* keyed.use("busy", itself), yield* keyed.size]
    })
    assert.deepStrictEqual(run(program), [2, 4, 5, 1, 2])
  })

  it("has newcomers share one where nobody is idle", () => {
    const program = Effect.gen(function* () {
      const keyed = yield* Keyed.make<string, Bulkhead.Bulkhead>(Bulkhead.make({ permits: 1 }), { maxKeys: 1 })
      yield* Effect.fork(keyed.use("a", () => Effect.never))
      yield* Effect.fork(keyed.use("b", (bulkhead) => Bulkhead.withPermit(Effect.never, bulkhead)))
      yield* Effect.yieldNow()
      return [yield* keyed.use("c", ({ running }) => running), yield* keyed.inUse, yield* keyed.size]
    })
    assert.deepStrictEqual(run(program), [1, 2, 1])
  })
})

describe("as a layer", () => {
  it("keeps breakers apart by their key, made with what the layer is given", () => {
    const layer = Hosts.layer(
      Effect.flatMap(Opens, (failures) => CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(failures) }))
    ).pipe(Layer.provide(Layer.succeed(Opens, 2)))
    const program = Effect.gen(function* () {
      for (let i = 0; i < 2; i++)
        yield* Effect.exit(Hosts.use("a", (breaker) => CircuitBreaker.execute(Effect.fail("down"), breaker)))
      return [yield* Hosts.use("a", ({ state }) => state), yield* Hosts.use("b", ({ state }) => state)]
    })
    assert.deepStrictEqual(run(Effect.provide(program, layer)), ["Open", "Closed"])
  })
})

describe("wrong options", () => {
  it.each<[Keyed.Options, string]>([
    [{ maxKeys: 0 }, "Keyed.make: maxKeys must be"],
    [{ maxKeys: 1.5 }, "Keyed.make: maxKeys must be"],
    [{ idleTimeToLive: -1 }, "Keyed.make: idleTimeToLive must be"]
  ])("%j", (options, message) => {
    assert.throws(() => Keyed.make(Effect.succeed(1), options), message)
    assert.throws(() => Hosts.layer(CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1) }), options), message)
  })
})
