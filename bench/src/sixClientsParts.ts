/**
 * Where the time of one run of the six-client storm goes: the same storm with less and less in it.
 *
 * `npm run bench -- sixClientsParts`
 */
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { Clients, Scenario, Service, Simulation, VirtualTime } from "@breakwater/simulation"
import { Effect, Random } from "effect"
import { median, timed } from "./measure.js"

const storm = (client: Scenario.Scenario["client"]) =>
  Scenario.make({
    name: "six clients",
    service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
    clients: Clients.together(6),
    client,
    until: "2 seconds"
  })

const byHand: Scenario.Scenario["client"] = (call) =>
  Effect.gen(function* () {
    for (let retries = 0; ; retries++) {
      const exit = yield* Effect.exit(call)
      if (exit._tag === "Success" || retries === 4) return yield* exit
      const random = yield* Random.next
      yield* Effect.sleep(Math.floor(random * (Math.min(800, 100 * 2 ** retries) + 1)))
    }
  })

const policy = Backoff.exponential({ base: "100 millis", cap: "800 millis" }).pipe(Jitter.full, Limit.attempts(5))

const simulate = (scenario: Scenario.Scenario) => (seed: number) => Effect.runSync(Simulation.run(scenario, { seed }))

const parts = {
  "an empty run": () => Effect.runSync(VirtualTime.run(Effect.void)),
  "six clients, one call each": simulate(storm((call) => call)),
  "the same, retried by a loop written by hand": simulate(storm(byHand)),
  "the same, retried by Effect.retry with our schedule": simulate(storm(Effect.retry(policy)))
}

const runs = 1000
for (const [part, run] of Object.entries(parts)) {
  const turns: Array<number> = []
  for (let turn = 0; turn < 7; turn++) {
    const millis = await timed(() => {
      for (let seed = 1; seed <= runs; seed++) run(seed)
    })
    turns.push((millis / runs) * 1000)
  }
  console.log(`${median(turns).toFixed(0).padStart(6)} us  ${part}`)
}
