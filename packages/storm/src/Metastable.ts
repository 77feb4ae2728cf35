/**
 * Overloads that outlive what caused them. A server that carries more than all its clients want falls behind in an outage; when
 * the outage is over, the retries of those who wait too long are work enough to keep it behind.
 *
 * ```text
 * stable       (1 + r) λ < C        whatever happens, it recovers
 * vulnerable    λ < C < (1 + r) λ   all is well, until an outage lasts longer than D*
 * metastable                        the outage is over, and nothing but less load, or fewer retries, will end it
 * ```
 *
 * λ is what clients ask for in a second, each with r retries, and C what the server can carry. The model: one server, first
 * come, first served, that does not notice when a caller has gone. Clients come evenly spaced, wait for an attempt for T = 1 s,
 * and try again at once. For the time D of the outage the server does nothing while its queue grows. Chance plays no part.
 *
 * @since 0.1.0
 */
import { Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import { Clients, Recovery, type Scenario, Service, type Trace } from "@breakwater/simulation"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

/** T, in seconds. */
const limit = 1

/** C: one call in 3.333 ms, the whole microsecond next to 300 calls a second. */
const capacity = 1e6 / 3333

/** Seconds of the outage D, where a storm has no other. */
const tenSeconds = 10

interface Described extends Omit<Storm.OnceOptions, "service" | "clients" | "until"> {
  /** λ. */
  readonly rate: number
  /** Seconds that all is well before the outage. */
  readonly before?: number
  readonly outage?: number
  /** Seconds for which it is watched after the outage. */
  readonly watched: number
}

const storm = ({ before = 1, outage = tenSeconds, rate, watched, ...described }: Described): Storm.Storm =>
  Storm.once({
    ...described,
    service: Service.queue({
      servers: 1,
      takes: "3333 micros",
      pause: { from: seconds(before), to: seconds(before + outage) }
    }),
    clients: Clients.evenlySpaced({ rate }),
    until: seconds(before + outage + watched)
  })

const twoAttempts = "2 attempts of 1 s, the second at once."

const seconds = (count: number) => `${Math.round(1000 * count)} millis` as const

const policyOf = (retries: number) =>
  ({ schedule: Schedule.forever.pipe(Limit.retries(retries)), attemptTimeout: seconds(limit), log: false }) as const

const retrying = (retries: number): Scenario.Client => Retry.retry(policyOf(retries))

/** One retry each, out of a budget that all clients of a run share. */
const sharing = (ledger: RetryBudget.Ledger): Scenario.Scenario["client"] =>
  Effect.map(RetryBudget.make(ledger), (budget): Scenario.Client => Retry.retry({ ...policyOf(1), budget }))

// -----------------------------------------------------------------------------
// figures
// -----------------------------------------------------------------------------

/** Seconds in which recovery is looked for: as fine as a figure can be. */
const window = 0.25

/** Seconds from the end of the outage until all is well for three time limits; NaN, which is no number, if that never comes. */
const recovery: Storm.Figure["measure"] = ({ trace }) => {
  const found = Recovery.of(trace, { window: seconds(window), windows: (3 * limit) / window })
  return found?._tag === "Recovered" ? found.after / 1000 : NaN
}

const recovered = "recovered after, s"

/** Later by up to a window, and by the time in which one call more or less is worked off. */
const recovers = ({ after, left }: Closed): Storm.Figure =>
  Storm.within(recovered, Number(after.toFixed(2)), Number((window + 1 / left).toFixed(2)), 2, recovery)

const neverWithin = (watched: number): Storm.Figure => ({
  name: recovered,
  expected: `never within ${watched}`,
  measure: recovery,
  holds: Number.isNaN,
  digits: 2
})

/** The last ten seconds, in which a run that has not recovered is what it stays; as long as the window of a budget. */
const atTheEnd: Storm.Figure["measure"] = ({ trace }) =>
  trace.events.filter((event) => event._tag === "AttemptStarted" && event.at >= trace.until - 10e6).length / 10

const callsAtTheEnd = (expected: number): Storm.Figure => Storm.within("calls a second at the end", expected, 0, 1, atTheEnd)

/** How many calls are answered in time once the outage is over. */
const answeredAfterwards: Storm.Figure["measure"] = ({ trace }) =>
  trace.events.filter(
    (event) => event._tag === "AttemptEnded" && event.outcome === "succeeded" && event.at >= trace.disturbances[0]!.to
  ).length

// -----------------------------------------------------------------------------
// closed forms
// -----------------------------------------------------------------------------

interface Closed {
  /** Seconds from the end of the outage until all is well. */
  readonly after: number
  /** What the server can carry in a second beyond what comes. */
  readonly left: number
}

/**
 * What was queued in the outage is worked off against all that still comes, until the wait fits into the time limit, which is
 * C T calls; the last that did not fit come once more.
 */
const withRetries = (rate: number, retries: number): Closed => {
  const queued = rate * tenSeconds + retries * rate * (tenSeconds - limit)
  const left = capacity - (1 + retries) * rate
  return { after: (queued - capacity * limit) / left + retries * limit, left }
}

interface Bursts {
  readonly rate: number
  /** How many retries the budget grants as soon as calls time out, and again after each of its windows. */
  readonly burst: number
  /** Seconds of such a window. */
  readonly every: number
}

/**
 * A budget is spent in bursts: the first when the first calls of the outage time out. The last that did not fit find it spent,
 * unless they time out in the next burst.
 */
const withBursts = ({ burst, every, rate }: Bursts, bursts = 1): Closed => {
  const queued = rate * tenSeconds + burst * bursts
  const left = capacity - rate
  const after = (queued - capacity * limit) / left
  const nextBurst = limit + every * bursts - tenSeconds
  return after + limit <= nextBurst ? { after, left } : withBursts({ burst, every, rate }, bursts + 1)
}

/**
 * A budget of a share of the operations of ten seconds. It is full only with the last of them, too late for one retry of the
 * window.
 */
const shareOfTenSeconds = (percent: number, rate: number): Bursts => ({ rate, burst: (percent / 10) * rate - 1, every: 10 })

// -----------------------------------------------------------------------------
// a failure that feeds itself
// -----------------------------------------------------------------------------

const hotOs = `Bronson and others, "Metastable Failures in Distributed Systems", HotOS 2021, section 2.1`

/**
 * The example that gave such failures their name, and the same without retries.
 *
 * @category a failure that feeds itself
 * @since 0.1.0
 */
export const theRetryExample: ReadonlyArray<Storm.Storm> = [
  storm({
    id: "M1",
    title: "An outage that does not end",
    lesson:
      "The server carries 300 calls a second and 280 are wanted. After ten seconds of outage each call waits too long and comes twice: 560, all of them for nothing, for ever.",
    policy: twoAttempts,
    rate: 280,
    client: retrying(1),
    watched: 12,
    figures: [neverWithin(12), callsAtTheEnd(560), Storm.exactly("answered in time afterwards", 0, answeredAfterwards)],
    source: `${hotOs}: 300 QPS, one retry after 1 s, 280 become 560`
  }),
  storm({
    id: "M2",
    title: "The same outage without retries",
    lesson: "It takes its time, but it ends: what was queued is worked off with the 20 calls a second that are left.",
    policy: "1 attempt of 1 s.",
    rate: 280,
    client: retrying(0),
    watched: 129,
    figures: [recovers(withRetries(280, 0))],
    source: "(λ D - C T) / (C - λ), found in windows of 250 ms"
  })
]

// -----------------------------------------------------------------------------
// where the danger begins
// -----------------------------------------------------------------------------

const withOneRetry = (id: string, rate: number): Storm.Storm => {
  const closed = withRetries(rate, 1)
  return storm({
    id,
    title: `One retry, ${rate} calls a second`,
    lesson:
      "As long as the server can carry every call twice, it recovers, ever later as twice the load comes near to its limit.",
    policy: twoAttempts,
    rate,
    client: retrying(1),
    watched: Math.ceil(closed.after) + 4,
    figures: [recovers(closed)],
    source: "(λ T + 2 λ (D - T) - C T) / (C - 2 λ), and T for the last round of retries, found in windows of 250 ms"
  })
}

/**
 * One retry each, below and above half of what the server can carry.
 *
 * @category where the danger begins
 * @since 0.1.0
 */
export const threshold: ReadonlyArray<Storm.Storm> = [
  withOneRetry("M3a", 100),
  withOneRetry("M3b", 120),
  withOneRetry("M3c", 140),
  storm({
    id: "M3d",
    title: "One retry, 160 calls a second",
    lesson: "Above half of what the server can carry, the retries alone keep it down: 320 calls come, 300 go.",
    policy: twoAttempts,
    rate: 160,
    client: retrying(1),
    watched: 30,
    figures: [neverWithin(30), callsAtTheEnd(320)],
    source: `${hotOs}: stable below 150 QPS, for (1 + r) λ < C`
  })
]

// -----------------------------------------------------------------------------
// how long an outage may last
// -----------------------------------------------------------------------------

const trigger = (id: string, rate: number, outage: number, verdict: "recovers" | "never"): Storm.Storm => {
  const watched = 12
  const longest = limit + ((300 - rate) * limit) / (2 * rate)
  return storm({
    id,
    title: `${outage.toFixed(2)} s of outage, ${rate} calls a second`,
    lesson: "Some hundredths of a second decide between a hiccup and a failure that stays.",
    policy: twoAttempts,
    rate,
    client: retrying(1),
    outage,
    watched,
    figures:
      verdict === "recovers"
        ? [Storm.atMost(recovered, 3 * limit, 2, recovery)]
        : [neverWithin(watched), callsAtTheEnd(2 * rate)],
    source: `D* = T + (C - λ) T / (2 λ) = ${longest.toFixed(3)} s: what is queued by then is what fits into the time limit`
  })
}

/**
 * Outages just shorter and just longer than what a vulnerable server survives.
 *
 * @category how long an outage may last
 * @since 0.1.0
 */
export const longestOutage: ReadonlyArray<Storm.Storm> = [
  trigger("M4a", 280, 1, "recovers"),
  trigger("M4b", 280, 1.05, "never"),
  trigger("M4c", 200, 1.2, "recovers"),
  trigger("M4d", 200, 1.3, "never")
]

// -----------------------------------------------------------------------------
// what a budget changes
// -----------------------------------------------------------------------------

/** A share of the operations, which is full before the outage begins. */
const withShare = (
  described: Pick<Described, "id" | "title" | "lesson" | "figures" | "source" | "watched" | "rate"> & {
    readonly percent: number
  }
): Storm.Storm => {
  const { percent, ...rest } = described
  return storm({
    ...rest,
    policy: `${twoAttempts} Retries at most ${percent} % of the requests of the last ten seconds.`,
    before: 10,
    client: sharing(RetryBudget.ratio({ percent, reservePerSecond: 0 }))
  })
}

const recoversByShare = (
  described: Pick<Described, "id" | "title" | "lesson" | "rate"> & { readonly percent: number }
): Storm.Storm => {
  const closed = withBursts(shareOfTenSeconds(described.percent, described.rate))
  return withShare({
    ...described,
    watched: Math.ceil(closed.after) + 4,
    figures: [recovers(closed)],
    source:
      "(λ D + n b - C T) / (C - λ), with the n bursts of b = p λ · 10 s - 1 retries granted by then, one every ten seconds, found in windows of 250 ms"
  })
}

/**
 * The outage of ten seconds, with a budget for the retries. It decides nothing alone: what is wanted and what it grants must
 * together be less than what the server can carry.
 *
 * @category what a budget changes
 * @since 0.1.0
 */
export const withBudget: ReadonlyArray<Storm.Storm> = [
  recoversByShare({
    id: "M5a",
    title: "A budget of 10 %, 200 calls a second",
    lesson:
      "Without a budget, 1.3 s of outage never end. With it, 220 calls come in a second instead of 400, and ten seconds are survived.",
    rate: 200,
    percent: 10
  }),
  withShare({
    id: "M5b",
    title: "A budget of 10 %, 280 calls a second",
    lesson:
      "A budget larger than what the server has left only slows the fall: 308 calls come, 300 go. Here it must be below 7 %.",
    rate: 280,
    percent: 10,
    watched: 20,
    figures: [neverWithin(20), callsAtTheEnd(307.9)],
    source: `${hotOs}: retries must stay below 20 QPS, for (1 + p) λ < C; (1 + p) λ calls, less one retry in ten seconds`
  })
]

// -----------------------------------------------------------------------------
// an excess that adds up
// -----------------------------------------------------------------------------

/** How many such events are in a second of the run, from 0. */
const inSecond =
  (counts: (event: Trace.Event) => boolean, second: number): Storm.Figure["measure"] =>
  ({ trace }) =>
    trace.events.filter((event) => counts(event) && Math.floor(event.at / 1e6) === second).length

const calls = (event: Trace.Event): boolean => event._tag === "AttemptStarted"
const failures = (event: Trace.Event): boolean => event._tag === "AttemptEnded" && event.outcome !== "succeeded"

/**
 * One in a hundred too many, and no limit on retries.
 *
 * @category an excess that adds up
 * @since 0.1.0
 */
export const onePercentTooMany: Storm.Storm = Storm.once({
  id: "S5",
  title: "One in a hundred too many",
  lesson: "What is refused comes back a second later, on top of the next excess: a hundred calls more each second, for ever.",
  policy: "Retries without limit, 1 s apart.",
  service: Service.rateLimited({ permits: 10_000, per: "1 second", takes: "10 millis" }),
  clients: Clients.evenlySpaced({ rate: 10_100 }),
  client: Retry.retry({ schedule: Backoff.constant({ delay: "1 second" }), log: false }),
  until: "4 seconds",
  figures: [0, 1, 2, 3].flatMap((second) => [
    Storm.exactly(`calls in second ${second + 1}`, 10_100 + 100 * second, inSecond(calls, second)),
    Storm.exactly(`failures in second ${second + 1}`, 100 + 100 * second, inSecond(failures, second))
  ]),
  source: "SRE book, chapter 22, Addressing Cascading Failures: 10,000 QPS, of which 10,100 are wanted"
})

// -----------------------------------------------------------------------------
// all of them
// -----------------------------------------------------------------------------

/**
 * Storms that take too long for every day, a minute and more: twice the load nearer to the limit, and a budget nearer to what
 * the server has left.
 *
 * @category storms
 * @since 0.1.0
 */
export const longer: ReadonlyArray<Storm.Storm> = [
  storm({
    id: "M5c",
    title: "60 retries a minute, 280 calls a second",
    lesson: "One retry a second is less than the 20 that the server has left: it ends nearly as soon as without retries.",
    policy: `${twoAttempts} At most 60 retries in any minute for all clients.`,
    rate: 280,
    client: sharing(RetryBudget.fixedRate({ retries: 60, per: "1 minute" })),
    watched: 138,
    figures: [recovers(withBursts({ rate: 280, burst: 60, every: 60 }))],
    source:
      "SRE book, chapter 22, Addressing Cascading Failures: 60 retries a minute. (λ D + 60 n - C T) / (C - λ), with the n minutes begun by then, found in windows of 250 ms"
  }),
  withOneRetry("M3e", 145),
  withOneRetry("M3f", 149),
  recoversByShare({
    id: "M5d",
    title: "A budget of 5 %, 280 calls a second",
    lesson: "A budget of less than what the server has left: late, but it ends.",
    rate: 280,
    percent: 5
  })
]

/**
 * @category storms
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm.Storm> = [
  onePercentTooMany,
  ...theRetryExample,
  ...threshold,
  ...longestOutage,
  ...withBudget
]
