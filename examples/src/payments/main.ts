/**
 * A shop and the payments service that it depends on, with everything around the call: retries, time-outs, a budget, a breaker and a
 * bulkhead. Where the policy lets no charge through, the order is taken all the same and charged later; a card that is declined is
 * an answer, and opens nothing. The service goes down in the middle, and hardly notices the shop until it is back.
 *
 * By hand, after `npm run build`: `npx jiti examples/src/payments/main.ts`
 */
import { CircuitBreaker, LocalRefusal, Policy, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, Limit, RetryAfter } from "@breakwater/schedule"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Array, Console, Data, Effect, Queue, Schedule, Schema, Stream } from "effect"
import { fileURLToPath } from "node:url"
import { serverBeside } from "../serverProcess.js"

// -----------------------------------------------------------------------------
// the call
// -----------------------------------------------------------------------------

/** The service has looked at the card and will not charge it, now or later. */
export class Declined extends Data.TaggedError("Declined")<{ readonly order: string }> {}

/** It is down, or cannot be reached: worth another attempt. */
export class Unavailable extends Data.TaggedError("Unavailable") {}

export type ApiError = Declined | Unavailable

/** The order is the key, so that a charge whose answer was lost may be asked for again, and is done once. */
const callPayments = (origin: string, order: string): Effect.Effect<void, ApiError, HttpClient.HttpClient> =>
  HttpClientRequest.post(`${origin}/charges`).pipe(
    HttpClientRequest.setHeader("Idempotency-Key", order),
    HttpClient.execute,
    Effect.flatMap(({ status }): Effect.Effect<void, ApiError> => {
      if (status === 402) return new Declined({ order })
      return status === 200 ? Effect.void : new Unavailable()
    }),
    Effect.catchTags({ RequestError: () => new Unavailable(), ResponseError: () => new Unavailable() })
  )

// -----------------------------------------------------------------------------
// the policy
// -----------------------------------------------------------------------------

/** Protects nothing but what fails with an `ApiError`. */
export class Payments extends Policy.Tag("Payments")<Payments, ApiError>() {}

const failures = 5
const permits = 4
const queue = 4

export const PaymentsLive = Payments.layer({
  schedule: Backoff.exponential({ base: "20 millis", cap: "50 millis" }).pipe(Jitter.full, Limit.attempts(3)),
  // What is not worth a retry does not count for the breaker either.
  while: ({ _tag }) => _tag === "Unavailable",
  attemptTimeout: "600 millis",
  deadline: "900 millis",
  budget: RetryBudget.ratio({ percent: 10, reservePerSecond: 1 }),
  breaker: { tripPolicy: CircuitBreaker.failures({ failures, window: "10 seconds" }), openDuration: "200 millis" },
  bulkhead: { permits, queue },
  log: false
})

/**
 * What can reach the service at most in an outage in which the breaker opens so many times: the failures that open it; beside the
 * last of them, who has a permit already; then one probe for each time that it opens again. What gets no answer may be cut by the
 * deadline, which says nothing of the service, and so comes on top.
 */
const mostRequests = (openings: number, unanswered: number) => failures + (permits - 1) + (openings - 1) + unanswered

// -----------------------------------------------------------------------------
// the shop
// -----------------------------------------------------------------------------

export interface Receipt {
  readonly order: string
  readonly charged: "now" | "later"
  /** Why not now. */
  readonly because?: string
}

/** As soon as it is of use: an open breaker says when. */
const again = Backoff.constant({ delay: "20 millis" }).pipe(
  RetryAfter.respect({
    of: (error: Policy.Failure<ApiError>) => (LocalRefusal.isLocalRefusal(error) ? error.retryAfter : undefined)
  })
)

const makeShop = Effect.fn(function* (origin: string) {
  const unpaid = yield* Queue.unbounded<string>()
  let owed = 0

  const charge = (order: string) => callPayments(origin, order).pipe(Payments.protect)

  const later = (order: string) => (error: { readonly _tag: string }) =>
    Effect.as(
      Effect.zipRight(
        Effect.sync(() => owed++),
        Queue.offer(unpaid, order)
      ),
      { order, charged: "later", because: error._tag } satisfies Receipt
    )

  /** The customer gets a receipt, or is asked for another card. */
  const checkout = (order: string): Effect.Effect<Receipt, Declined, Payments | HttpClient.HttpClient> =>
    charge(order).pipe(
      Effect.as<Receipt>({ order, charged: "now" }),
      Effect.catchTags({
        // The policy has let nothing through.
        CircuitOpen: later(order),
        BulkheadFull: later(order),
        Throttled: later(order),
        // It may have been charged or not: the key makes it safe to ask again.
        DeadlineExceeded: later(order),
        AttemptTimedOut: later(order),
        // All attempts that it was worth.
        Unavailable: later(order)
      })
    )

  // One fiber for all orders that are to be charged later. In an outage its calls are the probes of the breaker.
  yield* Queue.take(unpaid).pipe(
    Effect.flatMap((order) =>
      charge(order).pipe(
        Effect.retry({ schedule: again, while: ({ _tag }) => _tag !== "Declined" }),
        // Here a shop would write to its customer.
        Effect.catchAll(() => Effect.void)
      )
    ),
    Effect.zipRight(Effect.sync(() => owed--)),
    Effect.forever,
    Effect.forkScoped
  )

  return { checkout, owesNothing: Effect.sync(() => owed === 0) }
})

// -----------------------------------------------------------------------------
// a day
// -----------------------------------------------------------------------------

const orders = (name: string, count: number) => Array.makeBy(count, (index) => `${name} ${index}`)

const until = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  condition.pipe(
    Effect.repeat({ until: (holds) => holds, schedule: Schedule.spaced("10 millis") }),
    Effect.timeoutFail({ duration: "20 seconds", onTimeout: () => new Error("It did not come to pass") })
  )

const Report = Schema.Struct({
  requests: Schema.Array(
    Schema.Struct({
      order: Schema.String,
      status: Schema.Union(Schema.Number, Schema.Literal("no answer")),
      inOutage: Schema.Boolean
    })
  ),
  charged: Schema.Array(Schema.String),
  mostAtOnce: Schema.Number
})

const day = Effect.gen(function* () {
  const origin = yield* serverBeside(import.meta.url)
  const http = yield* HttpClient.HttpClient
  const breaker = yield* Effect.flatMap(Payments, ({ breaker }) => breaker)
  const changes: Array<CircuitBreaker.Transition> = []
  yield* breaker.transitions.pipe(
    Stream.runForEach((change) => Effect.sync(() => changes.push(change))),
    Effect.forkScoped
  )
  const openings = () => changes.filter(({ to }) => to === "Open").length
  const report = http.get(`${origin}/report`).pipe(Effect.flatMap(HttpClientResponse.schemaBodyJson(Report)))
  const { checkout, owesNothing } = yield* makeShop(origin)

  const declined = yield* Effect.forEach(orders("declined", 8), (order) => Effect.either(checkout(order)))
  const afterDeclined = yield* breaker.state

  const rush = yield* Effect.forEach(orders("rush", 20), checkout, { concurrency: "unbounded" })
  yield* until(owesNothing)
  const { mostAtOnce } = yield* report

  yield* http.post(`${origin}/outage`)
  const lost = yield* checkout("lost")
  const outage = yield* Effect.forEach(orders("outage", 30), checkout, { concurrency: permits })
  yield* until(Effect.sync(() => openings() >= 2))
  yield* http.post(`${origin}/recovery`)

  yield* until(owesNothing)
  const after = yield* checkout("after")
  const afterOutage = yield* breaker.state
  const { charged, requests } = yield* report
  const inOutage = requests.filter((request) => request.inOutage)
  const atMost = mostRequests(openings(), inOutage.filter(({ status }) => status === "no answer").length)
  return {
    declined,
    afterDeclined,
    rush,
    mostAtOnce,
    outage: [lost, ...outage],
    inOutage,
    atMost,
    changes,
    after,
    afterOutage,
    requests,
    charged
  }
})

export const program = day.pipe(
  Effect.scoped,
  Effect.provide(PaymentsLive),
  Effect.provide([FetchHttpClient.layer, NodeContext.layer])
)

const reasons = (receipts: ReadonlyArray<Receipt>) =>
  Object.entries(Array.groupBy(receipts, ({ because, charged }) => because ?? charged))
    .map(([reason, { length }]) => `${length} ${reason}`)
    .join(", ")

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  program.pipe(
    Effect.flatMap((day) =>
      Console.log(
        [
          `${day.declined.length} cards declined: the breaker is ${day.afterDeclined}`,
          `${day.rush.length} orders at once: ${reasons(day.rush)}; never more than ${day.mostAtOnce} at the service`,
          `${day.outage.length} orders in the outage: ${reasons(day.outage)}`,
          `They cost the service ${day.inOutage.length} requests, of ${day.atMost} at most: ${day.changes.map(({ to }) => to).join(", ")}`,
          `Now the breaker is ${day.afterOutage}, and ${day.charged.length} orders are charged, each of them once`
        ].join("\n")
      )
    ),
    NodeRuntime.runMain
  )
}
