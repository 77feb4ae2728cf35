import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits, program, quiet } from "../src/tenants/main.js"

// Real time, real sockets, and a server in its own process: what is counted holds on a machine however busy.
const options = { timeout: 60_000 }

describe("tenants", () => {
  it.live(
    "a tenant whose shard is down disturbs nobody; the retries of all have one bound, and so have the policies",
    () =>
      Effect.gen(function* () {
        const { breakers, noisy, noisyAfterStrangers, others, retriesLeft, shards, strangers } = yield* program
        const [first, then] = noisy
        const requestsOf = (tenant: string) => shards[tenant]!.requests

        // Of forty calls at once three get through; when they have failed often enough, none of the next forty does.
        const sent = first.filter((outcome) => outcome !== "BulkheadFull")
        expect(first.length - sent.length).toBeGreaterThan(0)
        expect(sent).toEqual(sent.map(() => "Unavailable"))
        expect(then).toEqual(then.map(() => "CircuitOpen"))
        expect(shards["noisy"]!.mostAtOnce).toBeLessThanOrEqual(limits.permits)
        // The failures that open the breaker, and who has a permit beside the last of them.
        expect(requestsOf("noisy")).toBeGreaterThanOrEqual(limits.failures)
        expect(requestsOf("noisy")).toBeLessThanOrEqual(limits.failures + limits.permits - 1)

        // The others: every call is served, the first with a retry.
        expect(others).toEqual(quiet.map(() => Array.from({ length: 40 }, () => "served")))
        expect(quiet.map(requestsOf)).toEqual(quiet.map(() => 41))
        expect(breakers).toEqual(["Open", "Closed", "Closed", "Closed"])

        // One budget: what the server saw of all tenants beyond their first attempts is what is gone.
        const retries = requestsOf("noisy") - sent.length + quiet.length
        expect(retriesLeft).toBe(limits.retries - retries)
        // So it also ends for all. Of the strangers, who need a retry each, as many are served as were left.
        expect(strangers.filter(({ outcome }) => outcome === "served")).toHaveLength(retriesLeft)
        const seen = Object.keys(shards).filter((tenant) => tenant.startsWith("stranger"))
        expect(seen).toHaveLength(50)
        expect(seen.map(requestsOf).reduce((sum, requests) => sum + requests)).toBe(50 + retriesLeft)

        // Four keys and fifty more; whoever has to make room is begun anew.
        expect(Math.max(...strangers.map(({ keys }) => keys))).toBe(limits.maxKeys)
        expect(noisyAfterStrangers).toBe("Closed")
      }),
    options
  )
})
