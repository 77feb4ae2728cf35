import { describe, expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { Declined, program } from "../src/payments/main.js"

// Real time, real sockets, and a server in its own process: what is counted holds on a machine however busy.
const options = { timeout: 60_000 }

const named = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name} ${index}`)

describe("payments", () => {
  it.live(
    "takes every order whatever happens to the service, which is left alone while it is down, and charges each once",
    () =>
      Effect.gen(function* () {
        const { changes, declined, inOutage, outage, rush, ...day } = yield* program
        const requestsOf = (order: string) => day.requests.filter((request) => request.order === order)

        // A card that is declined is asked for once, passes as it is, and opens nothing, however many there are.
        const refused = named("declined", 8)
        expect(declined).toEqual(refused.map((order) => Either.left(new Declined({ order }))))
        expect(refused.flatMap(requestsOf).map(({ status }) => status)).toEqual(refused.map(() => 402))
        expect(day.afterDeclined).toBe("Closed")

        // A rush: four run, four wait, and no other disturbs them. What comes when one of them has ended is let through.
        expect(rush.map(({ order }) => order)).toEqual(named("rush", 20))
        const notNow = rush.filter(({ charged }) => charged === "later")
        expect(notNow.length).toBeGreaterThan(0)
        expect(notNow.length).toBeLessThanOrEqual(20 - 4 - 4)
        expect(new Set(notNow.map(({ because }) => because))).toEqual(new Set(["BulkheadFull"]))
        expect(day.mostAtOnce).toBeLessThanOrEqual(4)

        // An outage: every order is taken, and the service sees less of them than one request each.
        expect(outage.map(({ charged }) => charged)).toEqual(outage.map(() => "later"))
        expect(["DeadlineExceeded", "AttemptTimedOut"]).toContain(outage[0]!.because)
        expect(outage.filter(({ because }) => because === "CircuitOpen").length).toBeGreaterThan(0)
        expect(inOutage.length).toBeGreaterThanOrEqual(5)
        expect(inOutage.length).toBeLessThanOrEqual(day.atMost)
        expect(inOutage.length).toBeLessThan(outage.length)
        expect(inOutage.filter(({ status }) => status === "no answer")).toHaveLength(2)

        // It has opened again for each probe that failed, and closed when one succeeded: nobody has reset it.
        const states = ["Closed", ...changes.map(({ to }) => to)].join(" ")
        expect(states).toMatch(/^Closed( Open HalfOpen){2,} Closed$/)
        expect([day.after.charged, day.afterOutage]).toEqual(["now", "Closed"])

        // Also the one whose answers were lost, for which the service was asked more than once.
        expect(requestsOf("lost").length).toBeGreaterThan(1)
        const bought = [...named("rush", 20), "lost", ...named("outage", 30), "after"]
        expect([...day.charged].sort()).toEqual(bought.sort())
      }),
    options
  )
})
