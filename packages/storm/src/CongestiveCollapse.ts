/**
 * A service that takes the longer the more it has to do, and clients who do not wait that long. A spike makes it slow, so calls
 * time out and come again; what nobody waits for any more is still worked on, which keeps it slow. When the spike is over, the
 * retries are spike enough.
 *
 * ```text
 * latency    1 s and 0.01 s more for each call at work; 0.1 s, on average, each way
 * clients    give up an attempt after 3 s, 3 attempts in all
 * spike      80 a second from 20 s to 25 s, else the base rate; judged from 60 s to the end at 80 s
 * ```
 *
 * A service that is called λ times a second has 1 / (1 - 0.01 λ) of a second as its latency, so above a hundred calls a second
 * there is no end to it: 40 a second are safe, three times 40 are not. Backoff with jitter lets far more of the spikes pass,
 * and ends no collapse (Brooker 2023, simple_collapse_sim).
 *
 * @since 0.1.0
 */
import { Retry } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { Clients, Distribution, Latency, Service, type Trace } from "@breakwater/simulation"
import * as Effect from "effect/Effect"
import { pipe } from "effect/Function"
import type * as Schedule from "effect/Schedule"
import { manyRuns, rounded } from "./OpenAndClosed.js"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

/**
 * Takes the longer the more calls are at work, the new one included. It does not notice when a caller has gone. A call is at
 * work from its start to just before its end.
 */
const crowded = (options: { readonly base: number; readonly perCall: number }): Service.Service =>
  Service.make({
    description: `${options.base / 1e6} s, and ${options.perCall / 1e6} s for each call at work`,
    open: (run) => {
      let ends: Array<number> = []
      return (call) =>
        Effect.suspend(() => {
          const now = run.now()
          ends = ends.filter((end) => end > now)
          const takes = options.base + options.perCall * (ends.length + 1)
          ends.push(now + takes)
          run.worksFor(call, takes)
          return run.sleep(takes)
        })
    }
  })

const service = pipe(
  crowded({ base: 1e6, perCall: 10_000 }),
  Service.remote({ hop: Latency.exponential({ mean: "100 millis" }) })
)

const spikeRate = 80

const spikeFrom = 20

interface Spike {
  /** Operations a second before it and after it. */
  readonly rate: number
  /** Seconds. */
  readonly length: number
}

const spike = ({ length, rate }: Spike): Clients.Clients =>
  Clients.flashCrowd({
    rate,
    spike: spikeRate,
    from: `${spikeFrom} seconds`,
    to: `${spikeFrom + length} seconds`
  })

interface Patience {
  readonly inWords: string
  readonly policy: string
  readonly schedule: Schedule.Schedule<unknown>
}

const atOnce: Patience = {
  inWords: "retries at once",
  policy: "3 attempts of 3 s, at once.",
  schedule: Backoff.constant({ delay: 0 })
}

const withJitter: Patience = {
  inWords: "backoff and jitter",
  policy: "3 attempts of 3 s, the second after up to 20 s, the third after up to 40 s, full jitter.",
  schedule: Backoff.exponential({ base: "20 seconds", cap: "40 seconds" }).pipe(Jitter.full)
}

// -----------------------------------------------------------------------------
// figures
// -----------------------------------------------------------------------------

/** How many runs there are, and which seconds of them are judged: the last ones. */
interface Scale {
  /** What the name of a storm ends in. */
  readonly suffix: string
  readonly runs: number
  readonly judgedFrom: number
  readonly until: number
}

interface Judged {
  /** Operations that succeed for each that begins. */
  readonly goodput: number
  /** Attempts for each operation that begins. */
  readonly load: number
}

const judge = ({ events }: Trace.Trace, { judgedFrom }: Scale): Judged => {
  const judged = events.filter(({ at }) => at >= judgedFrom * 1e6)
  const count = (counts: (event: Trace.Event) => boolean): number => judged.filter(counts).length
  const operations = count(({ _tag }) => _tag === "OperationStarted")
  return {
    goodput: count((event) => event._tag === "OperationEnded" && event.outcome === "succeeded") / operations,
    load: count(({ _tag }) => _tag === "AttemptStarted") / operations
  }
}

const isWell = ({ goodput }: Judged): boolean => goodput > 0.9

/** What the model gives in another implementation: the share of its runs that are well, and how the others end. */
interface Sample {
  readonly well: number
  /** Attempts for each operation where a run is stuck: mean and standard deviation. */
  readonly stuck?: { readonly load: number; readonly deviation: number }
}

const sampleSize = 1000

const isCertain = (well: number): boolean => well === 0 || well === 1

/** As many as the share of the sample says, in a band of 3.5 standard errors of both. */
const wellRuns = ({ well }: Sample, runs: number, measure: Storm.Figure["measure"]): Storm.Figure => {
  const name = `well, of ${runs} runs`
  if (isCertain(well)) return Storm.exactly(name, well * runs, measure)
  const error = Math.sqrt(well * (1 - well) * (1 / runs + 1 / sampleSize))
  return Storm.within(name, rounded(well * runs, 1), rounded(3.5 * error * runs, 1), 0, measure)
}

/** Of about so many runs. */
const loadWhereStuck = (
  { deviation, load }: Required<Sample>["stuck"],
  runs: number,
  measure: Storm.Figure["measure"]
): Storm.Figure =>
  Storm.within("load where stuck", load, rounded((3.5 * deviation) / Math.sqrt(Math.max(1, runs)), 2), 2, measure)

const loadOfStuck = (runs: ReadonlyArray<Judged>): number =>
  Distribution.mean(runs.filter((run) => !isWell(run)).map(({ load }) => load))

// -----------------------------------------------------------------------------
// storms
// -----------------------------------------------------------------------------

const simpleCollapse = "Brooker 2023, simple_collapse_sim"

/** What one kind of client makes of one spike. */
interface Cell extends Spike {
  readonly patience: Patience
  readonly sample: Sample
}

const lessonOf = ({ patience, sample: { well } }: Cell): string => {
  if (well === 1) return "The spike passes: what it has left can be worked off while its retries come."
  if (well === 0) {
    return patience === atOnce
      ? "Five seconds of spike, and nobody is served any more: three attempts for each operation are what keeps the service too slow for any of them."
      : "Jitter spreads the retries and does not make them fewer. Where all of them together are too many, it ends like that without: it needs a budget."
  }
  return patience === atOnce
    ? "The same spike passes or stays for good, as chance will have it: the service is vulnerable at a base rate that it carries with ease."
    : "Spread over half a minute, the retries of a spike mostly find room; nearer to the limit they do not."
}

const storm =
  (scale: Scale) =>
  (cell: Cell): Storm.Storm => {
    const { length, patience, rate, sample } = cell
    const { runs } = scale
    const { stuck, well } = sample
    const expected = isCertain(well)
      ? `${well === 1 ? "all" : "none"} of 20 runs`
      : `share of ${sampleSize} runs of its model in another implementation, band of 3.5 standard errors of both`
    return manyRuns({
      id: `CC${rate}-${length}${patience === atOnce ? "a" : "b"}${scale.suffix}`,
      title: `${rate} a second, ${length} s of spike, ${patience.inWords}`,
      lesson: lessonOf(cell),
      policy: patience.policy,
      service,
      clients: spike(cell),
      client: Retry.retry({ schedule: patience.schedule.pipe(Limit.attempts(3)), attemptTimeout: "3 seconds", log: false }),
      until: `${scale.until} seconds`,
      runs,
      each: (trace) => judge(trace, scale),
      figures: (of) => [
        wellRuns(
          sample,
          runs,
          of((each) => each.filter(isWell).length)
        ),
        ...(stuck === undefined ? [] : [loadWhereStuck(stuck, runs * (1 - well), of(loadOfStuck))])
      ],
      source: `${simpleCollapse}: ${expected}; N = ${runs}. Well: goodput above 90 % from ${scale.judgedFrom} s to ${scale.until} s`
    })
  }

const row = (of: Spike, immediate: Sample, jittered: Sample): ReadonlyArray<Cell> => [
  { ...of, patience: atOnce, sample: immediate },
  { ...of, patience: withJitter, sample: jittered }
]

const all: Sample = { well: 1 }

/** Where no attempt is in time, each operation has all three; its deviation is that of ten seconds. */
const sticks = (well: number): Sample => ({ well, stuck: { load: 3, deviation: 0.075 } })

/** By base rate, with five seconds of spike. */
const byRate: ReadonlyArray<Cell> = [
  ...row({ rate: 20, length: 5 }, all, all),
  ...row({ rate: 30, length: 5 }, sticks(0.7355), all),
  ...row({ rate: 35, length: 5 }, sticks(0.4675), all),
  ...row({ rate: 40, length: 5 }, sticks(0.261), all),
  ...row({ rate: 45, length: 5 }, sticks(0.099), { well: 0.91 }),
  ...row({ rate: 50, length: 5 }, sticks(0.0155), { well: 0.355 }),
  ...row({ rate: 60, length: 5 }, sticks(0), { well: 0, stuck: { load: 2.84, deviation: 0.075 } })
]

/** By the length of the spike, at forty a second. */
const byLength: ReadonlyArray<Cell> = [
  ...row({ rate: 40, length: 1 }, all, all),
  ...row({ rate: 40, length: 2 }, all, all),
  ...row({ rate: 40, length: 3 }, { well: 0.992 }, all),
  ...row({ rate: 40, length: 4 }, sticks(0.7415), all)
]

// -----------------------------------------------------------------------------
// all of them
// -----------------------------------------------------------------------------

const inTheSource = { judgedFrom: 60, until: 80 }

/** What passes in every run, so that three of them say it. */
const passes = byRate.filter(({ patience, rate }) => rate === (patience === atOnce ? 20 : 40))

/** What sticks in every run, and so is seen earlier. */
const stays = byRate.filter(({ patience, rate }) => rate === 60 && patience === atOnce)

/**
 * What is so in every run of the model, from three of each.
 *
 * @category storms
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm.Storm> = [
  ...passes.map(storm({ ...inTheSource, suffix: "", runs: 3 })),
  ...stays.map(storm({ judgedFrom: 40, until: 50, suffix: "", runs: 3 }))
]

/**
 * Every cell of the tables, with the twenty runs of the source: some ten minutes.
 *
 * @category storms
 * @since 0.1.0
 */
export const full: ReadonlyArray<Storm.Storm> = [...byRate, ...byLength].map(
  storm({ ...inTheSource, suffix: "-full", runs: 20 })
)
