/**
 * Storms whose figures follow from arithmetic: what retries multiply to, and what a budget, a deadline and a guard leave of it. The
 * counting rule everywhere: attempts = 1 + retries.
 *
 * The dependency is down, fails a share of its calls, or hangs; how many calls reach it is the figure.
 *
 * @since 0.1.0
 */
import { AdaptiveThrottle, Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import type { Scenario } from "@breakwater/simulation"
import { Clients, Service, Trace } from "@breakwater/simulation"
import * as Effect from "effect/Effect"
import { pipe } from "effect/Function"
import type * as Schedule from "effect/Schedule"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

const answering = Service.unlimited({ takes: "10 millis" })

const down = Service.outage(answering, { from: 0, to: "1 hour", how: Service.refused(503) })

/** So many attempts in all, 10 ms apart. */
const attempts = (count: number): Schedule.Schedule<unknown> =>
  Backoff.constant({ delay: "10 millis" }).pipe(Limit.attempts(count))

/** What every client does, alone. */
const retrying = (count: number) => Retry.retry({ schedule: attempts(count), log: false })

/** Three attempts each, out of a budget that all clients of a run share. */
const sharing = (ledger: RetryBudget.Ledger): Scenario.Scenario["client"] =>
  Effect.map(RetryBudget.make(ledger), (budget): Scenario.Client => Retry.retry({ schedule: attempts(3), budget, log: false }))

type Described = Omit<Storm.OnceOptions, "service" | "until"> & Partial<Pick<Storm.OnceOptions, "service" | "until">>

/** Down, for as long as anybody asks. */
const storm = (described: Described): Storm.Storm => Storm.once({ service: down, until: "60 seconds", ...described })

const total = ({ summary }: Storm.Outcome) => summary.attempts
const load = ({ summary }: Storm.Outcome) => summary.amplification

const reached =
  (layer: string) =>
  ({ summary }: Storm.Outcome): number =>
    summary.calls[layer]!

/** A mean over the operations of a run, in a band of 3.5 standard errors. */
const meanLoad = (expected: number, deviation: number, operations: number): Storm.Figure =>
  Storm.within("load", expected, Number(((3.5 * deviation) / Math.sqrt(operations)).toFixed(4)), 4, load)

// -----------------------------------------------------------------------------
// what retries multiply to
// -----------------------------------------------------------------------------

const sre21 = "SRE book, chapter 21, Handling Overload"
const sre22 = "SRE book, chapter 22, Addressing Cascading Failures"

/**
 * A limit for each request, and a dependency that is down, or nearly.
 *
 * @category what retries multiply to
 * @since 0.1.0
 */
export const limitPerRequest: ReadonlyArray<Storm.Storm> = [
  storm({
    id: "S1",
    title: "A limit for each request",
    lesson: "Three attempts each bound a request, and treble the load on what is down.",
    policy: "3 attempts.",
    clients: Clients.together(1000),
    client: retrying(3),
    figures: [Storm.exactly("load", 3, load)],
    source: sre21
  }),
  ...[
    { id: "S1b", rate: 0.9, expected: 2.71, deviation: 0.6371 },
    { id: "S1c", rate: 0.99, expected: 2.9701, deviation: 0.2214 }
  ].map(({ deviation, expected, id, rate }) =>
    storm({
      id,
      title: `A limit for each request, ${100 * rate} % fail`,
      lesson: "Close to an outage, retries multiply nearly as much as in one.",
      policy: "3 attempts.",
      service: Service.failing(answering, { share: rate }),
      clients: Clients.together(10_000),
      client: retrying(3),
      figures: [meanLoad(expected, deviation, 10_000)],
      source: `${sre21}: 1 + r + r², with r the share that fails; band of 3.5 standard errors`
    })
  )
]

/**
 * Two retries for each of a thousand requests.
 *
 * @category what retries multiply to
 * @since 0.1.0
 */
export const twoRetriesEach: Storm.Storm = storm({
  id: "S11",
  title: "A thousand requests, two retries each",
  lesson: "A thousand failures become three thousand calls.",
  policy: "2 retries.",
  clients: Clients.together(1000),
  client: retrying(3),
  figures: [Storm.exactly("attempts", 3000, total)],
  source: `"Retry, Backoff, Jitter" (Korean blog)`
})

/**
 * Retries without a limit, of a dependency that fails a share of its calls.
 *
 * @category what retries multiply to
 * @since 0.1.0
 */
export const withoutLimit: ReadonlyArray<Storm.Storm> = [
  { id: "S12a", rate: 0.5, expected: 2, deviation: Math.SQRT2 },
  { id: "S12b", rate: 0.9, expected: 10, deviation: 9.4868 }
].map(({ deviation, expected, id, rate }) =>
  storm({
    id,
    title: `Without a limit, ${100 * rate} % fail`,
    lesson: "Each failure comes back until it passes: the load is a geometric series.",
    policy: "Retries without limit.",
    service: Service.failing(answering, { share: rate }),
    clients: Clients.together(3000),
    client: Retry.retry({ schedule: Backoff.constant({ delay: "10 millis" }), log: false }),
    figures: [meanLoad(expected, deviation, 3000)],
    source: "1 / (1 - r), with r the share that fails; band of 3.5 standard errors"
  })
)

/** Services behind each other, each a process of its own with the same policy, and what reaches the last of them. */
const layers = (
  described: Pick<Described, "id" | "title" | "source"> & { readonly tries: ReadonlyArray<number>; readonly calls: number }
): Storm.Storm => {
  const [client, ...behind] = described.tries
  return storm({
    ...described,
    lesson: "Every layer multiplies what the one above has multiplied. Retry in one place.",
    policy: `${described.tries.join(", then ")} attempts, layer by layer.`,
    service: behind.reduceRight<Service.Service>(
      (service, tries, index) => Service.behind(service, { layer: `layer ${index + 2}`, policy: retrying(tries) }),
      down
    ),
    clients: Clients.together(1),
    client: retrying(client!),
    figures: [Storm.exactly("calls of the last layer", described.calls, reached("service"))]
  })
}

/**
 * Layers that each retry.
 *
 * @category what retries multiply to
 * @since 0.1.0
 */
export const layersThatRetry: ReadonlyArray<Storm.Storm> = [
  layers({ id: "S6", title: "Three layers of four attempts", tries: [4, 4, 4], calls: 64, source: `${sre22}: 4³` }),
  layers({
    id: "S9",
    title: "Five layers of three attempts",
    tries: [3, 3, 3, 3, 3],
    calls: 243,
    source: "Amazon Builders' Library, Timeouts, retries and backoff with jitter: 3⁵ (three tries, though it says retries)"
  }),
  layers({
    id: "S10",
    title: "An app behind a sidecar",
    tries: [3, 3],
    calls: 9,
    source: "Istio's default of two retries under an app's three attempts"
  }),
  layers({
    id: "S11b",
    title: "Three layers of three attempts",
    tries: [3, 3, 3],
    calls: 27,
    source: `"Retry, Backoff, Jitter" (Korean blog): 3³`
  })
]

/**
 * The same three layers in one process, where an inner retry sees the outer one.
 *
 * @category what retries multiply to
 * @since 0.1.0
 */
export const layersWithGuard: Storm.Storm = storm({
  id: "S6b",
  title: "Three layers of four attempts, guarded",
  lesson: "An inner retry that sees an outer one makes a single attempt: the product becomes the outermost layer's number.",
  policy: "4 attempts in each of three layers of one process, with the guard of RetryScope.",
  clients: Clients.together(1),
  client: (call) => pipe(call, retrying(4), retrying(4), retrying(4)),
  figures: [Storm.exactly("attempts", 4, total)],
  source: "The guard: 4 instead of 4³"
})

// -----------------------------------------------------------------------------
// what a budget leaves of it
// -----------------------------------------------------------------------------

/**
 * Three attempts each and a budget of 10 %, in both readings of the ratio.
 *
 * @category what a budget leaves of it
 * @since 0.1.0
 */
export const tenPercent: ReadonlyArray<Storm.Storm> = [
  storm({
    id: "S2a",
    title: "A budget of 10 % of the requests",
    lesson: "The budget bounds what all requests together add: a tenth, where each alone may treble its own.",
    policy: "3 attempts, retries at most 10 % of the requests.",
    clients: Clients.together(10_000),
    client: sharing(RetryBudget.ratio({ percent: 10, reservePerSecond: 0 })),
    figures: [Storm.exactly("attempts", 11_000, total), Storm.within("load", 1.1, 0, 4, load)],
    source: `${sre21}: its number, 1.1, takes the ratio of retries to requests`
  }),
  storm({
    id: "S2b",
    title: "A budget of 10 % of all attempts",
    lesson: "Counted against all attempts, retries included, the same 10 % are a ninth of the requests.",
    policy: "3 attempts, retries at most 10 % of all attempts.",
    clients: Clients.together(10_000),
    client: sharing(RetryBudget.ratio({ percent: 10, reservePerSecond: 0, of: "attempts" })),
    figures: [
      Storm.exactly("attempts", 11_111, total),
      Storm.within("load", 1.1111, 0, 4, ({ summary }) => round4(summary.amplification))
    ],
    source: `${sre21}: its wording, "the ratio of requests that correspond to retries"`
  })
]

const round4 = (value: number): number => Math.round(value * 1e4) / 1e4

/** A hundred requests a second for half a minute, of which the ten seconds in the middle are an outage. */
const passingOutage = {
  service: Service.outage(answering, { from: "10 seconds", to: "20 seconds", how: Service.refused(503) }),
  clients: Clients.evenlySpaced({ rate: 100 }),
  until: "30 seconds"
} as const

const loadInOutage = ({ trace }: Storm.Outcome): number => {
  const during = trace.events.filter((event) => event._tag === "AttemptStarted" && event.at >= 10e6 && event.at < 20e6)
  return during.length / 1000
}

/**
 * An outage that passes, under steady traffic, without and with a budget.
 *
 * @category what a budget leaves of it
 * @since 0.1.0
 */
export const fullOutage: ReadonlyArray<Storm.Storm> = [
  storm({
    ...passingOutage,
    id: "S2c",
    title: "Ten seconds of outage, without a budget",
    lesson: "While it is down, the dependency gets three times its load.",
    policy: "3 attempts.",
    client: retrying(3),
    figures: [Storm.within("load during the outage", 3, 0.01, 3, loadInOutage)],
    source: sre21
  }),
  storm({
    ...passingOutage,
    id: "S2d",
    title: "Ten seconds of outage, with a budget of 10 %",
    lesson:
      "With the budget it gets a tenth more. What ten good seconds allow is spent in the first half second, enough for a passing fault; then there is nothing to spend.",
    policy: "3 attempts, retries at most 10 % of the requests of the last ten seconds.",
    client: sharing(RetryBudget.ratio({ percent: 10, reservePerSecond: 0 })),
    figures: [Storm.within("load during the outage", 1.1, 0.01, 3, loadInOutage)],
    source: sre21
  })
]

/** The most retries in any minute of a run. */
const mostInAMinute = ({ trace }: Storm.Outcome): number => {
  const at = retriesAt(trace)
  return at.reduce((most, from, index) => {
    let end = index
    while (end < at.length && at[end]! < from + 60e6) end++
    return Math.max(most, end - index)
  }, 0)
}

const retriesAt = (trace: Trace.Trace): ReadonlyArray<number> =>
  trace.events.flatMap((event) => (event._tag === "AttemptStarted" && event.attempt > 1 ? [event.at] : []))

/**
 * So many retries a minute, whatever the traffic.
 *
 * @category what a budget leaves of it
 * @since 0.1.0
 */
export const sixtyAMinute: Storm.Storm = storm({
  id: "S7",
  title: "60 retries a minute",
  lesson:
    "Whatever fails, no minute has more: not at the edge of a window either, where a counter that starts anew lets twice as many through.",
  policy: "3 attempts, at most 60 retries in any minute for the process.",
  clients: Clients.evenlySpaced({ rate: 20 }),
  client: sharing(RetryBudget.fixedRate({ retries: 60, per: "1 minute" })),
  until: "300 seconds",
  figures: [Storm.exactly("most retries in any minute", 60, mostInAMinute)],
  source: sre22
})

/** Two clients with a budget of their own each, under one of the process. */
const twoClients: Scenario.Scenario["client"] = Effect.gen(function* () {
  const ratio = RetryBudget.make(RetryBudget.ratio({ percent: 10, reservePerSecond: 0, window: "10 minutes" }))
  const process = yield* RetryBudget.make(RetryBudget.fixedRate({ retries: 60, per: "1 minute" }))
  const policies = [yield* ratio, yield* ratio].map((client) =>
    Retry.retry({ schedule: attempts(3), budget: RetryBudget.all(client, process), log: false })
  )
  return (call: Effect.Effect<void, Service.Failure>, number: number) => policies[number % 2]!(call)
})

const retriesIn = (from: number, to: number): Storm.Figure["measure"] => {
  return ({ trace }) => retriesAt(trace).filter((at) => at >= from * 1e6 && at < to * 1e6).length
}

/**
 * A budget for each client and one for the process, both of which must grant a retry.
 *
 * @category what a budget leaves of it
 * @since 0.1.0
 */
export const budgetsTogether: Storm.Storm = storm({
  id: "S15",
  title: "10 % for a client and 60 a minute for the process",
  lesson:
    "A retry is granted where both grant it, in one step. The first minute ends at the process's 60 of the clients' 100; the 40 it refused are still there two minutes later.",
  policy: "3 attempts; retries at most 10 % of a client's requests of ten minutes, and at most 60 a minute in all.",
  // A thousand requests at once, then sixty.
  clients: Clients.at([...new Array<number>(1000).fill(0), ...new Array<number>(60).fill(120_000)]),
  client: twoClients,
  until: "180 seconds",
  figures: [
    Storm.exactly("retries in the first minute", 60, retriesIn(0, 60)),
    Storm.exactly("retries in the third minute", 46, retriesIn(120, 180))
  ],
  source: "min(100, 60), then 100 - 60 + 6: neither budget loses to the other's refusal"
})

// -----------------------------------------------------------------------------
// what a deadline leaves of it
// -----------------------------------------------------------------------------

const attemptsAt = (index: number): Storm.Figure["measure"] => {
  return ({ trace }) => (Trace.operations(trace)[0]!.attempts[index]?.startedAt ?? NaN) / 1000
}

/**
 * A policy whose last attempt never happens.
 *
 * @category what a deadline leaves of it
 * @since 0.1.0
 */
export const attemptsThatDoNotFit: Storm.Storm = storm({
  id: "S14",
  title: "Four attempts of 2 s in 10 s",
  lesson:
    "Where every attempt hangs, the fourth never happens: the wait before it does not fit. The caller has the error a second early.",
  policy: "4 attempts of 2 s, waits 1, 2, 4 s, 10 s in all.",
  service: Service.outage(answering, { from: 0, to: "1 hour", how: "hang" }),
  clients: Clients.together(1),
  until: "12 seconds",
  client: Retry.retry({
    schedule: Backoff.exponential({ base: "1 second", cap: "8 seconds" }).pipe(Limit.attempts(4)),
    attemptTimeout: "2 seconds",
    deadline: "10 seconds",
    log: false
  }),
  figures: [
    Storm.exactly("attempts", 3, total),
    ...[0, 3000, 7000].map((at, index) => Storm.exactly(`attempt ${index + 1} at, ms`, at, attemptsAt(index))),
    Storm.exactly("given up at, ms", 9000, ({ trace }) => (Trace.operations(trace)[0]!.endedAt ?? NaN) / 1000)
  ],
  source: `"Retry, Backoff, Jitter" (Korean blog): its example policy, all attempts hanging`
})

// -----------------------------------------------------------------------------
// what a throttle leaves of it
// -----------------------------------------------------------------------------

/** The two minutes of the book, shortened to a tenth. */
const throttleWindow = 12

/** A second, counted from when the first window is over to the end. */
const aSecond = (times: (trace: Trace.Trace) => ReadonlyArray<number>): Storm.Figure["measure"] => {
  return ({ trace }) => times(trace).filter((at) => at >= throttleWindow * 1e6).length / (2 * throttleWindow)
}

const sent = aSecond((trace) => trace.events.flatMap((event) => (event._tag === "AttemptStarted" ? [event.at] : [])))

const accepted = aSecond((trace) =>
  trace.events.flatMap((event) => (event._tag === "AttemptEnded" && event.outcome === "succeeded" ? [event.at] : []))
)

const sentForOneAccepted: Storm.Figure["measure"] = (outcome) => sent(outcome) / accepted(outcome)

const throttled = (
  described: Pick<Described, "id" | "title" | "lesson" | "figures"> & { readonly multiplier: number; readonly demand: number }
): Storm.Storm => {
  const { demand, multiplier, ...rest } = described
  return storm({
    ...rest,
    policy: `No retries; held back by chance, so that ${multiplier} calls are sent for each that is accepted.`,
    service: Service.rateLimited({ permits: 20, per: "200 millis", takes: "10 millis" }),
    clients: Clients.evenlySpaced({ rate: demand }),
    client: Effect.map(
      AdaptiveThrottle.make({ multiplier, window: `${throttleWindow} seconds` }),
      (throttle): Scenario.Client => AdaptiveThrottle.throttled(throttle)
    ),
    until: `${3 * throttleWindow} seconds`,
    source: `${sre21}, "Client-Side Throttling"; its two minutes shortened to ${throttleWindow} s, bands of 3.5 standard errors`
  })
}

/**
 * A service that carries 100 calls a second, of which more are wanted, and clients that hold back what it would refuse.
 *
 * @category what a throttle leaves of it
 * @since 0.1.0
 */
export const clientSideThrottling: ReadonlyArray<Storm.Storm> = [
  throttled({
    id: "S3a",
    title: "Ten times too much, throttled at 2",
    lesson: "Of a thousand wanted, two hundred are sent: the service refuses one call for each that it accepts, not nine.",
    multiplier: 2,
    demand: 1000,
    figures: [
      Storm.within("sent a second", 199, 9, 1, sent),
      Storm.within("accepted a second", 98.9, 1.2, 1, accepted),
      Storm.within("sent for one accepted", 2.01, 0.09, 2, sentForOneAccepted)
    ]
  }),
  throttled({
    id: "S3b",
    title: "Ten times too much, throttled at 1.1",
    lesson: "Closer to what is accepted, one call is refused for ten; a burst finds less room, so a few permits are not used.",
    multiplier: 1.1,
    demand: 1000,
    figures: [
      Storm.within("sent a second", 103, 7, 1, sent),
      Storm.within("sent for one accepted", 1.11, 0.08, 2, sentForOneAccepted)
    ]
  }),
  throttled({
    id: "S3c",
    title: "Half as much again, throttled at 2",
    lesson: "What is refused less often than it is accepted is not held back at all.",
    multiplier: 2,
    demand: 150,
    figures: [
      Storm.exactly("held back", 0, ({ summary }) => summary.operations - summary.attempts),
      Storm.within("sent a second", 150, 0, 1, sent)
    ]
  })
]

// -----------------------------------------------------------------------------
// all of them
// -----------------------------------------------------------------------------

/**
 * @category storms
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm.Storm> = [
  ...limitPerRequest,
  ...tenPercent,
  ...fullOutage,
  ...layersThatRetry.slice(0, 1),
  layersWithGuard,
  sixtyAMinute,
  ...layersThatRetry.slice(1, 3),
  twoRetriesEach,
  ...layersThatRetry.slice(3),
  ...withoutLimit,
  attemptsThatDoNotFit,
  budgetsTogether,
  ...clientSideThrottling
]
