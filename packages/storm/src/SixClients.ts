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
import { Clients, Distribution, Scenario, Service, type Summary, Trace } from "@breakwater/simulation"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

const scenario = (name: string, client: Scenario.Scenario["client"], clients = 6): Scenario.Scenario =>
  Scenario.make({
    name,
    service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
    clients: Clients.together(clients),
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
    Storm.atMost("recovered at, ms", 750, 0, ({ summary }) => summary.allSucceededAt ?? NaN)
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
  replicas.flatMap((run) => run.allSucceededAt ?? [])

// -----------------------------------------------------------------------------
// storms of many runs
// -----------------------------------------------------------------------------

/** A band of 3.5 standard errors: a true figure lies outside once in 2,000 times. */
const band = (deviation: number, replicas: number, digits: number): number =>
  Number(((3.5 * deviation) / Math.sqrt(replicas)).toFixed(digits))

const share = (name: string, expected: number, replicas: number, holds: (run: Summary.Summary) => boolean): Storm.Figure =>
  Storm.within(name, expected, band(Math.sqrt(expected * (1 - expected)), replicas, 4), 4, (outcome) =>
    Distribution.share(outcome.replicas, holds)
  )

const meanAttempts = (expected: number, deviation: number, replicas: number): Storm.Figure =>
  Storm.within("mean attempts", expected, band(deviation, replicas, 3), 3, (outcome) =>
    Distribution.mean(outcome.replicas.map((run) => run.attempts))
  )

const medianAttempts = (expected: number): Storm.Figure =>
  Storm.exactly("median attempts", expected, ({ replicas }) =>
    Distribution.quantile(
      replicas.map((run) => run.attempts),
      0.5
    )
  )

const allGetThrough = (run: Summary.Summary): boolean => run.succeeded === run.operations

const runs = (replicas: number): string => `${replicas.toLocaleString("en-US")} runs`

const distributionOfRules = `${article}; distribution of its rules over at least 500,000 runs of an independent implementation, bands of 3.5 standard errors`

/**
 * The other jitters, in the storm of A5: figures and bands for so many runs.
 *
 * @category storms of many runs
 * @since 0.1.0
 */
export const otherJitters = (options: { readonly replicas: number }): ReadonlyArray<Storm.Storm> => {
  const { replicas } = options
  return [
    {
      id: "A6a",
      title: `Equal jitter, ${runs(replicas)}`,
      lesson: "Half of each wait for certain spreads the crowd over half the time: a quarter more calls than full jitter.",
      policy: "Waits half of min(800 ms, 100 ms × 2ⁿ) and a random share of the other half, 5 attempts.",
      scenario: scenario("equal jitter", Effect.retry(exponential.pipe(Jitter.equal, Limit.attempts(5)))),
      seed: 1,
      replicas,
      figures: [
        meanAttempts(25.818, 2.783, replicas),
        medianAttempts(24),
        share("P(all six get through)", 0.9897, replicas, allGetThrough)
      ],
      source: distributionOfRules
    },
    {
      id: "A6b",
      title: `Decorrelated jitter, ${runs(replicas)}`,
      lesson: "The first wait is up to three times as long, so the second wave is already thin. Nobody draws a wait near zero.",
      policy: "Waits a random time from 100 ms to three times the last wait, at most 800 ms, 5 attempts.",
      scenario: scenario(
        "decorrelated jitter",
        Effect.retry(Backoff.decorrelated({ base: "100 millis", cap: "800 millis" }).pipe(Limit.attempts(5)))
      ),
      seed: 1,
      replicas,
      figures: [
        meanAttempts(14.66, 2.783, replicas),
        medianAttempts(12),
        share("P(12 attempts)", 0.5116, replicas, (run) => run.attempts === 12),
        Storm.atLeast("P(all six get through)", 0.999, 4, (outcome) => Distribution.share(outcome.replicas, allGetThrough))
      ],
      source: distributionOfRules
    },
    {
      id: "A6c",
      title: `Plus or minus 20 %, ${runs(replicas)}`,
      lesson: "A fifth of a wait is less than a call takes: the waves stay waves, and in most runs someone never gets through.",
      policy: "Effect's own Schedule.jittered: waits 80 to 120 % of min(800 ms, 100 ms × 2ⁿ), 5 attempts.",
      scenario: scenario("plus or minus 20 %", Effect.retry(exponential.pipe(Schedule.jittered, Limit.attempts(5)))),
      seed: 1,
      replicas,
      figures: [
        meanAttempts(26.828, 2.299, replicas),
        medianAttempts(28),
        share("P(all six get through)", 0.3751, replicas, allGetThrough)
      ],
      source: distributionOfRules
    }
  ]
}

/**
 * A4 with more clients: how large a crowd full jitter and five attempts dissolve. Figures and bands for so many runs.
 *
 * @category storms of many runs
 * @since 0.1.0
 */
export const largerCrowds = (options: { readonly replicas: number }): ReadonlyArray<Storm.Storm> =>
  [
    { id: "A7a", clients: 8, expected: 0.9463 },
    { id: "A7b", clients: 10, expected: 0.7278 },
    { id: "A7c", clients: 12, expected: 0.4077 },
    { id: "A7d", clients: 20, expected: 0.001 }
  ].map(({ clients, expected, id }) => ({
    ...fullJitter,
    id,
    title: `Full jitter, ${clients} clients, ${runs(options.replicas)}`,
    lesson: "Jitter holds to about twice the capacity, not to five times. Beyond that only fewer calls help.",
    scenario: scenario(`full jitter, ${clients} clients`, Effect.retry(exponentialWithFullJitter), clients),
    seed: 1,
    replicas: options.replicas,
    figures: [share(`P(all ${clients} get through)`, expected, options.replicas, allGetThrough)],
    source: distributionOfRules
  }))
