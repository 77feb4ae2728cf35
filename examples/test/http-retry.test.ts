import { NodeContext } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { program, server, summary } from "../src/http-retry/main.js"

// Real time, real sockets, and a server in its own process: no upper bound on any time holds on a busy machine.
const options = { timeout: 60_000 }

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe("http-retry", () => {
  it.live(
    "retries what is worth it, no earlier than the server says",
    () =>
      Effect.gen(function* () {
        const report = yield* program
        const { pid, requests, results } = report
        const of = (client: number) => requests.filter((request) => request.client === client)

        expect(results.map(({ status }) => status)).toEqual([200, 200, 400, 200, 200, 200])
        expect(results.map(({ succeeded }) => succeeded)).toEqual([true, true, false, true, true, true])

        expect(requests).toHaveLength(8)
        expect(results.map((_, client) => of(client).map(({ status }) => status))).toEqual([
          [429, 200],
          [503, 200],
          [400],
          [200],
          [200],
          [200]
        ])

        const [refused, again] = of(0)
        expect(again!.at - refused!.at).toBeGreaterThanOrEqual(1000)
        expect(summary(report)).toMatch(
          /^8 requests at the server, 5 of 6 clients succeeded, client 0 came back \d{4,} ms after its 429$/
        )
        expect(isAlive(pid)).toBe(false)
      }),
    options
  )

  it.live(
    "ends the server when it is interrupted",
    () =>
      Effect.gen(function* () {
        const started = yield* Deferred.make<number>()
        const run = server.pipe(
          Effect.flatMap(({ pid }) => Deferred.succeed(started, pid)),
          Effect.zipRight(Effect.never),
          Effect.scoped
        )
        const fiber = yield* Effect.fork(run)
        const pid = yield* Deferred.await(started).pipe(Effect.raceFirst(Fiber.join(fiber)))
        expect(isAlive(pid)).toBe(true)
        yield* Fiber.interrupt(fiber)
        expect(isAlive(pid)).toBe(false)
      }).pipe(Effect.provide(NodeContext.layer)),
    options
  )
})
