import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { dialects, program } from "../src/rate-limit/main.js"

// Real time, real sockets, and a server in its own process: no upper bound on any time holds on a busy machine. That nobody waits
// for the six minutes shows in that this test ends.
const options = { timeout: 60_000 }

describe("rate-limit", () => {
  it.live(
    "comes back when the quota starts afresh, and not for a quota that is not used up",
    () =>
      Effect.gen(function* () {
        const requests = yield* program
        const of = (dialect: (typeof dialects)[number]) => requests.filter((request) => request.dialect === dialect)

        // A second refusal would say that the client came too early.
        expect(dialects.map((dialect) => of(dialect).map(({ status }) => status))).toEqual([
          [429, 200],
          [429, 200],
          [429, 200],
          [503, 200]
        ])

        for (const dialect of ["ietf", "openai"] as const) {
          const [refused, again] = of(dialect)
          expect(again!.at - refused!.at).toBeGreaterThanOrEqual(1000)
        }
        const [refused, again] = of("github")
        expect(again!.at).toBeGreaterThanOrEqual((Number(refused!.headers["x-ratelimit-reset"]) + 1) * 1000)
      }),
    options
  )
})
