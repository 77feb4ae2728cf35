/**
 * What a server can say to its callers: that a retry is of no use, until when an answer is wanted, and when to come back. Each
 * of them saves work that nobody gets anything from, and only if the callers heed it.
 *
 * ```text
 * "overloaded; don't retry"   no retry after it, at whatever layer
 * the deadline of the caller  no work after it, at whatever layer
 * Retry-After                 one check for each window, instead of one for each wait
 * ```
 *
 * Chance plays no part but in the jitter of the last. The counting rule: attempts = 1 + retries.
 *
 * @since 0.1.0
 */
import { Deadline, Retry } from "@breakwater/resilience"
import { Backoff, Limit, RetryAfter } from "@breakwater/schedule"
import { Clients, type Scenario, Service, Trace } from "@breakwater/simulation"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { pipe } from "effect/Function"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// overloaded; don't retry
// -----------------------------------------------------------------------------

const sre21 = "SRE book, chapter 21, Handling Overload"

const sre22 = "SRE book, chapter 22, Addressing Cascading Failures"

const overloaded = Service.refused(503)

/** HTTP has no such status. */
const dontRetry = 599

const isWorthRetrying = (failure: Service.Failure): boolean => !(failure._tag === "Refused" && failure.status === dontRetry)

/** Three attempts, 10 ms apart. */
const threeAttempts = { schedule: Backoff.constant({ delay: "10 millis" }).pipe(Limit.attempts(3)), log: false } as const

const heeding = Retry.retry({ ...threeAttempts, while: isWorthRetrying })

const answering = Service.unlimited({ takes: "10 millis" })

/** Tells whoever called it not to retry, whatever it has been told itself. */
const finalForCallers = (call: Effect.Effect<void, Service.Failure>): Effect.Effect<unknown, Service.Failure> =>
  Effect.mapError(heeding(call), () => Service.refused(dontRetry))

/** Retries of what has been answered with "don't retry". */
const retriesInSpite: Storm.Figure = Storm.exactly(`retries after "don't retry"`, 0, ({ trace }) => {
  const followed = Trace.operations(trace).flatMap(({ attempts }) => attempts.slice(0, -1))
  return followed.filter(({ outcome }) => outcome === `refused ${dontRetry}`).length
})

const callsOf = (layer: string, expected: number): Storm.Figure =>
  Storm.exactly(`calls of ${layer}`, expected, ({ summary }) => summary.calls[layer] ?? NaN)

/**
 * Three layers with three attempts each, as in S11b, of which only the last one before the overload uses them.
 *
 * @category overloaded; don't retry
 * @since 0.1.0
 */
export const retriesInOneLayer: Storm.Storm = Storm.once({
  id: "S4a",
  title: "Three layers of three attempts that say when it is of no use",
  lesson:
    "The layer directly above retries, and then tells its callers not to: three calls instead of 27, without one process knowing of the others.",
  policy: `3 attempts in each of three layers, none after "overloaded; don't retry", which each gives to its callers.`,
  service: pipe(
    Service.outage(answering, { from: 0, to: "1 hour", how: overloaded }),
    Service.behind({ layer: "layer 3", policy: finalForCallers }),
    Service.behind({ layer: "layer 2", policy: finalForCallers })
  ),
  clients: Clients.together(1),
  client: heeding,
  until: "10 seconds",
  figures: [callsOf("layer 2", 1), callsOf("layer 3", 1), callsOf("service", 3), retriesInSpite],
  source: `${sre21}: retries in the layer directly above, and in no other; N = 1, no chance`
})

/** The most retries among the calls of the last second. */
const mostRetries = 0.1

/** Counts, from the numbers that attempts carry, how many of its calls are retries, and says so to those it cannot serve. */
const countingRetries = (self: Service.Service): Service.Service => ({
  ...self,
  description: `${self.description}; "don't retry" while more than ${100 * mostRetries} % of the calls of a second are retries`,
  open: (run) =>
    Effect.map(self.open(run), (handle): Service.Handler => {
      let calls: ReadonlyArray<{ readonly at: number; readonly retry: boolean }> = []
      return (call) =>
        Effect.suspend(() => {
          const now = run.now()
          calls = [...calls.filter(({ at }) => at > now - 1e6), { at: now, retry: call.attempt > 1 }]
          const retries = calls.filter(({ retry }) => retry).length
          const isStorm = retries > mostRetries * calls.length
          return isStorm ? Effect.mapError(handle(call), () => Service.refused(dontRetry)) : handle(call)
        })
    })
})

const outage = { from: 10, to: 20 }

const loadInOutage: Storm.Figure["measure"] = ({ trace }) => {
  const during = trace.events.filter(({ at }) => at >= outage.from * 1e6 && at < outage.to * 1e6)
  const count = (tag: Trace.Event["_tag"]): number => during.filter(({ _tag }) => _tag === tag).length
  return count("AttemptStarted") / count("OperationStarted")
}

/**
 * The outage of S2c, where three attempts make three times the load, and a server that counts the attempts.
 *
 * @category overloaded; don't retry
 * @since 0.1.0
 */
export const retriesCounted: Storm.Storm = Storm.once({
  id: "S4b",
  title: "A server that counts the retries among its calls",
  lesson:
    "Each attempt carries its number, so the server sees a storm begin, and ends it: a budget for all clients together, of which none has to know.",
  policy: `3 attempts, 10 ms apart, none after "overloaded; don't retry": the answer while more than 10 % of the calls of a second are retries.`,
  service: countingRetries(
    Service.outage(answering, { from: `${outage.from} seconds`, to: `${outage.to} seconds`, how: overloaded })
  ),
  clients: Clients.evenlySpaced({ rate: 100 }),
  client: heeding,
  until: "30 seconds",
  figures: [retriesInSpite, Storm.atMost("load in the outage", 1.14, 3, loadInOutage)],
  source: `${sre21}: no retry after the code. The twelfth retry beside 100 requests of a second is more than 10 %, and up to two more are under way by then: 1.14; N = 1, no chance`
})

// -----------------------------------------------------------------------------
// the deadline of the caller
// -----------------------------------------------------------------------------

/** Seconds. */
const patience = 2

/** Seconds that the database takes for a query. */
const query = 3

/** Seconds that orders takes before it asks the database, for each client. */
const before = [0.5, 2.5] as const

interface Hop {
  readonly scope: Scope.Scope
  /** Whether the header that says what is left is sent, and heeded. */
  readonly propagates: boolean
}

/** Another process: of its caller it knows what the header says, and it goes on when the caller has gone. */
const anotherProcess = (handle: Service.Handler, { propagates, scope }: Hop): Service.Handler => {
  return (call) =>
    Effect.flatMap(Deadline.header, (header) =>
      handle(call).pipe(
        Deadline.withinHeader(propagates ? Option.getOrUndefined(header) : undefined),
        Effect.catchTag("DeadlineExceeded", () => Effect.fail(Service.timedOut)),
        Effect.provideService(Deadline.Deadline, undefined),
        Effect.forkIn(scope),
        Effect.flatMap(Fiber.join)
      )
    )
}

/** Takes its time, or what is left of its caller's. */
const database =
  (run: Service.Run): Service.Handler =>
  (call) =>
    Effect.flatMap(Deadline.remaining, (left) => {
      const most = Option.match(left, { onNone: () => Infinity, onSome: (time) => 1000 * Duration.toMillis(time) })
      run.calls("database", call)
      run.worksFor(call, Math.min(query * 1e6, most))
      return run.sleep(query * 1e6)
    })

const ordersThenDatabase = (propagates: boolean): Service.Service => ({
  ...Service.make({
    description: `orders, ${before.join(" s or ")} s, and behind it a database, ${query} s a query`,
    open: () => () => Effect.void
  }),
  layers: ["orders", "database"],
  open: (run) =>
    Effect.map(Effect.scope, (scope) => {
      const ask = anotherProcess(database(run), { propagates, scope })
      return anotherProcess((call) => Effect.zipRight(run.sleep(1e6 * before[call.client]!), ask(call)), { propagates, scope })
    })
})

const deadlineStorm = (
  described: Pick<Storm.Storm, "id" | "title" | "lesson" | "policy" | "figures"> & { readonly propagates: boolean }
): Storm.Storm => {
  const { propagates, ...rest } = described
  return Storm.once({
    ...rest,
    service: ordersThenDatabase(propagates),
    clients: Clients.together(before.length),
    client: Deadline.within(`${patience} seconds`),
    until: "8 seconds",
    source: `${sre22}, "Deadline propagation"; gRPC documentation, "Deadlines": 2 s less 0.5 s are 1.5 s; N = 1, no chance`
  })
}

/** Seconds of work of the database for the first client, who asks it 0.5 s after the start. */
const workForTheFirst = (expected: number): Storm.Figure =>
  Storm.within("time of the 1st query, s", expected, 0, 2, ({ trace }) => Trace.operations(trace)[0]!.attempts[0]!.work / 1e6)

const workAfterwards = (expected: number): Storm.Figure =>
  Storm.within("work after the deadline, s", expected, 0, 2, ({ trace }) =>
    trace.events.reduce(
      (sum, event) =>
        event._tag === "WorkStarted" ? sum + Math.max(0, event.until / 1e6 - Math.max(patience, event.at / 1e6)) : sum,
      0
    )
  )

/**
 * Two callers who wait for 2 s, and two layers, of which the first takes half a second for one of them and 2.5 s for the other.
 *
 * @category the deadline of the caller
 * @since 0.1.0
 */
export const deadlines: ReadonlyArray<Storm.Storm> = [
  deadlineStorm({
    id: "S8a",
    title: "A time limit that only the caller knows",
    lesson: "The callers have gone after 2 s. The layers behind them neither know nor stop, and work for seconds for nobody.",
    policy: "One attempt of 2 s.",
    propagates: false,
    figures: [callsOf("database", 2), workForTheFirst(3), workAfterwards(4.5)]
  }),
  deadlineStorm({
    id: "S8b",
    title: "A deadline that goes down the chain",
    lesson:
      "Each hop tells the next what is left: 1.5 s of 2 s for the query that comes in time, and the one that comes too late is not made.",
    policy: "One attempt of 2 s; what is left goes along in a header, and nothing is done beyond it.",
    propagates: true,
    figures: [callsOf("database", 1), workForTheFirst(1.5), workAfterwards(0)]
  })
]

// -----------------------------------------------------------------------------
// when to come back
// -----------------------------------------------------------------------------

const untilRetryAfter = (jitter: number) =>
  Backoff.constant({ delay: "10 millis" }).pipe(
    RetryAfter.respect({
      of: (failure: Service.Failure) => (failure._tag === "Refused" ? failure.retryAfter : undefined),
      jitter
    })
  )

const korean = `"Retry, Backoff, Jitter" (Korean blog)`

const limiter = (
  described: Pick<Storm.Storm, "id" | "title" | "lesson" | "policy" | "figures" | "source"> & {
    readonly client: Scenario.Client
  }
): Storm.Storm =>
  Storm.once({
    ...described,
    service: Service.rateLimited({ permits: 5, per: "1 second", takes: 0 }),
    clients: Clients.together(20),
    until: "5 seconds"
  })

const checks = (expected: number): Storm.Figure => Storm.exactly("checks", expected, ({ summary }) => summary.attempts)

const refused = (expected: number): Storm.Figure =>
  Storm.exactly(
    "refused",
    expected,
    ({ trace }) => trace.events.filter((event) => event._tag === "AttemptEnded" && event.outcome === "refused 429").length
  )

const everybody: Storm.Figure = Storm.exactly("succeeded", 20, ({ summary }) => summary.succeeded)

/** The most checks in ten milliseconds, once the first 20 are over. */
const peak: Storm.Figure["measure"] = ({ trace }) => {
  const bins = new Map<number, number>()
  for (const { _tag, at } of trace.events) {
    const bin = Math.floor(at / 10_000)
    if (_tag === "AttemptStarted" && at > 0) bins.set(bin, (bins.get(bin) ?? 0) + 1)
  }
  return Math.max(...bins.values())
}

const peakOf = "most checks in 10 ms, later"

/**
 * Twenty clients at once, and a limiter that lets five through in a second: what it costs to ask it.
 *
 * @category when to come back
 * @since 0.1.0
 */
export const limiterUnderRepeats: ReadonlyArray<Storm.Storm> = [
  limiter({
    id: "S13a",
    title: "A limiter asked every 10 ms",
    lesson: "To be refused is cheap for who asks, and not for the limiter: 3,020 checks for 20 calls.",
    policy: "Retries without limit, 10 ms apart.",
    client: Retry.retry({ schedule: Backoff.constant({ delay: "10 millis" }), log: false }),
    figures: [checks(3020), refused(3000), everybody],
    source: `${korean}: (15 + 10 + 5) × 100 refusals and 20; N = 1, no chance`
  }),
  limiter({
    id: "S13b",
    title: "A limiter whose Retry-After is obeyed",
    lesson: "It knows when there is something to have. 50 checks, and nobody has to wait longer for it.",
    policy: "Retries without limit, when Retry-After says.",
    client: Retry.retry({ schedule: untilRetryAfter(0), log: false }),
    figures: [checks(50), refused(30), everybody, Storm.exactly(peakOf, 15, peak)],
    source: `${korean}: 15 + 10 + 5 refusals and 20, at the instants at which a window begins; N = 1, no chance`
  }),
  limiter({
    id: "S13c",
    title: "A limiter whose Retry-After is obeyed, with jitter",
    lesson: "As few checks, and not all in one instant: jitter on top of Retry-After, never below.",
    policy: "Retries without limit, when Retry-After says and up to a tenth later.",
    client: Retry.retry({ schedule: untilRetryAfter(0.1), log: false }),
    figures: [checks(50), refused(30), everybody, Storm.atMost(peakOf, 7, 0, peak)],
    source: `${korean}: the same checks. Spread over 100 ms, more than 7 of 15 are in one tenth of it once in 3000 runs; N = 1`
  })
]

// -----------------------------------------------------------------------------
// all of them
// -----------------------------------------------------------------------------

/**
 * @category storms
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm.Storm> = [retriesInOneLayer, retriesCounted, ...deadlines, ...limiterUnderRepeats]
