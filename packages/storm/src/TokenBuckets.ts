/**
 * Brooker 2022, "Fixing retries with token buckets and circuit breakers": a server that fails each call with one probability, whatever
 * its load, and a hundred clients of about a hundred calls each. What a strategy costs when everything fails, and what it saves when
 * little does.
 *
 * ```text
 * strategy         a retry is granted while ...
 * none             never
 * three retries    the call has had fewer than three
 * token bucket     the client's bucket holds more than one token
 * retry breaker    the client's failures are at most 10 % of its first calls, and the call has had fewer than three
 * ```
 *
 * The last two are **model-only**. Their bucket gets its deposit when a call starts, and has a lid: `RetryBudget.ratio` deposits at the
 * start and has no lid, `RetryBudget.tokens` has a lid and pays for successes. Their breaker stops retries and lets every first call
 * through; a `CircuitBreaker` stops calls. Either is a ledger of a few lines, which the real `Retry` asks.
 *
 * One law holds for all of them, as each call succeeds by the same chance: success = (1 - f) · load.
 *
 * @since 0.1.0
 */
import { Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import { Clients, Latency, type Scenario, Service } from "@breakwater/simulation"
import * as Effect from "effect/Effect"
import { pipe } from "effect/Function"
import * as Random from "effect/Random"
import type * as Schedule from "effect/Schedule"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

/** Fails a share of its calls, at once; a network before it. */
const failing = (share: number): Service.Service =>
  pipe(
    Service.unlimited({ takes: 0 }),
    Service.failing({ share }),
    Service.remote({ hop: Latency.exponential({ mean: "10 millis" }) })
  )

/** How long calls begin, in microseconds; then those in flight end. */
const callsEnd = 10e6

/** About as many first calls as a run has. */
const calls = 10_000

/** So many clients that call once at the start, and then at random, together a thousand times a second. */
const callers = (count: number): Clients.Clients => {
  const later = Clients.openLoop({ rate: calls / 10 })
  return {
    ...later,
    description: `${count} clients, a call each at the start, then 1000 calls a second of them all, at random, for 10 seconds`,
    *arrivals(random) {
      for (let client = 0; client < count; client++) yield 0
      for (const at of later.arrivals(random)) {
        if (at >= callsEnd) return
        yield at
      }
    }
  }
}

/** Whose call it is: calls at random that fall to clients at random are as many independent clients. */
const callerOf = (call: number, count: number): Effect.Effect<number> =>
  call < count ? Effect.succeed(call) : Random.nextIntBetween(0, count)

const withoutLimit: Schedule.Schedule<unknown> = Backoff.constant({ delay: 0 })

const atMostThree: Schedule.Schedule<unknown> = withoutLimit.pipe(Limit.retries(3))

/** A budget of its own for each client. */
const budgeted =
  (schedule: Schedule.Schedule<unknown>, ledger: RetryBudget.Ledger) =>
  (count: number): Scenario.Scenario["client"] =>
    Effect.map(Effect.replicateEffect(RetryBudget.make(ledger), count), (budgets): Scenario.Client => {
      const policies = budgets.map((budget) => Retry.retry({ schedule, budget, log: false }))
      return (call, number) => Effect.flatMap(callerOf(number, count), (caller) => policies[caller]!(call))
    })

// -----------------------------------------------------------------------------
// ledgers of the model
// -----------------------------------------------------------------------------

const unchanged = <S>(state: S): S => state

const granted = <S>(state: S, amount: number) => ({ state, permit: { amount, slot: 0 } })

const size = 50

/** Five tokens, full at first: a tenth of one for each call that starts, one for a retry, and never the last one. In tenths. */
const bucket: RetryBudget.Ledger = {
  name: "bucket",
  initial: () => size,
  started: (tenths: number) => Math.min(size, tenths + 1),
  settled: unchanged,
  ended: unchanged,
  retry: (tenths: number) => (tenths > 10 ? granted(tenths - 10, 10) : undefined),
  returned: (tenths: number, { amount }) => tenths + amount,
  balance: (tenths: number) => Math.ceil(tenths / 10) - 1
}

interface Calls {
  readonly first: number
  readonly failed: number
}

const few = ({ failed, first }: Calls): boolean => 10 * failed <= first

/** Retries while at most 10 % of the first calls have failed, retries that failed included; nothing is ever forgotten. */
const breaker: RetryBudget.Ledger = {
  name: "breaker",
  initial: (): Calls => ({ first: 0, failed: 0 }),
  started: ({ failed, first }: Calls) => ({ first: first + 1, failed }),
  settled: ({ failed, first }: Calls, outcome) => ({ first, failed: outcome === "failure" ? failed + 1 : failed }),
  ended: unchanged,
  retry: (state: Calls) => (few(state) ? granted(state, 0) : undefined),
  returned: unchanged,
  balance: (state: Calls) => (few(state) ? Infinity : 0)
}

// -----------------------------------------------------------------------------
// figures
// -----------------------------------------------------------------------------

const round4 = (value: number): number => Number(value.toFixed(4))

/** 3.5 standard errors of a mean over the first calls. */
const chance = (deviation: number): number => (3.5 * deviation) / Math.sqrt(calls)

/** Of what happens with this probability. */
const deviationOf = (probability: number): number => Math.sqrt(probability * (1 - probability))

const success = (expected: number, tolerance: number): Storm.Figure =>
  Storm.within("success", round4(expected), round4(tolerance), 4, ({ summary }) =>
    round4(summary.succeeded / summary.operations)
  )

const load = (expected: number, tolerance: number): Storm.Figure =>
  Storm.within("load", round4(expected), round4(tolerance), 4, ({ summary }) => round4(summary.amplification))

/** The law. Its band is that of the share of so many calls. */
const successPerCall = (share: number, expectedLoad: number): Storm.Figure =>
  Storm.within(
    "success per call",
    round4(1 - share),
    round4(chance(deviationOf(share) / Math.sqrt(expectedLoad))),
    4,
    ({ summary }) => round4(summary.succeeded / summary.attempts)
  )

// -----------------------------------------------------------------------------
// strategies
// -----------------------------------------------------------------------------

const brooker = "Brooker 2022, Fixing retries with token buckets and circuit breakers"

const percent = (share: number): number => Number((100 * share).toFixed(2))

interface Described extends Pick<Storm.Storm, "id" | "lesson" | "policy" | "figures" | "source"> {
  readonly strategy: string
  readonly share: number
  readonly count?: number
  readonly client: (count: number) => Scenario.Scenario["client"]
}

const storm = ({ client, count = 100, share, strategy, ...described }: Described): Storm.Storm =>
  Storm.once({
    ...described,
    title: `${strategy}, ${percent(share)} % fail`,
    service: failing(share),
    clients: callers(count),
    client: client(count),
    // The last calls have a second to end: fifty times what one takes.
    until: "11 seconds"
  })

/**
 * @category strategies
 * @since 0.1.0
 */
export const withoutRetries = (share: number): Storm.Storm =>
  storm({
    id: `T1-${percent(share)}`,
    strategy: "No retries",
    lesson: "What fails, fails: the measure of what retries add, and of what they save.",
    policy: "No retries.",
    share,
    client: () => unchanged,
    figures: [success(1 - share, chance(deviationOf(share))), load(1, 0)],
    source: `${brooker}: 1 - f; band of 3.5 standard errors`
  })

/**
 * @category strategies
 * @since 0.1.0
 */
export const threeRetries = (share: number): Storm.Storm => {
  const reached = [1, share, share ** 2, share ** 3]
  const attempts = reached.reduce((sum, next) => sum + next)
  const squares = reached.reduce((sum, next, index) => sum + (2 * index + 1) * next, 0)
  const allFail = share ** 4
  return storm({
    id: `T2-${percent(share)}`,
    strategy: "Three retries each",
    lesson: "The best there is while little fails, and four times the load when everything does.",
    policy: "3 retries, at once.",
    share,
    client: () => Retry.retry({ schedule: atMostThree, log: false }),
    figures: [
      success(1 - allFail, chance(deviationOf(allFail))),
      load(attempts, chance(Math.sqrt(squares - attempts ** 2))),
      successPerCall(share, attempts)
    ],
    source: `${brooker}: 1 - f⁴ and 1 + f + f² + f³; bands of 3.5 standard errors`
  })
}

/**
 * What the model gave: means of three runs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Sample {
  readonly success: number
  readonly load: number
}

/** By how much the three runs of a mean differed at most. */
const spread: Sample = { success: 0.004, load: 0.015 }

const sampledSource = `${brooker}; means of three runs of its model, in bands of their spread, ${spread.success} and ${spread.load}, and 3.5 standard errors of this run, its retries taken as events at random`

const sampledLoad = (expected: number): Storm.Figure => load(expected, spread.load + chance(Math.sqrt(expected - 1)))

const sampled = (share: number, expected: Sample): ReadonlyArray<Storm.Figure> => [
  success(expected.success, spread.success + chance(deviationOf(expected.success))),
  sampledLoad(expected.load),
  successPerCall(share, expected.load)
]

interface Bucket extends Pick<Described, "id" | "strategy" | "lesson" | "share" | "figures"> {
  readonly count?: number
}

const ofBuckets = (described: Bucket): Storm.Storm =>
  storm({
    ...described,
    policy:
      "Model-only: retries at once, without limit, out of a bucket of 5 tokens for each client, which begins full: a tenth of one for each call that starts, one for a retry, and never the last one.",
    client: budgeted(withoutLimit, bucket),
    source: sampledSource
  })

/**
 * @category strategies
 * @since 0.1.0
 */
export const tokenBucket = (share: number, sample: Sample): Storm.Storm =>
  ofBuckets({
    id: `T3-${percent(share)}`,
    strategy: "A token bucket each (model-only)",
    lesson:
      "While a tenth of the calls can be retried, nearly all are saved. When everything fails, a tenth more is sent, and what the bucket began with.",
    share,
    figures: sampled(share, sample)
  })

/**
 * @category strategies
 * @since 0.1.0
 */
export const retryBreaker = (share: number, sample: Sample): Storm.Storm =>
  storm({
    id: `T4-${percent(share)}`,
    strategy: "A breaker of retries each (model-only)",
    lesson: "All or nothing: beyond its threshold nobody is retried, and a client with few calls is beyond it by accident.",
    policy: "Model-only: 3 retries, at once; none for a client of whose first calls more than 10 % have failed since it began.",
    share,
    client: budgeted(atMostThree, breaker),
    figures: sampled(share, sample),
    source: sampledSource
  })

// -----------------------------------------------------------------------------
// number of clients
// -----------------------------------------------------------------------------

/**
 * What the full bucket gives to each of them. With n calls that all fail, a client has 4 retries at first and (n - 1) / 10 more,
 * rounded up: 3.9 to 4.8 beyond a tenth of its calls.
 */
const gift = (count: number): Storm.Figure =>
  Storm.within("gift to each, retries", 4.35, 0.45, 2, ({ summary }) => (summary.retries - 0.1 * summary.operations) / count)

/**
 * As many calls of so many clients, all of which fail: the load is 1.1 and what the full buckets of the start give.
 *
 * @category number of clients
 * @since 0.1.0
 */
export const clientsWithBuckets = (count: number, expected: number): Storm.Storm =>
  ofBuckets({
    id: `T5-${count}`,
    strategy: `A token bucket for each of ${count} (model-only)`,
    lesson: "A bucket that begins full is a gift to each client. Among many small clients the gifts are most of the retries.",
    share: 1,
    count,
    figures: [sampledLoad(expected), gift(count)]
  })

// -----------------------------------------------------------------------------
// all of them
// -----------------------------------------------------------------------------

/**
 * What the model gave for each share of calls that fail.
 *
 * @category storms
 * @since 0.1.0
 */
export const samples: ReadonlyArray<{ readonly share: number; readonly bucket: Sample; readonly breaker: Sample }> = [
  { share: 0.01, bucket: { success: 1, load: 1.01 }, breaker: { success: 0.9987, load: 1.01 } },
  { share: 0.05, bucket: { success: 0.9998, load: 1.057 }, breaker: { success: 0.985, load: 1.038 } },
  { share: 0.1, bucket: { success: 0.992, load: 1.101 }, breaker: { success: 0.931, load: 1.033 } },
  { share: 0.2, bucket: { success: 0.906, load: 1.134 }, breaker: { success: 0.8, load: 1.003 } },
  { share: 0.3, bucket: { success: 0.798, load: 1.14 }, breaker: { success: 0.697, load: 1.001 } },
  { share: 0.5, bucket: { success: 0.572, load: 1.142 }, breaker: { success: 0.501, load: 1 } },
  { share: 0.75, bucket: { success: 0.285, load: 1.143 }, breaker: { success: 0.25, load: 1 } },
  { share: 1, bucket: { success: 0, load: 1.142 }, breaker: { success: 0, load: 1 } }
]

/**
 * Every strategy against a share of calls that fail.
 *
 * @category storms
 * @since 0.1.0
 */
export const strategies = ({ breaker, bucket, share }: (typeof samples)[number]): ReadonlyArray<Storm.Storm> => [
  withoutRetries(share),
  threeRetries(share),
  tokenBucket(share, bucket),
  retryBreaker(share, breaker)
]

/** Where the strategies part: a passing fault, a large one, an outage. */
const shown = samples.filter(({ share }) => [0.05, 0.2, 1].includes(share))

/**
 * A part of the table, and the number of clients.
 *
 * @category storms
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm.Storm> = [
  withoutRetries(0.2),
  ...shown.flatMap((row) => strategies(row).slice(1)),
  clientsWithBuckets(10, 1.104),
  clientsWithBuckets(1000, 1.492)
]
