/**
 * Which numbers for a dependency: what is measured of it, what follows from that, and what the simulator says about the rest. The page
 * docs/choosing-numbers.md explains this program and quotes what it prints.
 *
 * By hand, after `npm run build`: `npx jiti examples/src/choosing-numbers.ts`
 */
import { CircuitBreaker, Policy, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { Clients, Distribution, Latency, Recovery, Scenario, Service, Simulation, Trace } from "@breakwater/simulation"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"

// -----------------------------------------------------------------------------
// the dependency, as far as it is known
// -----------------------------------------------------------------------------

/** Three workers of 45 ms on average: 66 calls a second. Calls wait in its queue, and it works on those whose caller has gone. */
const stock = Service.queue({ servers: 3, takes: Latency.logNormal({ median: "40 millis", sigma: 0.5 }), limit: 500 })

/** Two processes of ours call it, 20 times a second each. */
const processes = 2
const usual = Clients.openLoop({ rate: 40 })

const bad = { from: "5 seconds", to: "15 seconds" } as const
const days = {
  calm: { service: stock, clients: usual },
  /** Half a second of 503. */
  blip: { service: Service.outage(stock, { from: "5 seconds", to: "5.5 seconds", how: Service.refused(503) }), clients: usual },
  /** It no longer answers. */
  outage: { service: Service.outage(stock, { ...bad, how: "hang" }), clients: usual },
  /** It is well, and three times as much is wanted of it. */
  overload: { service: stock, clients: Clients.flashCrowd({ rate: 40, spike: 120, ...bad }) }
}
type Day = keyof typeof days

// -----------------------------------------------------------------------------
// the candidates
// -----------------------------------------------------------------------------

type Settings = Policy.Settings<Service.Failure>

const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Jitter.full, Limit.attempts(3))

/** What stands in many programs: two seconds, because two seconds sounds right. */
const guessed: Settings = { schedule, attemptTimeout: "2 seconds" }

const measured: Settings = {
  schedule,
  attemptTimeout: "300 millis",
  deadline: "1.2 seconds",
  budget: RetryBudget.ratio({ percent: 10 })
}

const withBulkhead = (permits: number): Settings => ({ ...measured, bulkhead: { permits, queue: permits } })

const withBreaker = (tripPolicy: CircuitBreaker.TripPolicy): Settings => ({
  ...withBulkhead(4),
  breaker: { tripPolicy, openDuration: "2 seconds" }
})

const halfOf = (window: `${number} seconds`) => CircuitBreaker.failureRate({ threshold: 0.5, window, minimumCalls: 20 })

/** The decision. */
export const chosen: Settings = withBreaker(halfOf("4 seconds"))

// -----------------------------------------------------------------------------
// a run and its figures
// -----------------------------------------------------------------------------

/** Each process has a policy of its own. */
const fleet = (settings: Settings): Scenario.Scenario["client"] =>
  Effect.map(
    Effect.replicateEffect(Policy.make({ ...settings, log: false }), processes),
    (policies): Scenario.Client =>
      (call, client) =>
        Policy.protect(call, policies[client % processes]!)
  )

const simulate = (day: Day, settings: Settings, seed: number) =>
  Effect.runSync(
    Simulation.run(Scenario.make({ name: day, ...days[day], client: fleet(settings), until: "30 seconds" }), { seed })
  )

const millis = ({ endedAt = 30e6, startedAt }: { readonly startedAt: number; readonly endedAt: number | undefined }) =>
  (endedAt - startedAt) / 1000

/** Of the operations that began while it was bad, or would have been. */
const figures = (day: Day, settings: Settings, seed: number) => {
  const trace = simulate(day, settings, seed)
  const operations = Trace.operations(trace).filter(({ startedAt }) => startedAt >= 5e6 && startedAt < 15e6)
  const attempts = operations.flatMap(({ attempts }) => attempts)
  const waits = operations.map(millis)
  const recovery = Recovery.of(trace, { after: bad.to, window: "500 millis", windows: 4 })
  return {
    operations: operations.length,
    answered: operations.filter(({ outcome }) => outcome === "succeeded").length,
    /** What a breaker or a bulkhead did not let through, so that nothing was sent. */
    refused: operations.filter(({ attempts }) => attempts.length === 0).length,
    calls: attempts.length,
    cut: attempts.filter(({ outcome }) => outcome === "interrupted").length,
    median: Math.round(Distribution.quantile(waits, 0.5)),
    p99: Math.round(Distribution.quantile(waits, 0.99)),
    wellAgain: recovery?._tag === "Recovered" ? `${recovery.after / 1000} s` : "not in 15 s"
  }
}

// -----------------------------------------------------------------------------
// what the page asks
// -----------------------------------------------------------------------------

/** What a client sees of it on a usual day, in milliseconds. */
export const observed = () => {
  const calls = Trace.operations(simulate("calm", {}, 1)).map(millis)
  return {
    mean: Math.round(Distribution.mean(calls)),
    p50: Math.round(Distribution.quantile(calls, 0.5)),
    p99: Math.round(Distribution.quantile(calls, 0.99)),
    p999: Math.round(Distribution.quantile(calls, 0.999))
  }
}

export const attemptTimeouts = () =>
  ([100, 300, 2000] as const).map((attemptTimeout) => {
    const settings = { schedule, attemptTimeout }
    const { calls, cut } = figures("calm", settings, 1)
    const { p99 } = figures("outage", settings, 1)
    return { attemptTimeout, calls, cut, p99 }
  })

export const permits = () =>
  [2, 4, 8, 16].map((permits) => {
    const { refused } = figures("calm", withBulkhead(permits), 1)
    const { answered, p99 } = figures("overload", withBulkhead(permits), 1)
    return { permits, refused, answered, p99 }
  })

export const tripPolicies = () =>
  Object.entries({
    "5 in a row": CircuitBreaker.consecutive(5),
    "half of 4 s": halfOf("4 seconds"),
    "half of 10 s": halfOf("10 seconds")
  }).map(([tripPolicy, policy]) => {
    const { answered, operations } = figures("blip", withBreaker(policy), 1)
    const { calls } = figures("outage", withBreaker(policy), 1)
    return { tripPolicy, failed: operations - answered, calls }
  })

/** Each candidate has what the one before has, and one thing more. */
export const comparison = (day: "outage" | "overload", seed = 1) =>
  Object.entries({ guessed, measured, "with a bulkhead": withBulkhead(4), "with a breaker too": chosen }).map(
    ([policy, settings]) => {
      const { answered, calls, median, operations, p99, refused, wellAgain } = figures(day, settings, seed)
      return { policy, answered, refused, "calls each": (calls / operations).toFixed(2), median, p99, wellAgain }
    }
  )

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.table([observed()])
  for (const question of [attemptTimeouts, permits, tripPolicies]) console.table(question())
  for (const day of ["outage", "overload"] as const) {
    console.log(day)
    console.table(comparison(day))
  }
}
