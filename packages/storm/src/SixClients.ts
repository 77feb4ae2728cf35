/**
 * Six clients, one operation each, against a service that carries four calls at once: the storms of "Retry with Backoff &
 * Jitter" (Animated Architecture Patterns), which alone show why one retries, why one waits, and why one waits at random.
 *
 * The rules of the model:
 * 1. All first attempts start at 0. A client learns the outcome of a call 100 ms after its start, success or not.
 * 2. A call is in flight over the half-open interval [start, start + 100 ms).
 * 3. A start that makes more than four calls in flight dooms every one of them: each keeps its slot, then times out.
 * 4. An attempt counts if it starts before 2 s, an outcome if it is there by then.
 *
 * @since 0.1.0
 */
import { Backoff, Jitter, Limit, RetryAfter } from "@breakwater/schedule"
import { Clients, Distribution, Scenario, Service, Trace } from "@breakwater/simulation"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

const scenario = (name: string, client: Scenario.Scenario["client"]): Scenario.Scenario =>
  Scenario.make({
    name,
    service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
    clients: Clients.together(6),
    client,
    until: "2 seconds"
  })

const article = `"Retry with Backoff & Jitter", Animated Architecture Patterns`

const attempts = ({ summary }: Storm.Outcome) => summary.attempts
const succeeded = ({ summary }: Storm.Outcome) => summary.succeeded

// -----------------------------------------------------------------------------
// policies
// -----------------------------------------------------------------------------

const exponential = Backoff.exponential({ base: "100 millis", cap: "800 millis" })

const exponentialWithFullJitter = exponential.pipe(Jitter.full, Limit.attempts(5))

/** What a later attempt can change: a time-out, being throttled, a passing fault of the server. */
const isWorthRetrying = (failure: Service.Failure): boolean =>
  failure._tag === "TimedOut" || [408, 429, 502, 503, 504].includes(failure.status)

const selective = exponential.pipe(
  RetryAfter.respect({
    of: (failure: Service.Failure) => (failure._tag === "Refused" ? failure.retryAfter : undefined),
    // Exactly when the server says, so that the figure is exact; by default up to a tenth is added.
    jitter: 0
  }),
  Limit.attempts(5),
  Schedule.whileInput(isWorthRetrying)
)

// -----------------------------------------------------------------------------
// storms
// -----------------------------------------------------------------------------

/**
 * One throttled, one hit by a passing fault, one wrong for good, three fine: what is worth retrying, and when.
 *
 * @category storms
 * @since 0.1.0
 */
export const whatToRetry: Storm.Storm = {
  id: "A1",
  title: "What to retry",
  lesson: "A passing fault is retried, a throttled call when the server says, a wrong request never.",
  policy:
    "Retries 408, 429, 502, 503, 504 and time-outs, never 400. Waits min(800 ms, 100 ms × 2ⁿ), and at least as long as Retry-After says.",
  scenario: Scenario.make({
    name: "what to retry",
    service: Service.scripted({
      slots: 4,
      takes: "100 millis",
      script: [
        [Service.refused(429, "1 second"), "ok"],
        [Service.refused(503), "ok"],
        [Service.refused(400)],
        ["ok"],
        ["ok"],
        ["ok"]
      ]
    }),
    clients: Clients.staggered(6, "50 millis"),
    client: Effect.retry(selective),
    until: "2 seconds"
  }),
  seed: 1,
  replicas: 0,
  figures: [
    Storm.exactly("attempts", 8, attempts),
    Storm.exactly("succeeded", 5, succeeded),
    Storm.exactly("attempts after the 429", 2, ({ trace }) => attemptsOf(trace, 0)),
    Storm.exactly("ms from the 429 to its retry", 1000, ({ trace }) => waitBeforeRetry(trace, 0)),
    Storm.exactly("ms from the 503 to its retry", 100, ({ trace }) => waitBeforeRetry(trace, 1)),
    Storm.exactly("attempts after the 400", 1, ({ trace }) => attemptsOf(trace, 2)),
    Storm.atMost("peak in flight", 4, 0, ({ summary }) => summary.peakInFlight)
  ],
  source: article
}

const attemptsOf = (trace: Trace.Trace, client: number): number => Trace.operations(trace)[client]!.attempts.length

const waitBeforeRetry = (trace: Trace.Trace, client: number): number => {
  const [first, second] = Trace.operations(trace)[client]!.attempts
  return (second!.startedAt - first!.endedAt!) / 1000
}

/**
 * @category storms
 * @since 0.1.0
 */
export const retryAtOnce: Storm.Storm = {
  id: "A2",
  title: "Retry at once",
  lesson: "Six clients stay six in flight: the retries keep the service in the overload that fails them.",
  policy: "Retries at once, without limit.",
  scenario: scenario("retry at once", Effect.retry(Schedule.forever)),
  seed: 1,
  replicas: 0,
  figures: [Storm.exactly("attempts", 120, attempts), Storm.exactly("succeeded", 0, succeeded)],
  source: article
}

/**
 * @category storms
 * @since 0.1.0
 */
export const exponentialBackoff: Storm.Storm = {
  id: "A3",
  title: "Exponential backoff",
  lesson: "Clients that failed together come back together. Waiting longer makes fewer waves; every wave still fails.",
  policy: "Waits min(800 ms, 100 ms × 2ⁿ).",
  scenario: scenario("exponential backoff", Effect.retry(exponential)),
  seed: 1,
  replicas: 0,
  figures: [
    Storm.exactly("attempts", 30, attempts),
    Storm.exactly("succeeded", 0, succeeded),
    ...[0, 200, 500, 1000, 1900].map((at, wave) =>
      Storm.exactly(`wave ${wave + 1} at, ms`, at, ({ trace }) =>
        // Of all six clients or of none: a wave that has dissolved has no time.
        Trace.operations(trace)
          .map((operation) => (operation.attempts[wave]?.startedAt ?? NaN) / 1000)
          .reduce((one, other) => (one === other ? one : NaN))
      )
    )
  ],
  source: article
}

/**
 * @category storms
 * @since 0.1.0
 */
export const fullJitter: Storm.Storm = {
  id: "A4",
  title: "Full jitter, one run",
  lesson: "The same backoff drawn at random: the crowd dissolves, and the service that failed everyone carries everyone.",
  policy: "Waits a random time from 0 to min(800 ms, 100 ms × 2ⁿ), 5 attempts.",
  scenario: scenario("full jitter", Effect.retry(exponentialWithFullJitter)),
  // Chosen because it repeats the article's picture: five clients get through on attempt 3, one on attempt 4.
  seed: 6,
  replicas: 0,
  figures: [
    Storm.exactly("attempts", 19, attempts),
    Storm.exactly("succeeded", 6, succeeded),
    Storm.exactly("clients done on attempt 3", 5, ({ trace }) => doneOn(trace, 3)),
    Storm.exactly("clients done on attempt 4", 1, ({ trace }) => doneOn(trace, 4)),
    Storm.atMost("recovered at, ms", 750, 0, ({ summary }) => summary.recoveredAt ?? NaN)
  ],
  source: article
}

const doneOn = (trace: Trace.Trace, attempt: number): number =>
  Trace.operations(trace).filter(({ attempts, outcome }) => outcome === "succeeded" && attempts.length === attempt).length

/**
 * @category storms
 * @since 0.1.0
 */
export const fullJitterManySeeds: Storm.Storm = {
  ...fullJitter,
  id: "A5",
  title: "Full jitter, 20,000 runs",
  lesson:
    "One run is an anecdote. All six get through in more than 99 runs of 100, at about a sixth of the load of retrying at once.",
  replicas: 20_000,
  figures: [
    Storm.within("P(18 attempts)", 0.405, 0.0125, 4, ({ replicas }) =>
      Distribution.share(replicas, (run) => run.attempts === 18)
    ),
    Storm.within("P(≤ 19 attempts)", 0.511, 0.0125, 4, ({ replicas }) =>
      Distribution.share(replicas, (run) => run.attempts <= 19)
    ),
    Storm.exactly("median attempts", 19, ({ replicas }) =>
      Distribution.quantile(
        replicas.map((run) => run.attempts),
        0.5
      )
    ),
    Storm.within("mean attempts", 20.77, 0.08, 3, ({ replicas }) => Distribution.mean(replicas.map((run) => run.attempts))),
    Storm.atLeast("P(all six get through)", 0.996, 4, ({ replicas }) =>
      Distribution.share(replicas, (run) => run.succeeded === 6)
    ),
    Storm.within("recovery, p50, ms", 718, 12, 0, ({ replicas }) => Distribution.quantile(recoveries(replicas), 0.5)),
    Storm.within("recovery, p95, ms", 1083, 25, 0, ({ replicas }) => Distribution.quantile(recoveries(replicas), 0.95))
  ],
  source: `${article}; distribution of its rules over 20,000 seeds, bands of 3.5 standard errors, from an independent implementation`
}

/** Recovery times of the runs that recovered. */
const recoveries = (replicas: Storm.Outcome["replicas"]): ReadonlyArray<number> =>
  replicas.flatMap((run) => run.recoveredAt ?? [])
