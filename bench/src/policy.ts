/**
 * What a policy costs when nothing fails, against what it takes the place of; what its parts cost, and whether that depends on how
 * much they remember or how many there are.
 *
 * `npm run bench -- policy`
 */
import { Bulkhead, CircuitBreaker, Keyed, Policy, Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import {
  bulkhead as cockatielBulkhead,
  circuitBreaker,
  ConsecutiveBreaker,
  ExponentialBackoff,
  handleAll,
  retry,
  timeout,
  TimeoutStrategy,
  wrap
} from "cockatiel"
import { Effect } from "effect"
import { Table, type Work } from "./measure.js"

const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Jitter.full, Limit.attempts(4))
const tripPolicy = CircuitBreaker.failureRate({ threshold: 0.5, window: "10 seconds", minimumCalls: 20 })

const whole = Effect.runSync(
  Policy.make({
    schedule,
    attemptTimeout: "2 seconds",
    deadline: "10 seconds",
    budget: RetryBudget.ratio({ percent: 10 }),
    breaker: { tripPolicy },
    bulkhead: { permits: 20, queue: 50 },
    log: false
  })
)

const succeeds: Effect.Effect<number, "unavailable"> = Effect.succeed(1)
const suspends: Effect.Effect<number, "unavailable"> = Effect.zipRight(Effect.yieldNow(), succeeds)
const effects = (call: Effect.Effect<number, "unavailable">) => call.pipe(Effect.timeout("2 seconds"), Effect.retry(schedule))

const breakerOf = (tripPolicy: CircuitBreaker.TripPolicy) => Effect.runSync(CircuitBreaker.make({ tripPolicy }))
const breaker = breakerOf(tripPolicy)

const table = new Table()

// the whole, inside of Effect

await table.effects("policy, ends at once / retry(timeout)", Policy.protect(succeeds, whole), effects(succeeds), 0.35)
await table.effects("policy, suspends once / retry(timeout)", Policy.protect(suspends, whole), effects(suspends))

// the whole, at the promise edge

/** A function that is awaited so many times. */
const awaited = (call: () => Promise<unknown>, units: number): Work => ({
  units,
  run: async () => {
    for (let i = 0; i < units; i++) await call()
  }
})

const cockatiel = wrap(
  retry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() }),
  circuitBreaker(handleAll, { halfOpenAfter: 5000, breaker: new ConsecutiveBreaker(5) }),
  timeout(2000, TimeoutStrategy.Aggressive)
)
const promised = Policy.protect(
  Effect.promise(() => Promise.resolve(1)),
  whole
)
await table.compare(
  "policy, of a promise / cockatiel's retry, breaker, timeout",
  awaited(() => Effect.runPromise(promised), 3000),
  awaited(() => cockatiel.execute(() => Promise.resolve(1)), 3000),
  1
)
const cockatielWhole = wrap(cockatiel, cockatielBulkhead(20, 50))
await table.compare(
  "policy, of a promise / the same with a bulkhead",
  awaited(() => Effect.runPromise(promised), 3000),
  awaited(() => cockatielWhole.execute(() => Promise.resolve(1)), 3000)
)

// parts

const onExit = Effect.onExit(succeeds, () => Effect.void)
const guarded = (breaker: CircuitBreaker.CircuitBreaker) => CircuitBreaker.execute(succeeds, breaker)
await table.effects("breaker alone / Effect.onExit", guarded(breaker), onExit, 2)
const bulkhead = Effect.runSync(Bulkhead.make({ permits: 20 }))
await table.effects("bulkhead alone / Effect.onExit", Bulkhead.withPermit(succeeds, bulkhead), onExit)

/** Times differ by a tenth from run to run where nothing else does. */
const same = 1.15
const ofCalls = (calls: number) =>
  breakerOf(CircuitBreaker.failureRate({ threshold: 0.5, window: { calls }, minimumCalls: 10 }))
await table.effects("window of 100,000 calls / of 10", guarded(ofCalls(100_000)), guarded(ofCalls(10)), same)

/** Each call is one of another key than the call before. */
const registry = (keys: number) => {
  const hosts = Effect.runSync(
    Keyed.make<number, CircuitBreaker.CircuitBreaker>(CircuitBreaker.make({ tripPolicy }), { maxKeys: keys })
  )
  let call = 0
  const next = Effect.suspend(() => hosts.use(call++ % keys, guarded))
  Effect.runSync(Effect.repeatN(next, 2 * keys))
  return next
}
await table.effects("registry of 10,000 keys / of 10", registry(10_000), registry(10), same)

const isolated = breakerOf(tripPolicy)
Effect.runSync(isolated.isolate)
const refused = Effect.exit(guarded(isolated))
await table.effects("refused by a breaker / admitted", refused, Effect.exit(guarded(breaker)), 1)
const closed = Effect.runSync(Policy.make({ schedule, breaker: isolated, attemptTimeout: "2 seconds", log: false }))
const open = Effect.runSync(Policy.make({ schedule, breaker, attemptTimeout: "2 seconds", log: false }))
await table.effects(
  "refused by a policy / admitted",
  Effect.exit(Policy.protect(succeeds, closed)),
  Effect.exit(Policy.protect(succeeds, open)),
  1
)

// where the whole goes, against the bare effect

const retrying = {
  schedule,
  attemptTimeout: "2 seconds",
  deadline: "10 seconds",
  budget: Effect.runSync(RetryBudget.make(RetryBudget.ratio()))
} as const
await table.effects("retry with time-out, deadline, budget / bare", Retry.retry(succeeds, retrying), succeeds)
await table.effects("policy / bare", Policy.protect(succeeds, whole), succeeds)
await table.effects("breaker / bare", guarded(breaker), succeeds)
await table.effects("Effect.onExit / bare", onExit, succeeds)

table.print()

// bytes

const bytesOf = async (what: string, count: number, make: () => unknown) => {
  const kept: Array<unknown> = []
  const used = () => {
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  const before = used()
  for (let i = 0; i < count; i++) kept.push(make())
  const bytes = Math.round((used() - before) / count)
  console.log(`${what}: ${bytes} bytes (of ${kept.length})`)
}
const making = (tripPolicy: CircuitBreaker.TripPolicy) => {
  const make = CircuitBreaker.make({ tripPolicy })
  return () => Effect.runSync(make)
}
await bytesOf("breaker, 5 failures in a row", 10_000, making(CircuitBreaker.consecutive(5)))
await bytesOf("breaker, rate over 10 seconds", 10_000, making(tripPolicy))
await bytesOf(
  "breaker, rate over 100 calls",
  10_000,
  making(CircuitBreaker.failureRate({ threshold: 0.5, window: { calls: 100 }, minimumCalls: 10 }))
)
const makeBulkhead = Bulkhead.make({ permits: 10, queue: 10 })
await bytesOf("bulkhead", 10_000, () => Effect.runSync(makeBulkhead))
const keys = Effect.runSync(
  Keyed.make<number, CircuitBreaker.CircuitBreaker>(CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(5) }), {
    maxKeys: 10_000
  })
)
let key = 0
await bytesOf("key of a registry of breakers", 10_000, () => void Effect.runSync(keys.use(key++, guarded)))
