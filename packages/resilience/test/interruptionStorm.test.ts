/**
 * Thousands of operations through a whole policy, interrupted at any time, while somebody isolates, resets and resizes. When it is
 * over, everything that was taken must be back.
 */
import { CircuitBreaker, Policy, RetryBudget, RetryMetrics } from "@breakwater/resilience"
import { VirtualTime } from "@breakwater/simulation"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { withSleeps } from "./operation.js"

// -----------------------------------------------------------------------------
// the storm
// -----------------------------------------------------------------------------

class Storm extends Policy.KeyedTag("Storm")<Storm, string>() {}
class Tokens extends RetryBudget.Tag("StormTokens")<Tokens>() {}
class InFlight extends RetryBudget.Tag("StormInFlight")<InFlight>() {}

const tokens = 100_000
const reserve = 2
const permits = 2
const probes = 2
const openFor = 500
const maxKeys = 4
/** Milliseconds. */
const lasts = 5000

const budgets = Layer.mergeAll(
  Tokens.layer(
    RetryBudget.tokens({ capacity: tokens, cost: { failure: 1, timeout: 1, throttled: 1 }, success: 0, refund: false })
  ),
  InFlight.layer(RetryBudget.inFlight({ percent: 50, minimum: reserve }))
)

const policies = Storm.layer(
  {
    schedule: Backoff.exponential({ base: "10 millis", cap: "100 millis" }).pipe(Jitter.full, Limit.attempts(4)),
    while: (error) => error !== "wrong",
    attemptTimeout: 100,
    deadline: 400,
    budget: Effect.zipWith(Tokens, InFlight, (tokens, inFlight) => RetryBudget.all(tokens, inFlight)),
    throttle: { multiplier: 20, window: "1 second" },
    breaker: {
      tripPolicy: CircuitBreaker.consecutive(4),
      openDuration: openFor,
      jitter: 0.5,
      probes,
      // A probe that is lost must stay lost, or nobody would find out.
      probeLimit: "1000 days"
    },
    bulkhead: { permits, queue: 4, maxWait: 50 },
    log: false
  },
  { maxKeys, idleTimeToLive: "1 second" }
)

const below = (limit: number) => Random.nextIntBetween(0, limit)

/** One of the ways in which a call can go. */
const call: Effect.Effect<unknown, string> = Effect.gen(function* () {
  const time = yield* below(150)
  switch (yield* below(12)) {
    case 0:
      return yield* Effect.die("bug")
    case 1:
      return yield* Effect.interrupt
    case 2:
      return yield* Effect.never
    case 3:
      return yield* Effect.uninterruptible(Effect.sleep(time))
    case 4:
      return yield* Effect.onInterrupt(Effect.never, () => Effect.sleep(time))
    case 5:
      return yield* Effect.fail("wrong")
    case 6:
      return yield* Effect.fail("down")
    case 7:
      return yield* Effect.delay(Effect.fail("down"), time)
    case 8:
      return yield* Effect.race(Effect.sleep(time), Effect.sleep(50))
    case 9:
      return "at once"
    default:
      return yield* Effect.sleep(time)
  }
})

type Sabotage = (policy: Policy.Policy<string>) => void

/** Every policy that was seen, whichever key had it and for however long. */
class Seen extends Context.Tag("Seen")<
  Seen,
  { readonly policies: Set<Policy.Policy<string>>; readonly sabotage: Sabotage }
>() {}

const withPolicy = <A, E>(key: string, use: (policy: Policy.Policy<string>) => Effect.Effect<A, E>) =>
  Effect.flatMap(Seen, ({ policies, sabotage }) =>
    Storm.use(key, (policy) => {
      if (!policies.has(policy)) sabotage(policy)
      policies.add(policy)
      return use(policy)
    })
  )

const anyKey = Effect.map(below(6), String)

/** One operation, which its caller may give up at any time. */
const operation = Effect.gen(function* () {
  yield* Effect.sleep(yield* below(lasts))
  const key = yield* anyKey
  const fiber = yield* Effect.fork(withPolicy(key, (policy) => Policy.protect(call, policy)))
  if ((yield* below(3)) === 0) {
    yield* Effect.sleep(yield* below(300))
    yield* Fiber.interrupt(fiber)
  }
  yield* Fiber.await(fiber)
})

/** Somebody who acts on what he sees. */
const operator = Effect.gen(function* () {
  yield* Effect.sleep(yield* below(lasts))
  const size = 1 + (yield* below(3))
  const act = yield* below(5)
  yield* withPolicy(yield* anyKey, ({ breaker, bulkhead }) => {
    const { disable, isolate, reset, state } = Option.getOrThrow(breaker)
    const acts = [isolate, disable, reset, state, Option.getOrThrow(bulkhead).resize(size)]
    return acts[act]!
  })
})

// -----------------------------------------------------------------------------
// the leak probe
// -----------------------------------------------------------------------------

const value = (metric: Metric.Metric.Counter<number>) => Effect.map(Metric.value(metric), ({ count }) => count)
const retriesSent = value(RetryMetrics.ofPolicy("Storm").retries)
const fibersAlive = value(Metric.counter("effect_fiber_active"))

/** Whether a half-open breaker does not close though enough calls succeed: somebody has kept the place of a probe. */
const isWedged = (breaker: CircuitBreaker.CircuitBreaker) =>
  Effect.gen(function* () {
    if ((yield* breaker.state) !== "HalfOpen") return 0
    for (let i = 0; i < probes; i++) yield* Effect.ignore(CircuitBreaker.execute(Effect.void, breaker))
    return (yield* breaker.state) === "Closed" ? 0 : 1
  })

interface Leaks {
  readonly permits: number
  readonly waiters: number
  /** Breakers. */
  readonly wedged: number
  readonly tokens: number
  readonly operations: number
  readonly sleeps: number
  readonly fibers: number
  readonly keys: number
}

const none: Leaks = { permits: 0, waiters: 0, wedged: 0, tokens: 0, operations: 0, sleeps: 0, fibers: 0, keys: 0 }

const sum = <A>(items: Iterable<A>, count: (item: A) => Effect.Effect<number>) =>
  Effect.reduce(items, 0, (total, item) => Effect.map(count(item), (more) => total + more))

const storm = (operations: number, sabotage: Sabotage, extra: Effect.Effect<void, never, Storm>) =>
  Effect.gen(function* () {
    const seen = { policies: new Set<Policy.Policy<string>>(), sabotage }
    const before = { retries: yield* retriesSent, fibers: yield* fibersAlive }
    const { sleeps } = yield* withSleeps(
      Effect.provideService(
        Effect.gen(function* () {
          const many = (count: number, effect: Effect.Effect<void, never, Seen | Storm>) =>
            Array.from({ length: count }, () => effect)
          yield* Effect.all([...many(operations, operation), ...many(operations / 20, operator)], {
            concurrency: "unbounded",
            discard: true
          })
          yield* Effect.zipRight(extra, Effect.yieldNow())
        }),
        Seen,
        seen
      )
    )
    const keys = yield* Effect.flatMap(Storm, ({ inUse }) => inUse)
    const left = yield* Effect.flatMap(Storm, ({ size }) => size)
    const fibers = (yield* fibersAlive) - before.fibers
    // Nothing is open any more.
    yield* Effect.sleep(2 * openFor)
    const bulkheads = Array.from(seen.policies, ({ bulkhead }) => Option.getOrThrow(bulkhead))
    const breakers = Array.from(seen.policies, ({ breaker }) => Option.getOrThrow(breaker))
    const halfOpen = yield* sum(breakers, ({ state }) => Effect.map(state, (state) => (state === "HalfOpen" ? 1 : 0)))
    const used = (yield* retriesSent) - before.retries
    const leaks: Leaks = {
      permits: yield* sum(bulkheads, ({ running }) => running),
      waiters: yield* sum(bulkheads, ({ waiting }) => waiting),
      wedged: yield* sum(breakers, isWedged),
      tokens: tokens - used - (yield* Effect.flatMap(Tokens, ({ balance }) => balance)),
      operations: reserve - (yield* Effect.flatMap(InFlight, ({ balance }) => balance)),
      sleeps: sleeps.pending,
      fibers,
      keys
    }
    return { leaks, policies: seen.policies.size, left, halfOpen, retries: used }
  }).pipe(Effect.provide(policies), Effect.provide(budgets))

const after = (options: {
  readonly operations: number
  readonly seed: number
  readonly sabotage?: Sabotage
  readonly extra?: Effect.Effect<void, never, Storm>
}) =>
  Effect.runSync(
    VirtualTime.run(storm(options.operations, options.sabotage ?? (() => undefined), options.extra ?? Effect.void), {
      seed: options.seed
    })
  )

// -----------------------------------------------------------------------------
// leaks on purpose
// -----------------------------------------------------------------------------

/** Makes a method of one object forget every so many calls what it is there for. */
const forgets = <Method extends string>(
  object: { readonly [M in Method]: (...args: Array<never>) => unknown },
  method: Method,
  every = 5
) => {
  const own = object[method] as (...args: Array<unknown>) => unknown
  let calls = 0
  Object.assign(object, {
    [method]: (...args: Array<unknown>) => (++calls % every === 0 ? undefined : own.apply(object, args))
  })
}

/** What is inside of a part: no business of anybody's but of who breaks it. */
const inside = <Inside>(part: unknown): Inside => part as Inside

type Anything = (...args: Array<never>) => unknown

interface Seeded {
  readonly what: keyof Leaks
  readonly sabotage?: Sabotage
  readonly extra?: Effect.Effect<void, never, Storm>
}

const seeded: ReadonlyArray<Seeded> = [
  {
    what: "permits",
    sabotage: ({ bulkhead }) => forgets(inside<{ release: Anything }>(Option.getOrThrow(bulkhead)), "release")
  },
  {
    what: "waiters",
    sabotage: ({ bulkhead }) => forgets(inside<{ remove: Anything }>(Option.getOrThrow(bulkhead)), "remove")
  },
  {
    what: "wedged",
    sabotage: ({ breaker }) => {
      const { rules } = inside<{ rules: { freed: Anything } }>(Option.getOrThrow(breaker))
      Object.assign(rules, { freed: (state: unknown) => state })
    }
  },
  {
    what: "tokens",
    sabotage: ({ budget }) => forgets(inside<{ unsafeReturned: Anything }>(Option.getOrThrow(budget)), "unsafeReturned", 2)
  },
  {
    what: "operations",
    sabotage: ({ budget }) => forgets(inside<{ unsafeEnded: Anything }>(Option.getOrThrow(budget)), "unsafeEnded")
  },
  { what: "sleeps", extra: Effect.asVoid(Effect.forkDaemon(Effect.sleep("1000 days"))) },
  { what: "fibers", extra: Effect.asVoid(Effect.forkDaemon(Effect.never)) },
  { what: "keys", extra: Effect.asVoid(Effect.forkDaemon(Storm.use("0", () => Effect.never))) }
]

// -----------------------------------------------------------------------------
// questions
// -----------------------------------------------------------------------------

const allAreBack = (leaks: Leaks, message?: string) => assert.deepStrictEqual(leaks, none, message)

describe("after a storm of interruptions, failures, defects, time-outs and manual control", () => {
  it("permits, tokens, probes, sleeps, fibers and keys are back where they started", () => {
    const seen = { halfOpen: 0, policies: 0, retries: 0 }
    for (let seed = 1; seed <= 20; seed++) {
      const { halfOpen, leaks, left, policies, retries } = after({ operations: 500, seed })
      allAreBack(leaks, `seed ${seed}`)
      assert.isAtMost(left, maxKeys)
      seen.halfOpen += halfOpen
      seen.policies += policies
      seen.retries += retries
    }
    // It was a storm: keys came and went, breakers were asked for their probes, retries were sent.
    assert.isAbove(seen.policies, 20 * 6)
    assert.isAbove(seen.halfOpen, 20)
    assert.isAbove(seen.retries, 1000)
  })
})

describe("a leak on purpose is found", () => {
  it.each(seeded)("of $what", ({ extra, sabotage, what }) => {
    const { leaks } = after({ operations: 500, seed: 1, ...(sabotage && { sabotage }), ...(extra && { extra }) })
    assert.notStrictEqual(leaks[what], 0, JSON.stringify(leaks))
    assert.throws(() => allAreBack(leaks))
  })
})
