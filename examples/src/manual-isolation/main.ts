/**
 * An HTTP service that depends on payments, and a way for whoever is on duty to cut it off from them and to connect it again, without
 * a deployment: three routes that look at a breaker and steer it.
 *
 * By hand, after `npm run build`: `npx jiti examples/src/manual-isolation/main.ts`. It prints what to call.
 */
import { CircuitBreaker, Policy } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { FetchHttpClient, HttpClient, HttpRouter, HttpServer, HttpServerResponse } from "@effect/platform"
import { NodeContext, NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Console, Data, Duration, Effect, Layer, Stream } from "effect"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { serverBeside } from "../serverProcess.js"

export class Unavailable extends Data.TaggedError("Unavailable") {}

/** A service of its own, so that the routes get at it without the policy. */
export class PaymentsBreaker extends CircuitBreaker.Tag("payments")<PaymentsBreaker>() {}

export class Payments extends Policy.Tag("Payments")<Payments, Unavailable>() {}

const PaymentsLive = Payments.layer({
  schedule: Backoff.exponential({ base: "20 millis", cap: "200 millis" }).pipe(Jitter.full, Limit.attempts(3)),
  attemptTimeout: "10 seconds",
  breaker: PaymentsBreaker,
  log: false
})

const BreakerLive = PaymentsBreaker.layer({
  tripPolicy: CircuitBreaker.failureRate({ threshold: 0.5, window: "10 seconds", minimumCalls: 20 })
})

const charge = (payments: string, order: string) =>
  HttpClient.post(`${payments}/charges/${order}`).pipe(
    Effect.filterOrFail(
      ({ status }) => status === 200,
      () => new Unavailable()
    ),
    Effect.mapError(() => new Unavailable()),
    Payments.protect
  )

const refused = (status: number, error: Error, retryAfter: Duration.Duration = Duration.infinity) =>
  HttpServerResponse.text(error.message || error.name, {
    status,
    // Nobody knows for how long a breaker is isolated.
    headers: Duration.isFinite(retryAfter) ? { "Retry-After": String(Math.ceil(Duration.toSeconds(retryAfter))) } : {}
  })

const orders = (payments: string) =>
  HttpRouter.empty.pipe(
    HttpRouter.post(
      "/orders/:order",
      Effect.flatMap(HttpRouter.params, ({ order = "" }) => charge(payments, order)).pipe(
        Effect.as(HttpServerResponse.text("charged")),
        Effect.catchTag("CircuitOpen", (error) => refused(503, error, error.retryAfter)),
        Effect.catchAll((error) => refused(502, error))
      )
    )
  )

const state = Effect.flatMap(PaymentsBreaker, ({ state }) =>
  Effect.flatMap(state, (state) => HttpServerResponse.json({ state }))
)

/**
 * Of this process: with several of them, each has its breaker, and all have to be told. Whoever can reach these routes can stop the
 * payments, so in earnest they stand behind a login or listen on an address of their own.
 */
const admin = HttpRouter.empty.pipe(
  HttpRouter.get("/", state),
  HttpRouter.post(
    "/isolate",
    Effect.flatMap(PaymentsBreaker, ({ isolate }) => Effect.zipRight(isolate, state))
  ),
  HttpRouter.post(
    "/reset",
    Effect.flatMap(PaymentsBreaker, ({ reset }) => Effect.zipRight(reset, state))
  )
)

/** Every change of state, whoever or whatever has made it. */
const logged = Layer.scopedDiscard(
  Effect.flatMap(PaymentsBreaker, ({ name, transitions }) =>
    Effect.forkScoped(Stream.runForEach(transitions, ({ from, to }) => Effect.logWarning(`breaker ${name}: ${from} -> ${to}`)))
  )
)

const service = (payments: string) =>
  orders(payments).pipe(
    HttpRouter.mount("/admin/breakers/payments", admin),
    HttpServer.serve(),
    Layer.merge(logged),
    Layer.provide(PaymentsLive),
    Layer.provide(BreakerLive),
    Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
  )

/** The service and the payments behind it, for as long as the scope. */
export const start = Effect.gen(function* () {
  const payments = yield* serverBeside(import.meta.url)
  const running = yield* Layer.build(service(payments))
  const origin = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), running)
  return { origin, payments }
}).pipe(Effect.provide([FetchHttpClient.layer, NodeContext.layer]))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  start.pipe(
    Effect.tap(({ origin }) =>
      Console.log(
        [
          `curl -X POST ${origin}/orders/1`,
          `curl ${origin}/admin/breakers/payments`,
          `curl -X POST ${origin}/admin/breakers/payments/isolate`,
          `curl -X POST ${origin}/admin/breakers/payments/reset`
        ].join("\n")
      )
    ),
    Effect.zipRight(Effect.never),
    Effect.scoped,
    NodeRuntime.runMain
  )
}
