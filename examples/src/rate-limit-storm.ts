/**
 * Twenty clients and an API that admits five calls a second: what each way to come back costs, simulated.
 *
 * By hand, after `npm run build`: `npx jiti examples/src/rate-limit-storm.ts`
 */
import { Backoff, RetryAfter } from "@breakwater/schedule"
import { Clients, Scenario, Service, Simulation, Summary } from "@breakwater/simulation"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"

const quickly = Backoff.constant({ delay: "10 millis" })

const retryAfter = (failure: Service.Failure) => (failure._tag === "Refused" ? failure.retryAfter : undefined)

const policies = {
  "again after 10 ms": Effect.retry(quickly),
  "when the server says": Effect.retry(quickly.pipe(RetryAfter.respect({ of: retryAfter, jitter: 0 }))),
  "when the server says, and up to half of it later": Effect.retry(
    quickly.pipe(RetryAfter.respect({ of: retryAfter, jitter: 0.5 }))
  )
} satisfies Record<string, Scenario.Scenario["client"]>

const simulate = (name: string, client: Scenario.Scenario["client"]) =>
  Simulation.run(
    Scenario.make({
      name,
      service: Service.rateLimited({ permits: 5, per: "1 second", takes: 0 }),
      clients: Clients.together(20),
      client,
      until: "10 seconds"
    }),
    { seed: 1 }
  ).pipe(
    Effect.map(Summary.of),
    Effect.map(({ allSucceededAt, attempts, succeeded }) => ({ policy: name, attempts, succeeded, allSucceededAt }))
  )

export const program = Effect.forEach(Object.entries(policies), ([name, client]) => simulate(name, client))

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(Effect.runSync(program))
