// A storm of your own: who calls what, for how long, and the policies to compare.
import { Policy, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { Clients, type Scenario, Service } from "@breakwater/simulation"
import { OwnStorm } from "@breakwater/storm"
import { Effect } from "effect"

/** What can be varied from outside; the default export may also be the storm itself. */
interface Parameters {
  readonly clients?: number
}

const exponential = Backoff.exponential({ base: "100 millis", cap: "800 millis" })
const fullJitter = exponential.pipe(Jitter.full, Limit.attempts(5))

/** What clients share, a budget or a breaker, is made once for each run: by an effect. */
const withBudget = Effect.map(
  Policy.make({ schedule: fullJitter, budget: RetryBudget.ratio({ percent: 20 }), log: false }),
  (policy): Scenario.Client => Policy.protect(policy)
)

export default ({ clients = 6 }: Parameters) =>
  OwnStorm.make({
    name: "checkout at noon",
    service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
    clients: Clients.together(clients),
    until: "2 seconds",
    policies: {
      "no retry": { inWords: "One attempt, no retry.", client: (call) => call },
      exponential: {
        inWords: "Waits 100 ms, 200 ms, 400 ms, ... up to 800 ms, 5 attempts.",
        client: Effect.retry(exponential.pipe(Limit.attempts(5)))
      },
      "full jitter": { inWords: "Waits a random time up to that, 5 attempts.", client: Effect.retry(fullJitter) },
      "with a budget": { inWords: "The same, out of a budget of 20 % that all clients share.", client: withBudget }
    }
  })
