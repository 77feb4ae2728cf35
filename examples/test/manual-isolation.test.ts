import { FetchHttpClient, HttpClient } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Schedule } from "effect"
import { start } from "../src/manual-isolation/main.js"

// Real time, real sockets, and the payments in a process of their own: what is counted holds on a machine however busy.
const options = { timeout: 60_000 }

const until = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  condition.pipe(
    Effect.repeat({ until: (holds) => holds, schedule: Schedule.spaced("10 millis") }),
    Effect.timeoutFail({ duration: "20 seconds", onTimeout: () => new Error("It did not come to pass") })
  )

describe("manual-isolation", () => {
  it.live(
    "cuts the payments off by hand and connects them again, and logs both",
    () => {
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(String(message)))

      return Effect.gen(function* () {
        const { origin, payments } = yield* start
        const http = yield* HttpClient.HttpClient
        const answer = (request: ReturnType<typeof http.get>) =>
          Effect.flatMap(request, ({ headers, status, text }) =>
            Effect.map(text, (body) => ({ status, body, retryAfter: headers["retry-after"] }))
          )
        const order = (name: string) => answer(http.post(`${origin}/orders/${name}`))
        const admin = (action: string) =>
          Effect.flatMap(http.post(`${origin}/admin/breakers/payments/${action}`), ({ json }) => json)
        const look = Effect.flatMap(http.get(`${origin}/admin/breakers/payments`), ({ json }) => json)
        const seen = Effect.flatMap(http.get(`${payments}/orders`), ({ json }) => json)

        const charged = { status: 200, body: "charged", retryAfter: undefined }
        const refused = { status: 503, body: 'The circuit breaker "payments" is open until it is reset', retryAfter: undefined }

        // Given: all is well, and a charge is under way.
        expect(yield* look).toEqual({ state: "Closed" })
        expect(yield* order("first")).toEqual(charged)
        const slow = yield* Effect.forkScoped(order("slow"))
        yield* until(Effect.map(seen, (orders) => Array.isArray(orders) && orders.includes("slow")))

        // When it is isolated, then orders are refused, and the payments see none of them.
        expect(yield* admin("isolate")).toEqual({ state: "Isolated" })
        expect(yield* look).toEqual({ state: "Isolated" })
        expect(yield* Effect.all([order("second"), order("third"), order("fourth")])).toEqual([refused, refused, refused])
        expect(yield* seen).toEqual(["first", "slow"])

        // What was under way before ends as it would have, and that it succeeds closes nothing.
        yield* http.post(`${payments}/release`)
        expect(yield* Fiber.join(slow)).toEqual(charged)
        expect(yield* order("fifth")).toEqual(refused)

        // When it is reset, then they are let through.
        expect(yield* admin("reset")).toEqual({ state: "Closed" })
        expect(yield* look).toEqual({ state: "Closed" })
        expect(yield* order("sixth")).toEqual(charged)
        expect(yield* seen).toEqual(["first", "slow", "sixth"])

        yield* until(Effect.sync(() => lines.length >= 2))
        expect(lines).toEqual(["breaker payments: Closed -> Isolated", "breaker payments: Isolated -> Closed"])
      }).pipe(Effect.scoped, Effect.provide([FetchHttpClient.layer, Logger.replace(Logger.defaultLogger, logger)]))
    },
    options
  )
})
