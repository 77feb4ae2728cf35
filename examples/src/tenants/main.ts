/**
 * One backend with a shard for each tenant, and one policy for each: the tenant whose shard is down has a breaker and a bulkhead of
 * its own, and the others do not notice. The retries of all of them come from one budget, and there are no more policies than the
 * bound on keys allows, however many tenants come by.
 *
 * By hand, after `npm run build`: `npx jiti examples/src/tenants/main.ts`
 */
import { CircuitBreaker, Policy, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "@effect/platform"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Array, Console, Data, Effect, Layer, Schema } from "effect"
import { fileURLToPath } from "node:url"
import { serverBeside } from "../serverProcess.js"

export class Unavailable extends Data.TaggedError("Unavailable") {}

/** Of the retries of the whole process, which is what the front door of the backend sees. */
export class SharedBudget extends RetryBudget.Tag("SharedBudget")<SharedBudget>() {}

export class Tenants extends Policy.KeyedTag("Tenants")<Tenants, Unavailable>() {}

export const limits = { failures: 5, permits: 3, retries: 30, maxKeys: 8 } as const

const TenantsLive = Tenants.layer(
  {
    schedule: Backoff.exponential({ base: "10 millis", cap: "40 millis" }).pipe(Jitter.full, Limit.attempts(3)),
    attemptTimeout: "1 second",
    // These are options: each tenant has a breaker and a bulkhead of its own.
    breaker: { tripPolicy: CircuitBreaker.consecutive(limits.failures), openDuration: "1 minute" },
    bulkhead: { permits: limits.permits },
    // This is a service: all of them have the same one.
    budget: SharedBudget,
    log: false
  },
  // More than there are tenants at a time. One that has to make room forgets that its breaker was open.
  { maxKeys: limits.maxKeys }
).pipe(Layer.provideMerge(SharedBudget.layer(RetryBudget.fixedRate({ retries: limits.retries, per: "1 minute" }))))

const call = (origin: string, tenant: string) =>
  HttpClient.get(`${origin}/${tenant}`).pipe(
    Effect.filterOrFail(
      ({ status }) => status === 200,
      () => new Unavailable()
    ),
    Effect.mapError(() => new Unavailable()),
    Effect.asVoid,
    Tenants.protect(tenant)
  )

/** What became of so many calls of a tenant: `served`, or the tag of the error. */
const calls = (origin: string, tenant: string, count: number, concurrency: number) =>
  Effect.forEach(
    Array.range(1, count),
    () => Effect.match(call(origin, tenant), { onSuccess: () => "served" as const, onFailure: ({ _tag }) => _tag }),
    { concurrency }
  )

const breakerOf = (tenant: string) =>
  Tenants.use(tenant, ({ breaker }) => Effect.flatMap(Effect.orDie(breaker), ({ state }) => state))

const Shards = Schema.Record({
  key: Schema.String,
  value: Schema.Struct({ requests: Schema.Number, mostAtOnce: Schema.Number })
})

export const quiet = ["ada", "ben", "cleo"] as const

export const program = Effect.gen(function* () {
  const origin = yield* serverBeside(import.meta.url)
  const tenants = yield* Tenants
  const budget = yield* SharedBudget

  // The noisy tenant comes with forty calls at once, and with forty more when they have failed.
  const noise = Effect.all([calls(origin, "noisy", 40, 40), calls(origin, "noisy", 40, 40)])
  // The others work all the while, with two calls of each at a time.
  const work = Effect.forEach(quiet, (tenant) => calls(origin, tenant, 40, 2), { concurrency: "unbounded" })
  const [noisy, others] = yield* Effect.all([noise, work], { concurrency: "unbounded" })
  const breakers = yield* Effect.forEach(["noisy", ...quiet], breakerOf)
  const retriesLeft = yield* budget.balance

  // Then fifty strangers, one call of each, which needs one retry.
  const strangers = yield* Effect.forEach(
    Array.range(1, 50),
    (n) => Effect.zipWith(calls(origin, `stranger-${n}`, 1, 1), tenants.size, ([outcome], keys) => ({ outcome, keys })),
    { concurrency: 4 }
  )
  const noisyAfterStrangers = yield* breakerOf("noisy")

  const shards = yield* HttpClient.get(`${origin}/report`).pipe(Effect.flatMap(HttpClientResponse.schemaBodyJson(Shards)))
  return { noisy, others, breakers, retriesLeft, strangers, noisyAfterStrangers, shards }
}).pipe(Effect.scoped, Effect.provide(TenantsLive), Effect.provide([FetchHttpClient.layer, NodeContext.layer]))

const counted = (outcomes: ReadonlyArray<string>) =>
  Object.entries(Array.groupBy(outcomes, (outcome) => outcome))
    .map(([outcome, { length }]) => `${length} ${outcome}`)
    .join(", ")

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  program.pipe(
    Effect.flatMap(({ breakers, noisy, noisyAfterStrangers, others, retriesLeft, shards, strangers }) =>
      Console.log(
        [
          `the noisy tenant: ${counted(noisy[0])}, then ${counted(noisy[1])}; its shard saw ${shards["noisy"]?.requests} requests`,
          `the others: ${counted(others.flat())}`,
          `breakers: ${breakers.join(", ")}; ${retriesLeft} of ${limits.retries} retries are left`,
          `${strangers.length} strangers: ${counted(strangers.map(({ outcome }) => outcome))}`,
          `never more than ${Math.max(...strangers.map(({ keys }) => keys))} policies; the noisy tenant's is new, and ${noisyAfterStrangers}`
        ].join("\n")
      )
    ),
    NodeRuntime.runMain
  )
}
