/**
 * Whether clients wait for each other's answers. In an **open** loop calls come whatever becomes of those before, as from the
 * users of a website; in a **closed** one a client calls again when it has its answer, as a worker at a queue does.
 *
 * ```text
 *                       open loop                        closed loop
 * backoff               puts calls off, saves none       puts off the next first try, and so saves calls
 * slow answers          a queue without bounds           at most as many calls wait as there are clients
 * asking again          more calls the slower it gets    never more calls at a time
 * ```
 *
 * Two models. A server that fails a share f of its calls, whatever its load, with three retries (Brooker 2022, "What is Backoff
 * For?"). And one server, first come, first served, busy for 80 % of its time, that takes 0.1 ms for a call and now and then a
 * hundred times as long; clients ask again for what took longer than 15 ms (Brooker 2023, "Open and Closed, Omission and
 * Collapse").
 *
 * @since 0.1.0
 */
import { Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import { Clients, Distribution, Latency, type Scenario, Service, Simulation, Trace } from "@breakwater/simulation"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { pipe } from "effect/Function"
import * as Schedule from "effect/Schedule"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// figures of many runs
// -----------------------------------------------------------------------------

/** @internal */
export interface ManyRuns<A> extends Omit<Storm.OnceOptions, "figures"> {
  /** How many: the run that is shown, seed 1, and those of the next seeds. */
  readonly runs: number
  /** What is taken from each of them. */
  readonly each: (trace: Trace.Trace) => A
  /** `of` makes a measure of what all of them gave. */
  readonly figures: (of: (all: (runs: ReadonlyArray<A>) => number) => Storm.Figure["measure"]) => ReadonlyArray<Storm.Figure>
}

/**
 * A storm whose figures are taken from the traces of several runs. They are run when the first of its figures is measured.
 *
 * @internal
 */
export const manyRuns = <A>({ each, figures, runs, ...described }: ManyRuns<A>): Storm.Storm => {
  const storm = Storm.once({ ...described, figures: [] })
  const further = Array.from({ length: runs - 1 }, (_, index) => storm.seed + 1 + index)
  const known = new WeakMap<Trace.Trace, ReadonlyArray<A>>()
  const taken = (shown: Trace.Trace): ReadonlyArray<A> => [
    each(shown),
    ...further.map((seed) => each(Effect.runSync(Simulation.run(storm.scenario, { seed }))))
  ]
  return {
    ...storm,
    figures: figures((all) => ({ trace }) => {
      const values = known.get(trace) ?? taken(trace)
      known.set(trace, values)
      return all(values)
    })
  }
}

/** @internal */
export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits))

/** How large the runs of a panel are. */
interface Scale {
  /** What the name of a storm ends in. */
  readonly suffix: string
  readonly runs: number
  /** For how long calls come. */
  readonly seconds: number
}

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

const millis = (seconds: number) => `${Math.round(1000 * seconds)} millis` as const

// -----------------------------------------------------------------------------
// what backoff saves: model
// -----------------------------------------------------------------------------

const hop = 0.01

const think = 0.1

const clientCount = 100

const failing = (share: number): Service.Service =>
  pipe(
    Service.unlimited({ takes: 0 }),
    Service.failing({ share }),
    Service.remote({ hop: Latency.exponential({ mean: millis(hop) }) })
  )

/** A hundred clients that together call a thousand times a second, at random, for so long. */
const independent = (seconds: number): Clients.Clients => {
  const calls = Clients.openLoop({ rate: clientCount / think })
  return {
    ...calls,
    description: `${calls.description}, for ${seconds} seconds`,
    *arrivals(random) {
      for (const at of calls.arrivals(random)) {
        if (at >= seconds * 1e6) return
        yield at
      }
    }
  }
}

/** A hundred clients with one call at a time, a tenth of a second, on average, after the answer to the last. */
const serial: Clients.Clients = Clients.closedLoop({
  clients: clientCount,
  think: Latency.exponential({ mean: millis(think) })
})

interface Wait {
  readonly inWords: string
  readonly schedule: Schedule.Schedule<unknown>
  /** Seconds that a call of so many attempts has waited. */
  readonly waited: (attempts: number) => number
}

const atOnce: Wait = { inWords: "at once", schedule: Backoff.constant({ delay: 0 }), waited: () => 0 }

const withBackoff: Wait = {
  inWords: "after 0.1, 0.2 and 0.4 s",
  schedule: Backoff.exponential({ base: "100 millis" }),
  waited: (attempts) => 0.1 * (2 ** (attempts - 1) - 1)
}

const threeRetries = ({ schedule }: Wait): Scenario.Client =>
  Retry.retry({ schedule: schedule.pipe(Limit.retries(3)), log: false })

/** What began while calls came, with all its attempts. */
interface Begun {
  readonly firstTries: number
  readonly attempts: number
}

const begun =
  (seconds: number) =>
  (trace: Trace.Trace): Begun => {
    const operations = Trace.operations(trace).filter(({ startedAt }) => startedAt < seconds * 1e6)
    return { firstTries: operations.length, attempts: sum(operations.map(({ attempts }) => attempts.length)) }
  }

// -----------------------------------------------------------------------------
// what backoff saves: expected
// -----------------------------------------------------------------------------

/** By how many attempts a call ends, and how likely. */
const ends = (share: number): ReadonlyArray<{ readonly attempts: number; readonly probability: number }> =>
  [1, 2, 3, 4].map((attempts) => ({
    attempts,
    probability: attempts === 4 ? share ** 3 : share ** (attempts - 1) * (1 - share)
  }))

/** 1 + f + f² + f³, and the deviation of a single call. */
const attemptsOf = (share: number): { readonly mean: number; readonly deviation: number } => {
  const mean = sum(ends(share).map(({ attempts, probability }) => attempts * probability))
  const squares = sum(ends(share).map(({ attempts, probability }) => attempts ** 2 * probability))
  return { mean, deviation: Math.sqrt(squares - mean ** 2) }
}

interface Expected {
  readonly mean: number
  readonly deviation: number
}

/**
 * What a serial client does in so many seconds, as a renewal process. From one first try to the next it takes the hops and the
 * waits of the call, and thinking; the first try of all is at the start, so there are T / μ + E[X²] / (2 μ²) of them.
 */
const renewals = (share: number, { waited }: Wait, seconds: number): { readonly [Of in keyof Begun]: Expected } => {
  const cycles = ends(share).map(({ attempts, probability }) => ({
    attempts,
    probability,
    mean: think + 2 * hop * attempts + waited(attempts),
    variance: think ** 2 + 2 * attempts * hop ** 2
  }))
  const length = sum(cycles.map(({ mean, probability }) => probability * mean))
  const squares = sum(cycles.map(({ mean, probability, variance }) => probability * (mean ** 2 + variance)))
  const each = attemptsOf(share).mean
  const firstTries = seconds / length + squares / (2 * length ** 2)
  // Of the attempts of a cycle, less what its length leads to expect.
  const spread = sum(
    cycles.map(
      ({ attempts, mean, probability, variance }) =>
        probability * ((attempts - (each * mean) / length) ** 2 + (each / length) ** 2 * variance)
    )
  )
  const deviation = (perCycle: number): number => Math.sqrt((clientCount * seconds * perCycle) / length)
  return {
    firstTries: { mean: clientCount * firstTries, deviation: deviation((squares - length ** 2) / length ** 2) },
    attempts: { mean: clientCount * firstTries * each, deviation: deviation(spread) }
  }
}

/** A mean of so many, in a band of 3.5 standard errors. */
const meanOf = (
  name: string,
  { deviation, mean }: Expected,
  count: number,
  digits: number,
  measure: Storm.Figure["measure"]
): Storm.Figure =>
  Storm.within(name, rounded(mean, digits), rounded((3.5 * deviation) / Math.sqrt(count), digits), digits, measure)

const firstTriesIn = (runs: ReadonlyArray<Begun>): number => sum(runs.map(({ firstTries }) => firstTries))

const attemptsIn = (runs: ReadonlyArray<Begun>): number => sum(runs.map(({ attempts }) => attempts))

const loadIn = (runs: ReadonlyArray<Begun>): number => attemptsIn(runs) / firstTriesIn(runs)

// -----------------------------------------------------------------------------
// what backoff saves
// -----------------------------------------------------------------------------

const whatIsBackoffFor = "Brooker 2022, What is Backoff For?"

const percent = (share: number): number => rounded(100 * share, 2)

interface Saved {
  readonly share: number
  readonly wait: Wait
  readonly scale: Scale
}

const saving = (
  described: Saved & Pick<ManyRuns<Begun>, "id" | "title" | "lesson" | "clients" | "figures" | "source">
): Storm.Storm => {
  const { scale, share, wait, ...rest } = described
  return manyRuns({
    ...rest,
    id: `${described.id}-${percent(share)}${scale.suffix}`,
    title: `${described.title}, ${percent(share)} % fail, retries ${wait === atOnce ? "at once" : "with backoff"}`,
    policy: `3 retries, ${wait.inWords}.`,
    service: failing(share),
    client: threeRetries(wait),
    // What has begun ends within a second.
    until: millis(scale.seconds + 1),
    runs: scale.runs,
    each: begun(scale.seconds)
  })
}

const inAnOpenLoop = (saved: Saved): Storm.Storm => {
  const { scale, share, wait } = saved
  const calls = Math.round((scale.runs * scale.seconds * clientCount) / think)
  return saving({
    ...saved,
    id: wait === atOnce ? "OC1" : "OC2",
    title: "Open loop",
    lesson:
      wait === atOnce
        ? "What retries add while calls come independent of each other: the measure of what backoff saves."
        : "The next user comes whether or not this one waits: backoff puts the retries off and sends no fewer. The same load, to the second digit.",
    clients: independent(scale.seconds),
    figures: (of) => [meanOf("load", attemptsOf(share), calls, 4, of(loadIn))],
    source: `${whatIsBackoffFor}: 1 + f + f² + f³ with and without backoff; band of 3.5 standard errors of ${calls} first tries, ${scale.runs} runs`
  })
}

const inSeries = (saved: Saved): Storm.Storm => {
  const { scale, share, wait } = saved
  const expected = renewals(share, wait, scale.seconds)
  const withoutBackoff = renewals(share, atOnce, scale.seconds).attempts.mean
  const relative = (value: number): number => (100 * value) / withoutBackoff
  return saving({
    ...saved,
    id: wait === atOnce ? "OC3" : "OC4",
    title: "A hundred serial clients",
    lesson:
      wait === atOnce
        ? "Clients that wait for their answers, the measure of what backoff saves there."
        : "A client that waits to retry makes its next first try later: all calls together become fewer, the attempts of each do not. Less work, not later work, is what relieves a long overload.",
    clients: serial,
    figures: (of) => [
      meanOf("load", attemptsOf(share), scale.runs * expected.firstTries.mean, 4, of(loadIn)),
      meanOf(
        "first tries a run",
        expected.firstTries,
        scale.runs,
        0,
        of((runs) => firstTriesIn(runs) / runs.length)
      ),
      meanOf(
        "attempts, % of those at once",
        { mean: relative(expected.attempts.mean), deviation: relative(expected.attempts.deviation) },
        scale.runs,
        1,
        of((runs) => relative(attemptsIn(runs) / runs.length))
      )
    ],
    source: `${whatIsBackoffFor}: fewer first tries, each with 1 + f + f² + f³ attempts; their number from renewal theory; bands of 3.5 standard errors of ${scale.runs} runs`
  })
}

/** Clients of one kind, without and with backoff, for each share of calls that fail. */
const whatBackoffSaves = (
  panel: (saved: Saved) => Storm.Storm,
  shares: ReadonlyArray<number>,
  scale: Scale
): ReadonlyArray<Storm.Storm> => shares.flatMap((share) => [atOnce, withBackoff].map((wait) => panel({ share, wait, scale })))

// -----------------------------------------------------------------------------
// asking again: model
// -----------------------------------------------------------------------------

const usual = Latency.exponential({ mean: "100 micros" })

const rare = Latency.exponential({ mean: "10 millis" })

const bimodal: Latency.Latency = {
  description: `${usual.description}, or, once in 1000, ${rare.description}`,
  sample: (random) => (random.next() < 0.999 ? usual : rare).sample(random)
}

/** Milliseconds. */
const meanTime = 0.999 * 0.1 + 0.001 * 10

const busy = 0.8

/** Calls in a second. */
const rate = (1000 * busy) / meanTime

/** Milliseconds after which an answer is not used. */
const patience = 15

const users: Clients.Clients = Clients.openLoop({ rate: rounded(rate, 1) })

const workerCount = 10

/** They keep the server as busy as the users do, as long as it is quick. */
const workers: Clients.Clients = Clients.closedLoop({
  clients: workerCount,
  think: Latency.exponential({
    mean: Duration.micros(BigInt(Math.round(1000 * meanTime * (1 - busy + (workerCount - 1) / busy))))
  })
})

/** Long enough for calls that came in it to wait longer than anybody has patience for. */
const stall = { from: 0.05, to: 0.08 }

const server = (stalls: boolean): Service.Service =>
  Service.queue({
    servers: 1,
    takes: bimodal,
    pause: stalls ? { from: millis(stall.from), to: millis(stall.to) } : undefined
  })

const tooSlow = Effect.fail({ _tag: "TooSlow" } as const)

const again = Retry.retry({ schedule: Schedule.forever, log: false })

const waiting: Scenario.Client = (call) => call

/** An answer that took too long is thrown away, when it is there, and asked for once more. */
const askingAgain: Scenario.Client = (call) =>
  again(Effect.flatMap(Effect.timed(call), ([took]) => (Duration.greaterThan(took, patience) ? tooSlow : Effect.void)))

const limited = { schedule: Schedule.forever.pipe(Limit.retries(1)), attemptTimeout: patience, log: false } as const

const cutting: Scenario.Client = Retry.retry(limited)

const cuttingWithBudget: Scenario.Scenario["client"] = Effect.map(
  RetryBudget.make(RetryBudget.ratio({ percent: 10, reservePerSecond: 0 })),
  (budget): Scenario.Client => Retry.retry({ ...limited, budget })
)

/** Calls that the server has not begun; one that finds it free counts for an instant. */
interface Queue {
  readonly most: number
  /** Of the run's end. */
  readonly left: number
  /** By how many it grew in the second half of the run for each operation that came in it. */
  readonly growth: number
}

const queueOf = ({ events, until }: Trace.Trace): Queue => {
  const counts = { queue: 0, most: 0, operations: 0 }
  let half = counts
  for (const { _tag, at } of events) {
    if (half === counts && at >= until / 2) half = { ...counts }
    if (_tag === "OperationStarted") counts.operations++
    if (_tag === "AttemptStarted") counts.most = Math.max(counts.most, ++counts.queue)
    if (_tag === "WorkStarted") counts.queue--
  }
  return {
    most: counts.most,
    left: counts.queue,
    growth: (counts.queue - half.queue) / (counts.operations - half.operations)
  }
}

// -----------------------------------------------------------------------------
// asking again
// -----------------------------------------------------------------------------

const openAndClosed = "Brooker 2023, Open and Closed, Omission and Collapse"

const runawayInWords = "A run is a runaway if at its end more calls wait than the server does in a tenth of a second"

interface Asked {
  readonly id: string
  readonly title: string
  readonly lesson: string
  readonly policy: string
  readonly clients: Clients.Clients
  readonly client: Scenario.Scenario["client"]
  readonly runsAway: boolean
  readonly figures?: ManyRuns<Queue>["figures"]
}

/** With one stall for certain, or for long enough that the slow calls of the model bring one about. */
const asking =
  (scale: Scale, stalls: boolean) =>
  ({ figures, id, runsAway, ...described }: Asked): Storm.Storm =>
    manyRuns({
      ...described,
      id: `${id}${scale.suffix}`,
      service: server(stalls),
      until: millis(scale.seconds),
      runs: scale.runs,
      each: queueOf,
      figures: (of) => [
        Storm.exactly(
          `runaways, of ${scale.runs} runs`,
          runsAway ? scale.runs : 0,
          of((runs) => runs.filter(({ left }) => left > 100 / meanTime).length)
        ),
        ...(figures?.(of) ?? [])
      ],
      source: stalls
        ? `${openAndClosed}, with a stall of 30 ms for certain instead of waiting for a slow call. ${runawayInWords}`
        : `${openAndClosed}; its model in another implementation gives the mean greatest queue, from 1000 runs, in a band of 3.5 standard errors of ${scale.runs} runs. ${runawayInWords}`
    })

type Panel = Omit<Asked, "figures">

const askingAgainInWords =
  "Model-only: an answer that took longer than 15 ms is thrown away when it is there; an AttemptTimeout would have cut its call. Retries without limit, at once."

const patientUsers: Panel = {
  id: "OC5",
  title: "Users who wait",
  lesson: "A queue that a slow call has left is worked off, as the server has a fifth of its time to spare.",
  policy: "No retries.",
  clients: users,
  client: waiting,
  runsAway: false
}

const usersWhoAskAgain: Panel = {
  id: "OC6",
  title: "Users who ask again after 15 ms (model-only)",
  lesson:
    "15 ms are more than 15 times what 99 of 100 calls take, and look safe. After one stall each answer is too late and asked for again: the queue grows by every call that comes, for ever.",
  policy: askingAgainInWords,
  clients: users,
  client: askingAgain,
  runsAway: true
}

const workersWhoAskAgain: Panel = {
  id: "OC7",
  title: "Ten workers who ask again after 15 ms (model-only)",
  lesson: "The same retries in a closed loop: who waits for an answer sends nothing else, so the queue has an end.",
  policy: askingAgainInWords,
  clients: workers,
  client: askingAgain,
  runsAway: false
}

const usersWithATimeLimit: Panel = {
  id: "OC8",
  title: "Users with a time limit of 15 ms",
  lesson:
    "Most clients do not wait for the late answer: they cut the call and send it once more. One retry is enough, for 1.6 times what the server can carry then comes.",
  policy: "2 attempts of 15 ms, the second at once.",
  clients: users,
  client: cutting,
  runsAway: true
}

const usersWithABudget: Panel = {
  id: "OC9",
  title: "Users with a time limit and a budget",
  lesson: "A budget of 10 % leaves the server at most 88 % busy: what a stall has left is worked off as if nobody retried.",
  policy: "2 attempts of 15 ms, the second at once. Retries at most 10 % of the requests of the last ten seconds.",
  clients: users,
  client: cuttingWithBudget,
  runsAway: false
}

const most = (runs: ReadonlyArray<Queue>): number => Math.max(...runs.map((run) => run.most))

const everyWorkerWaits: ManyRuns<Queue>["figures"] = (of) => [Storm.atMost("greatest queue", workerCount, 0, of(most))]

/** After a stall that all runs have. What ends is watched for twice as long as what does not. */
const afterAStall = (scale: Scale): ReadonlyArray<Storm.Storm> => {
  const runaway = asking(scale, true)
  const ending = asking({ ...scale, seconds: 2 * scale.seconds }, true)
  return [
    ending(patientUsers),
    runaway({
      ...usersWhoAskAgain,
      figures: (of) => [
        Storm.within(
          "growth for a call that comes",
          1,
          0,
          4,
          of((runs) => Distribution.mean(runs.map(({ growth }) => growth)))
        )
      ]
    }),
    ending({ ...workersWhoAskAgain, figures: everyWorkerWaits }),
    runaway(usersWithATimeLimit),
    ending(usersWithABudget)
  ]
}

/** In the slow calls that there are. */
const withoutAStall = (scale: Scale): ReadonlyArray<Storm.Storm> => {
  const panel = asking(scale, false)
  const greatestQueue =
    (expected: Expected): ManyRuns<Queue>["figures"] =>
    (of) => [
      meanOf(
        "greatest queue",
        expected,
        scale.runs,
        0,
        of((runs) => Distribution.mean(runs.map((run) => run.most)))
      )
    ]
  return [
    panel({ ...patientUsers, figures: greatestQueue({ mean: 364, deviation: 127 }) }),
    panel({ ...usersWhoAskAgain, figures: greatestQueue({ mean: 31_635, deviation: 4784 }) }),
    panel({ ...workersWhoAskAgain, figures: everyWorkerWaits })
  ]
}

// -----------------------------------------------------------------------------
// all of them
// -----------------------------------------------------------------------------

/**
 * Three short runs of each.
 *
 * @category storms
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm.Storm> = [
  ...whatBackoffSaves(inAnOpenLoop, [0.1, 0.5], { suffix: "", runs: 3, seconds: 1 }),
  ...whatBackoffSaves(inSeries, [0.5], { suffix: "", runs: 3, seconds: 3 }),
  ...afterAStall({ suffix: "", runs: 3, seconds: 0.25 })
]

const twentyRuns: Scale = { suffix: "-full", runs: 20, seconds: 10 }

/**
 * Twenty runs of each, as long as those of the sources: some ten minutes. The loads of the open loop, with backoff and without
 * it, are then known to less than 0.01.
 *
 * @category storms
 * @since 0.1.0
 */
export const full: ReadonlyArray<Storm.Storm> = [
  ...whatBackoffSaves(inAnOpenLoop, [0.1, 0.5], twentyRuns),
  ...whatBackoffSaves(inSeries, [0.1, 0.5], twentyRuns),
  ...withoutAStall({ ...twentyRuns, seconds: 5 })
]
