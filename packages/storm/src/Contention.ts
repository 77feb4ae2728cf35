/**
 * Brooker 2015, "Exponential Backoff And Jitter": many clients, each of which must write one row once, under optimistic concurrency
 * control. A write that meets another fails and begins anew with a read. Where a backoff puts the retries decides how many writes
 * are in vain, and how long the last client waits.
 *
 * ```text
 * a call     read request, its reply, write request, its reply: a hop of 10 ms each, normal, deviation 2 ms
 * written    if nobody has written since the read; else a conflict, and after the backoff another call, without limit
 * figures    calls: the writes that reach the row · time: when the last of them is answered
 * ```
 *
 * All clients begin at 0. The model counts a client's failures from 1, so its first backoff is twice its base of 5 ms: a backoff
 * with a base of 10 ms here, except for decorrelated jitter, which begins at 5 ms.
 *
 * Contention, not overload: the row answers any number of calls at once. That those who do not wait are the first to be done holds
 * where a call costs its server nothing, and is no advice.
 *
 * @since 0.1.0
 */
import { Backoff, Jitter, Presets } from "@breakwater/schedule"
import { Clients, Distribution, Latency, Service, type Summary } from "@breakwater/simulation"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Schedule from "effect/Schedule"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

const row = Service.contended({ hop: Latency.normal({ mean: "10 millis", deviation: "2 millis", folded: true }) })

interface Described extends Omit<Storm.OnceOptions, "service" | "clients" | "client" | "until"> {
  readonly clients: number
  readonly schedule: Schedule.Schedule<unknown>
  /** How many runs the figures are means of. */
  readonly runs: number
}

const storm = ({ clients, runs, schedule, ...described }: Described): Storm.Storm => ({
  ...Storm.once({
    ...described,
    service: row,
    clients: Clients.together(clients),
    client: Effect.retry(schedule),
    // Five times what the slowest take.
    until: "10 minutes"
  }),
  replicas: runs
})

const exponential = Backoff.exponential({ base: "10 millis", cap: "2 seconds" })

// -----------------------------------------------------------------------------
// figures
// -----------------------------------------------------------------------------

/** A figure over many runs. */
interface Mean {
  readonly mean: number
  /** The standard deviation of one run. */
  readonly deviation: number
}

type Quantity = "calls" | "time"

const quantities: { readonly [of in Quantity]: (run: Summary.Summary) => number } = {
  calls: ({ attempts }) => attempts,
  /** Milliseconds; NaN, for which no figure holds, unless all have written. */
  time: ({ allSucceededAt }) => allSucceededAt ?? NaN
}

const mean =
  (of: Quantity): Storm.Figure["measure"] =>
  ({ replicas }) =>
    Distribution.mean(replicas.map(quantities[of]))

const round = (value: number, digits: number): number => Number(value.toFixed(digits))

const within = (name: string, expected: number, tolerance: number, digits: number, measure: Storm.Figure["measure"]) =>
  Storm.within(name, round(expected, digits), round(tolerance, digits), digits, measure)

/** 3.5 standard errors of a mean, and of the mean of other runs that is expected. */
const chance = ({ deviation }: Mean, runs: number, others = Infinity): number =>
  3.5 * deviation * Math.sqrt(1 / runs + 1 / others)

/** How many runs tell a mean to within a tolerance. */
const runsWithin = ({ deviation }: Mean, tolerance: number): number => Math.ceil(((3.5 * deviation) / tolerance) ** 2)

// -----------------------------------------------------------------------------
// strategies
// -----------------------------------------------------------------------------

/** What so many clients need, and of how many runs these are the means. */
interface Need extends Readonly<Record<Quantity, Mean>> {
  readonly clients: number
  readonly runs: number
}

interface Strategy {
  readonly id: string
  readonly name: string
  readonly policy: string
  readonly lesson: string
  readonly schedule: Schedule.Schedule<unknown>
  readonly needs: ReadonlyArray<Need>
  /** The share of itself by which a figure may differ because our waits are whole milliseconds; measured in a plain event loop. */
  readonly wholeMillis: Readonly<Record<Quantity, number>>
  /** What the source says of it at a hundred clients. */
  readonly atHundred: ReadonlyArray<Comparison>
  readonly source: string
}

/** A figure against what another strategy needs in the source: it rises or falls with the mean, in a straight line. */
interface Comparison {
  readonly of: Quantity
  readonly name: string
  readonly digits: number
  readonly say: (mean: number) => number
}

/** At a hundred clients. */
const hundred = { exponentialCalls: 1855, fullCalls: 795.6, fullTime: 4882 }

const savedCalls: Comparison = {
  of: "calls",
  name: "% fewer than exponential",
  digits: 1,
  say: (calls) => 100 * (1 - calls / hundred.exponentialCalls)
}

const timesTheCalls: Comparison = {
  of: "calls",
  name: "× calls of full jitter",
  digits: 2,
  say: (calls) => calls / hundred.fullCalls
}

const timesTheTime: Comparison = {
  of: "time",
  name: "× time of full jitter",
  digits: 2,
  say: (time) => time / hundred.fullTime
}

/** Clients; calls, and their deviation in one run; time, and its deviation. */
type Line = readonly [clients: number, calls: number, deviation: number, time: number, deviation: number]

const means = (runs: (clients: number) => number, lines: ReadonlyArray<Line>): ReadonlyArray<Need> =>
  lines.map(([clients, calls, callsDeviation, time, timeDeviation]) => ({
    clients,
    calls: { mean: calls, deviation: callsDeviation },
    time: { mean: time, deviation: timeDeviation },
    runs: runs(clients)
  }))

const fiveHundredRuns = (): number => 500

const brooker = `Brooker 2015, "Exponential Backoff And Jitter"`

const ofTheModel = `${brooker}: an independent implementation of its model`

const noDifference = { calls: 0, time: 0 }

const none: Strategy = {
  id: "B1",
  name: "no backoff",
  policy: "Retries at once, without limit.",
  lesson:
    "At a hundred clients done first, at three times the calls of full jitter. It is quick because a call costs this row nothing: where calls are work, those in vain are what the rest waits for.",
  schedule: Schedule.forever,
  needs: means(
    (clients) => (clients < 100 ? 500 : 200),
    [
      [10, 51.2, 4, 382, 34],
      [20, 152.1, 12.5, 601, 56],
      [30, 288.9, 14.7, 781, 50],
      [40, 467.2, 14.7, 958, 46],
      [50, 690.5, 16.1, 1143, 44],
      [60, 957.4, 19.3, 1325, 44],
      [70, 1261, 22, 1502, 42],
      [80, 1609, 26, 1681, 44],
      [90, 1997, 30, 1854, 43],
      [100, 2423, 32, 2028, 43],
      [150, 5142, 51, 2870, 45],
      [190, 8009, 70, 3546, 48]
    ]
  ),
  wholeMillis: noDifference,
  atHundred: [timesTheCalls, timesTheTime],
  source: ofTheModel
}

const exponentialAlone: Strategy = {
  id: "B2",
  name: "exponential backoff",
  policy: "Waits min(2 s, 10 ms × 2ⁿ), without limit.",
  lesson:
    "Without jitter the crowd only moves: at a hundred clients three quarters of the calls of no backoff at all, in thirteen times the time of full jitter.",
  schedule: exponential,
  needs: means(fiveHundredRuns, [
    [10, 50.7, 4, 3410, 1281],
    [20, 150.3, 13.3, 14_482, 2774],
    [30, 275.8, 16.2, 22_360, 2998],
    [40, 436.8, 20.9, 29_747, 3084],
    [50, 623.1, 29.5, 36_483, 3389],
    [60, 829.1, 36, 42_554, 3199],
    [70, 1054, 43, 48_189, 3442],
    [80, 1302, 51, 53_485, 3695],
    [90, 1568, 52, 58_536, 3658],
    [100, hundred.exponentialCalls, 55, 63_368, 3672],
    [150, 3541, 97, 85_686, 3972],
    [190, 5161, 121, 101_312, 4401]
  ]),
  wholeMillis: noDifference,
  atHundred: [timesTheCalls, timesTheTime],
  source: ofTheModel
}

const equalJitter: Strategy = {
  id: "B3",
  name: "equal jitter",
  policy: "Waits half of min(2 s, 10 ms × 2ⁿ) and a random share of the other half, without limit.",
  lesson:
    "Half of each wait is for certain: at a hundred clients nearly the calls of full jitter, in a third more time. At 190 it is the one with the fewest.",
  schedule: exponential.pipe(Jitter.equal),
  needs: means(fiveHundredRuns, [
    [10, 42.5, 2.7, 727, 186],
    [20, 107.5, 3.9, 1577, 422],
    [30, 182.7, 5.2, 2608, 558],
    [40, 262.9, 5.4, 3517, 675],
    [50, 347.2, 5.9, 4263, 528],
    [60, 435, 6.2, 4800, 663],
    [70, 525.6, 6.4, 5429, 620],
    [80, 619.2, 6.7, 5804, 562],
    [90, 715, 7.2, 6221, 622],
    [100, 812.5, 7.8, 6583, 679],
    [150, 1325, 11, 8311, 612],
    [190, 1759, 12, 9397, 610]
  ]),
  wholeMillis: { calls: 0.01, time: 0.025 },
  atHundred: [savedCalls],
  source: ofTheModel
}

const withFullJitter: Strategy = {
  id: "B4",
  name: "full jitter",
  policy: "Waits a random time from 0 to min(2 s, 10 ms × 2ⁿ), without limit.",
  lesson:
    "The fewest calls from 20 clients to 150. At a hundred less than half of those without jitter, in a thirteenth of the time.",
  schedule: exponential.pipe(Jitter.full),
  needs: means(fiveHundredRuns, [
    [10, 39, 2.2, 467, 102],
    [20, 100.2, 3.4, 998, 257],
    [30, 171.6, 3.9, 1641, 400],
    [40, 249.7, 4.3, 2317, 502],
    [50, 332.6, 4.9, 2923, 530],
    [60, 419.5, 5.6, 3405, 537],
    [70, 509.4, 5.3, 3829, 504],
    [80, 602.6, 6.1, 4134, 495],
    [90, 697.7, 6.6, 4534, 516],
    [100, hundred.fullCalls, 6.4, hundred.fullTime, 544],
    [150, 1319, 9, 6377, 510],
    [190, 1772, 13, 7435, 534]
  ]),
  wholeMillis: { calls: 0.01, time: 0.02 },
  atHundred: [savedCalls],
  source: ofTheModel
}

const decorrelatedAsPublished: Strategy = {
  id: "B5",
  name: "decorrelated jitter as published",
  policy: "Waits min(2 s, a random time from 5 ms to three times the last wait), without limit.",
  lesson:
    "The fewest calls of a small crowd. Of a hundred clients a quarter more than full jitter: its waits mostly grow by less than doubling.",
  schedule: Presets.brookerDecorrelated({ base: "5 millis", cap: "2 seconds" }),
  needs: means(fiveHundredRuns, [
    [10, 37.9, 2.3, 445, 100],
    [20, 100.7, 4.9, 826, 181],
    [30, 180.2, 7.4, 1259, 313],
    [40, 271.6, 10.3, 1704, 378],
    [50, 374.1, 12.7, 2171, 466],
    [60, 486.8, 15.5, 2694, 560],
    [70, 605.6, 19, 3225, 599],
    [80, 732.6, 23, 3745, 633],
    [90, 865.8, 24.1, 4156, 620],
    [100, 999.5, 28.9, 4637, 694],
    [150, 1761, 45, 6540, 815],
    [190, 2437, 57, 7933, 808]
  ]),
  wholeMillis: { calls: 0.01, time: 0.01 },
  atHundred: [savedCalls],
  source: ofTheModel
}

const decorrelated: Strategy = {
  id: "B6",
  name: "decorrelated jitter",
  policy: "Waits a random time from 5 ms to three times the last wait, at most 2 s, without limit.",
  lesson:
    "Drawn up to the cap instead of cut off there: as many calls as the published formula, and the large crowd done sooner.",
  schedule: Backoff.decorrelated({ base: "5 millis", cap: "2 seconds" }),
  needs: means(
    () => 2000,
    [
      [10, 37.45, 2.35, 434, 88],
      [20, 100.52, 4.93, 817, 189],
      [30, 179.76, 7.52, 1243, 275],
      [40, 272.2, 10.19, 1701, 387],
      [50, 375.28, 12.85, 2188, 472],
      [60, 487.12, 16.12, 2670, 513],
      [70, 607.15, 19.78, 3118, 526],
      [80, 734.4, 22.7, 3530, 514],
      [90, 866.84, 26.16, 3883, 504],
      [100, 1005.5, 29.5, 4263, 541],
      [150, 1772.6, 45.9, 5745, 523],
      [190, 2455.5, 58.7, 6782, 543]
    ]
  ),
  wholeMillis: noDifference,
  atHundred: [savedCalls],
  source: `An independent implementation of the model of ${brooker}, in whole milliseconds`
}

const published = [none, exponentialAlone, equalJitter, withFullJitter, decorrelatedAsPublished]

const strategies = [...published, decorrelated]

const needOf = (strategy: Strategy, clients: number): Need => strategy.needs.find((need) => need.clients === clients)!

// -----------------------------------------------------------------------------
// who needs least
// -----------------------------------------------------------------------------

/** What a strategy needs least of, for a number of clients. */
interface Lead {
  readonly figure: Storm.Figure
  /** How many runs tell it from the second. */
  readonly runs: number
}

const contests: ReadonlyArray<{ readonly of: Quantity; readonly name: string; readonly among: ReadonlyArray<Strategy> }> = [
  { of: "calls", name: "mean calls, the fewest", among: published },
  { of: "time", name: "mean time, shortest jittered", among: published.slice(2) }
]

/** Where the source has it first: it must stay below what the source has for the second. */
const leads = (strategy: Strategy, clients: number): ReadonlyArray<Lead> =>
  contests.flatMap(({ among, name, of }) => {
    const [first, second] = among
      .map((one) => ({ one, ...needOf(one, clients)[of] }))
      .sort((one, other) => one.mean - other.mean)
    if (first!.one !== strategy) return []
    const figure = Storm.atMost(name, second!.mean, 1, mean(of))
    return [{ figure, runs: runsWithin(first!, second!.mean - first!.mean) }]
  })

// -----------------------------------------------------------------------------
// storms
// -----------------------------------------------------------------------------

const percent = (share: number): number => round(100 * share, 1)

const sourceOf = ({ source, wholeMillis }: Strategy, { runs }: Need): string => {
  const rounding =
    wholeMillis === noDifference
      ? ""
      : `, and ${percent(wholeMillis.calls)} % of the calls and ${percent(wholeMillis.time)} % of the time, as our waits are whole milliseconds`
  return `${source}, means of ${runs} runs; in bands of 3.5 standard errors of both means${rounding}`
}

const crowd = (strategy: Strategy, clients: number, runs: number, id: string): Storm.Storm => {
  const need = needOf(strategy, clients)
  const compared = ({ digits, name, of, say }: Comparison): Storm.Figure => {
    const expected = need[of].mean
    const tolerance = chance(need[of], runs, need.runs) + strategy.wholeMillis[of] * expected
    const measure = mean(of)
    const width = Math.abs(say(expected + tolerance) - say(expected))
    return within(name, say(expected), width, digits, (outcome) => say(measure(outcome)))
  }
  const known = leads(strategy, clients).filter((lead) => lead.runs <= runs)
  return storm({
    id,
    title: `${clients} clients, ${strategy.name}, ${runs} runs`,
    lesson: strategy.lesson,
    policy: strategy.policy,
    clients,
    runs,
    schedule: strategy.schedule,
    figures: [
      compared({ of: "calls", name: "mean calls", digits: 1, say: identity }),
      compared({ of: "time", name: "mean time, ms", digits: 0, say: identity }),
      ...(clients === 100 ? strategy.atHundred.map(compared) : []),
      ...known.map(({ figure }) => figure)
    ],
    source: sourceOf(strategy, need)
  })
}

/** The calls of every run; NaN where they differ. */
const callsOfEachRun: Storm.Figure["measure"] = ({ replicas }) =>
  replicas.map(quantities.calls).reduce((one, other) => (one === other ? one : NaN))

const few = (clients: number, runs: number, lesson: string, figures: ReadonlyArray<Storm.Figure>): Storm.Storm =>
  storm({
    id: `B0-${clients}`,
    title: `${clients} ${clients === 1 ? "client" : "clients"}, ${withFullJitter.name}, ${runs} runs`,
    lesson,
    policy: withFullJitter.policy,
    clients,
    runs,
    schedule: withFullJitter.schedule,
    figures,
    source: `${ofTheModel}; calls to the last digit it gives, time in a band of 3.5 standard errors`
  })

/**
 * Crowds so small that one can tell beforehand what they need.
 *
 * @category storms
 * @since 0.1.0
 */
export const smallest: ReadonlyArray<Storm.Storm> = [
  few(1, 100, "Alone, a call is four hops.", [
    Storm.exactly("calls of each run", 1, callsOfEachRun),
    within("mean time, ms", 40, chance({ mean: 40, deviation: 4 }, 100), 1, mean("time"))
  ]),
  few(2, 200, "Both read before either writes: the second to write has to come again, and then is alone.", [
    Storm.exactly("calls of each run", 3, callsOfEachRun),
    within("mean time, ms", 87, chance({ mean: 87, deviation: 6 }, 200), 1, mean("time"))
  ]),
  few(3, 100, "Of three two come again, and of these one more: 3 + 2 + 1 calls, unless jitter draws those two far apart.", [
    within("mean calls", 6, 0.05, 2, mean("calls"))
  ])
]

/**
 * The table for every day: every strategy for ten clients and, from a few runs, for a hundred.
 *
 * @category storms
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm.Storm> = [
  ...smallest,
  ...published.map((strategy) => crowd(strategy, 10, 100, `${strategy.id}-10`)),
  ...strategies.map((strategy) => crowd(strategy, 100, 4, `${strategy.id}-100`))
]

/** As many runs as tell calls to within 1.5 %, time to within 5 %, and the first from the second. */
const enough = (strategy: Strategy, { calls, clients, time }: Need): number =>
  Math.max(
    runsWithin(calls, 0.015 * calls.mean),
    runsWithin(time, 0.05 * time.mean),
    ...leads(strategy, clients).map(({ runs }) => runs)
  )

/**
 * The table in full, from 10 clients to 190: every mean from as many runs as tell calls to within 1.5 % and time to within 5 %. It
 * takes minutes.
 *
 * @category storms
 * @since 0.1.0
 */
export const full: ReadonlyArray<Storm.Storm> = strategies.flatMap((strategy) =>
  strategy.needs.map((need) => crowd(strategy, need.clients, enough(strategy, need), `${strategy.id}-${need.clients}-full`))
)
