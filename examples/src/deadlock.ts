/**
 * A pool of connections, and requests that hold one while they wait for a second, for their log entry. With as many requests as
 * connections each holds one and nobody gets another. In real time such a program hangs, under load only, and says nothing;
 * in virtual time it ends at once, with the time and with what each fiber waits for.
 *
 * By hand, after `npm run build`: `npx jiti examples/src/deadlock.ts`
 */
import { VirtualTime } from "@breakwater/simulation"
import { Clock, Console, Effect } from "effect"
import { fileURLToPath } from "node:url"

/** Two requests at once. Gives the time at which both are done. */
export const twoRequests = (connections: number): Effect.Effect<number> =>
  Effect.gen(function* () {
    const pool = yield* Effect.makeSemaphore(connections)
    const logEntry = pool.withPermits(1)(Effect.sleep("5 millis"))
    const request = (name: string) =>
      pool
        .withPermits(1)(Effect.zipRight(Effect.sleep("20 millis"), logEntry))
        .pipe(Effect.withSpan(name))
    yield* Effect.all([request("order"), request("invoice")], { concurrency: "unbounded" })
    return yield* Clock.currentTimeMillis
  })

/** What a run of it says. */
export const report = (connections: number): Effect.Effect<string> =>
  VirtualTime.run(twoRequests(connections)).pipe(
    Effect.match({
      onFailure: (error) => error.message,
      onSuccess: (millis) => `Done after ${millis} ms.`
    })
  )

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  Effect.runSync(Effect.forEach([3, 2], (connections) => Effect.flatMap(report(connections), Console.log)))
}
