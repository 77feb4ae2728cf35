/**
 * What retries add to an outage, with and without a budget. Three attempts for each of a hundred operations a second are three times
 * the load, just when the service can bear it least; one budget for all of them makes it about 1.1 times.
 *
 * By hand, after `npm run build`, in virtual time: `npx jiti examples/src/retry-budget.ts`
 */
import { Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { VirtualTime } from "@breakwater/simulation"
import { Clock, Data, Effect, Random } from "effect"
import { fileURLToPath } from "node:url"

export class Unavailable extends Data.TaggedError("Unavailable") {}

/** The budget of everything that calls the payment service: a service, so that all who share its layer share the account. */
export class PaymentsBudget extends RetryBudget.Tag("PaymentsBudget")<PaymentsBudget>() {}

const phases = ["healthy", "outage", "healthy again"] as const
type Phase = (typeof phases)[number]

/** Twenty seconds each; what ends later counts for the last. */
const phase = Effect.map(Clock.currentTimeMillis, (now): Phase => phases[Math.floor(now / 20_000)] ?? "healthy again")

/** Takes 20 ms for a payment; refuses one of a hundred when it is well, and all of them in the outage. */
const makePayments = () => {
  const calls: Record<Phase, number> = { healthy: 0, outage: 0, "healthy again": 0 }
  const charge = Effect.gen(function* () {
    const now = yield* phase
    calls[now]++
    yield* Effect.sleep("20 millis")
    if (now === "outage" || (yield* Random.next) < 0.01) return yield* new Unavailable()
  })
  return { calls, charge }
}

/** A hundred operations a second for a minute: how many there were, how many failed, and what reached the service. */
const load = <R>(protect: (charge: Effect.Effect<void, Unavailable>) => Effect.Effect<void, Unavailable, R>) =>
  Effect.gen(function* () {
    const { calls, charge } = makePayments()
    const operations: Record<Phase, number> = { healthy: 0, outage: 0, "healthy again": 0 }
    const failed: Record<Phase, number> = { healthy: 0, outage: 0, "healthy again": 0 }
    const operation = Effect.gen(function* () {
      const now = yield* phase
      operations[now]++
      yield* Effect.catchAll(protect(charge), () => Effect.sync(() => failed[now]++))
    })
    yield* Effect.forEach(Array.from({ length: 6000 }), (_, index) => Effect.delay(operation, index * 10), {
      concurrency: "unbounded",
      discard: true
    })
    return phases.map((phase) => ({
      phase,
      operations: operations[phase],
      failed: failed[phase],
      calls: calls[phase],
      load: Math.round((100 * calls[phase]) / operations[phase]) / 100
    }))
  })

const schedule = Backoff.exponential({ base: "100 millis", cap: "1 second" }).pipe(Jitter.full, Limit.attempts(3))

export const withoutBudget = load(Retry.retry({ schedule, log: false }))

export const withBudget = load(Retry.retry({ schedule, log: false, budget: PaymentsBudget })).pipe(
  // Once, around everything: a layer that is provided for each operation would be a new, full budget for each.
  Effect.provide(PaymentsBudget.layer(RetryBudget.ratio({ percent: 10 })))
)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log("without a budget")
  console.table(Effect.runSync(VirtualTime.run(withoutBudget, { seed: 1 })))
  console.log("with a budget of 10 %")
  console.table(Effect.runSync(VirtualTime.run(withBudget, { seed: 1 })))
}
