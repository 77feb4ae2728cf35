/**
 * Yandex 2023, "Good Retry, Bad Retry": a service that is busy for a quarter to two thirds of its time fails for half a
 * second, and the question is whether it comes back. What it is asked for in the meantime it works on for nothing, and what
 * its clients ask again comes on top.
 *
 * ```text
 * retries without a budget    it stays down where utilisation × attempts > 1 and the retries come soon enough
 * a budget of 10 %            it comes back at once, up to 83 % of utilisation: the load in the outage is 1.0
 * ```
 *
 * Full jitter halves the mean wait. In an open loop, where the next caller comes whether or not this one waits, that makes a
 * service stay down at a lower utilisation than the same backoff without jitter does. Jitter is for clients that would come
 * back together, and saves no work.
 *
 * The model: calls at random, 2,000 a second; a network, 5 ms there and back on average; servers that take 10 ms for a call,
 * log-normal with sigma 0.25, first come, first served, and do not notice when a caller has gone; a client that waits 100 ms
 * for an attempt. 0.5 % of the calls fail, and all that end from 0.5 to 1 s: they take as long as others.
 *
 * The breaker of retries is **model-only**: a `CircuitBreaker` stops calls, this one stops retries and lets every first call
 * through. It is a ledger of a few lines, which the real `Retry` asks. All else is what programs use.
 *
 * @since 0.1.0
 */
import { Deadline, Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { Clients, Distribution, Latency, Recovery, type Scenario, Service, type Trace } from "@breakwater/simulation"
import * as Effect from "effect/Effect"
import { pipe } from "effect/Function"
import type * as Schedule from "effect/Schedule"
import { manyRuns, rounded } from "./OpenAndClosed.js"
import * as Storm from "./Storm.js"
import { droppingLate } from "./WaysOut.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

/**
 * How much of the time the servers are busy without retries, in percent, and how many they are: 4 k for each of the 20.6 calls
 * that are at work on average, rounded down, where 25 % / k is the utilisation and k has two digits.
 */
const servers = { 25: 82, 38: 53, 43: 47, 46: 44, 50: 41, 63: 33, 83: 24 } as const

type Utilisation = keyof typeof servers

const patience = "100 millis"

/** Milliseconds. */
const outageFrom = 500

const millis = (count: number) => `${count} millis` as const

/** What ends in the outage fails, and has been worked on all the same. */
const failingFor = (self: Service.Service, lasts: number): Service.Service => {
  const from = 1000 * outageFrom
  const to = from + 1000 * lasts
  const failure = Effect.fail(Service.refused(500))
  return {
    ...self,
    description: `${self.description}; what ends from ${from / 1000} ms to ${to / 1000} ms fails`,
    disturbances: [...self.disturbances, { from, to }],
    open: (run) =>
      Effect.map(self.open(run), (handle): Service.Handler => {
        const answer = Effect.suspend(() => (from <= run.now() && run.now() < to ? failure : Effect.void))
        return (call) => Effect.zipRight(handle(call), answer)
      })
  }
}

interface Disturbed {
  readonly utilisation: Utilisation
  /** Milliseconds of outage. */
  readonly outage: number
  /** Whether the servers leave out what they cannot answer in time. */
  readonly drops: boolean
}

const service = ({ drops, outage, utilisation }: Disturbed): Service.Service => {
  const queue = Service.queue({
    servers: servers[utilisation],
    takes: Latency.logNormal({ median: "10 millis", sigma: 0.25 }),
    dropExpired: drops
  })
  return pipe(
    // The mean of what a call takes, and of the whole network.
    drops ? droppingLate(queue, "15 millis") : queue,
    Service.failing({ share: 0.005 }),
    (self) => failingFor(self, outage),
    Service.remote({ hop: Latency.exponential({ mean: "2500 micros" }) })
  )
}

// -----------------------------------------------------------------------------
// strategies
// -----------------------------------------------------------------------------

interface Strategy {
  readonly id: string
  readonly name: string
  readonly policy: string
  readonly lesson: string
  readonly client: Scenario.Scenario["client"]
  /** Whether each attempt takes its deadline along, for servers that heed it. */
  readonly drops?: boolean
}

const exponential = Backoff.exponential({ base: "100 millis", cap: "1 second" })

const atOnce = Backoff.constant({ delay: 0 })

const policyOf = (schedule: Schedule.Schedule<unknown>, retries: number) =>
  ({ schedule: schedule.pipe(Limit.retries(retries)), attemptTimeout: patience, log: false }) as const

const retrying = (schedule: Schedule.Schedule<unknown>, retries: number): Scenario.Client =>
  Retry.retry(policyOf(schedule, retries))

/** Retries at once, out of a budget that all clients share. */
const sharing = (ledger: RetryBudget.Ledger, retries: number): Scenario.Scenario["client"] =>
  Effect.map(RetryBudget.make(ledger), (budget): Scenario.Client => Retry.retry({ ...policyOf(atOnce, retries), budget }))

/** 10 %: a tenth of a token for a first call that succeeds, nothing for a retry that does. */
const tokens = RetryBudget.tokens({
  capacity: 30,
  cost: { failure: 1, timeout: 1, throttled: 1 },
  success: 0.1,
  refund: false
})

const withDeadlines: Scenario.Client = (call) =>
  call.pipe(Deadline.within(patience), Retry.retry({ schedule: atOnce.pipe(Limit.retries(2)), log: false }))

interface Ended {
  readonly all: number
  readonly failed: number
}

/** Attempts that ended, by the 10 ms in which they did, the latest first: twenty times. */
interface Window {
  readonly latest: number
  readonly ended: ReadonlyArray<Ended>
}

const none: Ended = { all: 0, failed: 0 }

const emptyWindow: ReadonlyArray<Ended> = new Array<Ended>(20).fill(none)

const movedTo = ({ ended, latest }: Window, now: number): Window => {
  const at = Math.max(latest, Math.floor(now / 10))
  const passed = Math.min(20, at - latest)
  return { latest: at, ended: passed === 0 ? ended : [...emptyWindow.slice(0, passed), ...ended.slice(0, 20 - passed)] }
}

const isWell = ({ ended }: Window): boolean =>
  10 * ended.reduce((sum, { failed }) => sum + failed, 0) <= ended.reduce((sum, { all }) => sum + all, 0)

const unchanged = <S>(state: S): S => state

/** Retries while at most 10 % of the attempts of the last 200 ms have failed. */
const breaker: RetryBudget.Ledger = {
  name: "breaker",
  initial: (now): Window => ({ latest: Math.floor(now / 10), ended: emptyWindow }),
  started: unchanged,
  settled: (state: Window, outcome, _permit, now) => {
    const { ended, latest } = movedTo(state, now)
    const [{ all, failed }, ...before] = ended as [Ended, ...ReadonlyArray<Ended>]
    return { latest, ended: [{ all: all + 1, failed: outcome === "failure" ? failed + 1 : failed }, ...before] }
  },
  ended: unchanged,
  retry: (state: Window, _kind, now) => {
    const moved = movedTo(state, now)
    return isWell(moved) ? { state: moved, permit: { amount: 0, slot: 0 } } : undefined
  },
  returned: unchanged,
  balance: (state: Window, now) => (isWell(movedTo(state, now)) ? Infinity : 0)
}

const limited = "attempts of 100 ms"

const twiceAtOnce: Strategy = {
  id: "Y1",
  name: "two retries at once",
  policy: `3 ${limited}, at once.`,
  lesson:
    "Three attempts for each call are more than a service can carry that is busy for half of its time. They keep it down when the outage has ended.",
  client: retrying(atOnce, 2)
}

const thriceAtOnce: Strategy = {
  id: "Y2",
  name: "three retries at once",
  policy: `4 ${limited}, at once.`,
  lesson: "One retry more, and the service stays down that is busy for little more than a third of its time.",
  client: retrying(atOnce, 3)
}

const withBackoff: Strategy = {
  id: "Y3",
  name: "three retries with backoff",
  policy: `4 ${limited}, waits 100, 200, 400 ms.`,
  lesson:
    "Backoff puts the retries off until the outage is over, and then they come all the same: it makes room for a little more utilisation, and for no more.",
  client: retrying(exponential, 3)
}

const withJitter: Strategy = {
  id: "Y4",
  name: "three retries with backoff and full jitter",
  policy: `4 ${limited}, waits 0 to 100, 200, 400 ms, full jitter.`,
  lesson:
    "Full jitter halves the mean wait. Callers who come at random have nothing to be spread, so all it does is to bring the retries sooner: the service stays down at a lower utilisation than without jitter.",
  client: retrying(exponential.pipe(Jitter.full), 3)
}

const twiceWithJitter: Strategy = {
  id: "Y5",
  name: "two retries with backoff and full jitter",
  policy: `3 ${limited}, waits 0 to 100, 200 ms, full jitter.`,
  lesson: "Fewer attempts help more than any wait: how often counts, and then how soon.",
  client: retrying(exponential.pipe(Jitter.full), 2)
}

const inTokens = "A retry takes one of 30 tokens that all clients share, a first call that succeeds gives a tenth of one."

const withBudget: Strategy = {
  id: "Y6",
  name: "two retries and a budget",
  policy: `3 ${limited}, at once. ${inTokens}`,
  lesson:
    "Thirty retries, and then none until calls succeed again: the load in the outage is what it always is, so nothing has to be worked off.",
  client: sharing(tokens, 2)
}

const withBudgetThrice: Strategy = {
  ...withBudget,
  id: "Y7",
  name: "three retries and a budget",
  policy: `4 ${limited}, at once. ${inTokens}`,
  client: sharing(tokens, 3)
}

const withBreaker: Strategy = {
  id: "Y8",
  name: "two retries and a breaker of retries (model-only)",
  policy: `Model-only: 3 ${limited}, at once; no retry while more than 10 % of the attempts of the last 200 ms have failed.`,
  lesson: "A breaker that stops the retries alone does as a budget does, as long as failures are rare or everywhere.",
  client: sharing(breaker, 2)
}

const withDrops: Strategy = {
  id: "Y9",
  name: "two retries, and a server that drops what is too late",
  policy: `3 ${limited}, at once, which take their deadlines along; the servers begin no call with less than 15 ms left.`,
  lesson:
    "The retries of before, against servers that work for nobody who will have gone: what they begin they answer in time, so the service comes back.",
  client: withDeadlines,
  drops: true
}

// -----------------------------------------------------------------------------
// figures
// -----------------------------------------------------------------------------

/** What the runs of the table gave. */
interface Cell {
  /** In percent: those that never came back. */
  readonly stuck: number
  /** Of the others, milliseconds to recovery: the median, and the deviation of a run. */
  readonly after?: { readonly median: number; readonly deviation: number }
  /** Calls for each first call, in the outage. */
  readonly load?: number
}

/** How many runs each cell is from. */
const tableRuns = 40

/** What one run gives; stuck where it has not come back. */
interface Run {
  readonly after: number | undefined
  readonly load: number
}

/** From the first 100 ms on, in which what the retries add comes about. */
const loadIn = ({ disturbances: [outage], events }: Trace.Trace): number => {
  const during = events.filter(({ at }) => at >= outage!.from + 100e3 && at < outage!.to)
  const count = (tag: Trace.Event["_tag"]): number => during.filter(({ _tag }) => _tag === tag).length
  return count("AttemptStarted") / count("OperationStarted")
}

const runOf = (trace: Trace.Trace): Run => {
  const recovery = Recovery.of(trace)
  return { after: recovery?._tag === "Recovered" ? recovery.after : undefined, load: loadIn(trace) }
}

const recoveries = (runs: ReadonlyArray<Run>): ReadonlyArray<number> =>
  runs.flatMap(({ after }) => (after === undefined ? [] : [after]))

/** Standard errors of two means together, of so many values each. */
const errorOf = (deviation: number, one: number, other: number): number => deviation * Math.sqrt(1 / one + 1 / other)

/** A share of the table of none, or of all, is not certain: it has one run more of each kind. */
const stuckRuns = ({ stuck }: Cell, runs: number, measure: Storm.Figure["measure"]): Storm.Figure => {
  const share = ((stuck / 100) * tableRuns + 1) / (tableRuns + 2)
  const band = 3.5 * runs * errorOf(Math.sqrt(share * (1 - share)), runs, tableRuns)
  return Storm.within(`stuck, of ${runs} runs`, rounded((stuck / 100) * runs, 1), rounded(band, 2), 0, measure)
}

/** Windows of 50 ms, and a median has 1.25 times the error of a mean. */
const recoveredAfter = (
  { deviation, median }: Required<Cell>["after"],
  recovered: (runs: number) => number,
  runs: number,
  measure: Storm.Figure["measure"]
): Storm.Figure => {
  const band = 50 + 3.5 * errorOf(1.25 * deviation, recovered(runs), recovered(tableRuns))
  return Storm.within("median recovery, ms", median, Math.round(band), 0, measure)
}

/**
 * The most by which the load of a run was seen to deviate; and by how much that of the table does at most, which does not tell
 * from when to when it counts.
 */
const loadDeviation = { ofARun: 0.07, ofTheTable: 0.04 }

const loadInOutage = (load: number, runs: number, measure: Storm.Figure["measure"]): Storm.Figure =>
  Storm.within(
    "load in the outage",
    load,
    rounded(loadDeviation.ofTheTable + 3.5 * errorOf(loadDeviation.ofARun, runs, tableRuns), 2),
    2,
    measure
  )

// -----------------------------------------------------------------------------
// storms
// -----------------------------------------------------------------------------

const isaev = `Isaev 2023, "Good Retry, Bad Retry" (Yandex)`

interface Panel {
  readonly strategy: Strategy
  readonly utilisation: Utilisation
  readonly cell: Cell
  /** Milliseconds of outage. Default 500. */
  readonly outage?: number
}

interface Scale {
  /** What the name of a storm ends in. */
  readonly suffix: string
  readonly runs: number
  /** Milliseconds for which a run is watched after the outage. */
  readonly watched: number
}

const figuresOf =
  (cell: Cell, runs: number): Parameters<typeof manyRuns<Run>>[0]["figures"] =>
  (of) => [
    stuckRuns(
      cell,
      runs,
      of((all) => all.length - recoveries(all).length)
    ),
    ...(cell.after === undefined
      ? []
      : [
          recoveredAfter(
            cell.after,
            (count) => Math.max(1, count * (1 - cell.stuck / 100)),
            runs,
            of((all) => Distribution.quantile(recoveries(all), 0.5))
          )
        ]),
    ...(cell.load === undefined
      ? []
      : [
          loadInOutage(
            cell.load,
            runs,
            of((all) => Distribution.mean(all.map(({ load }) => load)))
          )
        ])
  ]

const storm =
  ({ runs, suffix, watched }: Scale) =>
  ({ cell, outage = 500, strategy, utilisation }: Panel): Storm.Storm => {
    const { client, drops = false, id, lesson, name, policy } = strategy
    return manyRuns({
      id: `${id}-${utilisation}${outage === 500 ? "" : `-${outage}`}${suffix}`,
      title: `${utilisation} % busy, ${name}${outage === 500 ? "" : `, ${outage} ms of outage`}`,
      lesson,
      policy,
      service: service({ utilisation, outage, drops }),
      clients: Clients.openLoop({ rate: 2000 }),
      client,
      until: millis(outageFrom + outage + watched),
      runs,
      each: runOf,
      figures: figuresOf(cell, runs),
      source: `${isaev}; its model in another implementation, ${tableRuns} runs; bands of 3.5 standard errors of both, N = ${runs}. The load from 100 ms after the start of the outage`
    })
  }

/** A run that is not back by then, in the table, never is. */
const inFull: Scale = { suffix: "-full", runs: tableRuns, watched: 3000 }

/** Who comes back without backoff mostly does so within 300 ms, and is seen to be back after 250 ms more. */
const everyDay: Scale = { suffix: "", runs: 3, watched: 550 }

/** Backoff takes its time. */
const everyDayLonger: Scale = { ...everyDay, watched: 1000 }

const row = (strategy: Strategy, cells: { readonly [U in Utilisation]?: Cell }): ReadonlyArray<Panel> =>
  (Object.keys(servers) as ReadonlyArray<string>).flatMap((key) => {
    const utilisation = Number(key) as Utilisation
    const cell = cells[utilisation]
    return cell === undefined ? [] : [{ strategy, utilisation, cell }]
  })

const after = (median: number, deviation: number): Required<Cell>["after"] => ({ median, deviation })

const back: Cell = { stuck: 0 }

const stuck: Cell = { stuck: 100 }

const clean = (load: number): Cell => ({ stuck: 0, after: after(0, 0), load })

const cleanTable = { 25: clean(1), 38: clean(1), 43: clean(1), 46: clean(1), 50: clean(1), 63: clean(0.99), 83: back }

/** Medians that stand for too few runs are left out. */
const table: ReadonlyArray<Panel> = [
  ...row(twiceAtOnce, {
    25: { stuck: 0, after: after(0, 0), load: 3.03 },
    38: { stuck: 0, after: after(0, 0), load: 2.78 },
    43: { stuck: 3, after: after(0, 52), load: 2.62 },
    46: { stuck: 48, after: after(150, 84), load: 2.55 },
    50: { stuck: 98, load: 2.51 },
    63: { stuck: 100, load: 2.49 }
  }),
  ...row(thriceAtOnce, {
    25: { stuck: 0, after: after(50, 6), load: 3.95 },
    38: { stuck: 65, after: after(150, 109), load: 3.1 },
    43: { stuck: 100, load: 2.99 },
    46: stuck,
    50: stuck,
    63: stuck
  }),
  ...row(withBackoff, {
    25: { stuck: 0, after: after(400, 0), load: 2.44 },
    38: { stuck: 0, after: after(400, 0), load: 2.41 },
    43: { stuck: 0, after: after(400, 18), load: 2.39 },
    46: { stuck: 10, after: after(400, 182), load: 2.37 },
    50: { stuck: 80, after: after(900, 298), load: 2.34 },
    63: stuck
  }),
  ...row(withJitter, {
    25: { stuck: 0, after: after(300, 24), load: 3.15 },
    38: { stuck: 0, after: after(300, 30), load: 2.91 },
    43: { stuck: 83, after: after(350, 119), load: 2.76 },
    46: stuck,
    50: stuck,
    63: stuck
  }),
  ...row(twiceWithJitter, {
    25: { stuck: 0, after: after(150, 9), load: 2.81 },
    38: { stuck: 0, after: after(150, 14), load: 2.68 },
    43: { stuck: 0, after: after(150, 20), load: 2.56 },
    46: { stuck: 8, after: after(150, 84), load: 2.52 },
    50: { stuck: 70, after: after(300, 112), load: 2.46 },
    63: stuck
  }),
  ...row(withBudget, cleanTable),
  ...row(withBudgetThrice, cleanTable),
  ...row(withBreaker, { 25: clean(0.99), 38: back, 43: back, 46: back, 50: back, 63: back }),
  // The servers of the table drop at once and answer so; how soon they are back, and their load, are others.
  ...row(withDrops, { 25: back, 38: back, 43: back, 46: back, 50: back, 63: back })
]

const shorter: Panel = { strategy: twiceAtOnce, utilisation: 46, outage: 400, cell: back }

const longer: Panel = { strategy: twiceAtOnce, utilisation: 46, outage: 700, cell: stuck }

const cellOf = (strategy: Strategy, utilisation: Utilisation): Panel =>
  table.find((panel) => panel.strategy === strategy && panel.utilisation === utilisation)!

/**
 * Three runs of the panels that part the strategies: at 46 % a shorter outage, and what jitter does; at 63 % what comes back
 * at all.
 *
 * @category storms
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm.Storm> = [
  storm(everyDay)(shorter),
  storm(everyDayLonger)(cellOf(withBackoff, 46)),
  storm(everyDay)(cellOf(withJitter, 46)),
  ...[twiceAtOnce, withBudget, withBreaker, withDrops].map((strategy) => storm(everyDay)(cellOf(strategy, 63)))
]

/**
 * Every strategy at every utilisation, forty runs each: the better part of an hour.
 *
 * @category storms
 * @since 0.1.0
 */
export const full: ReadonlyArray<Storm.Storm> = [...table, shorter, longer].map(storm(inFull))
