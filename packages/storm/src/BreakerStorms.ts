/**
 * What a circuit breaker leaves of an outage: how many calls still reach what is down, and how long users wait for it. When a fleet
 * of breakers looks again, and on which side of a retry a breaker belongs.
 *
 * The breakers have no jitter where it is not the subject, so that what comes out is exact.
 *
 * @since 0.1.0
 */
import { AttemptTimeout, CircuitBreaker, Retry } from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import { Clients, type Scenario, Service, Trace } from "@breakwater/simulation"
import * as Effect from "effect/Effect"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

const answering = Service.unlimited({ takes: "8 millis" })

const openFor = "5 seconds"

const fiveInARow = CircuitBreaker.consecutive(5)

const inWords = "A breaker that five failures in a row open for 5 s"

/** What the clients of a run do with a breaker that they share. */
const sharing = (
  client: (breaker: CircuitBreaker.CircuitBreaker) => Scenario.Client,
  tripPolicy: CircuitBreaker.TripPolicy = fiveInARow
): Scenario.Scenario["client"] => Effect.map(CircuitBreaker.make({ tripPolicy, openDuration: openFor, jitter: 0 }), client)

/** Three attempts, with the same wait between them. */
const threeAttempts = (wait: `${number} millis`) =>
  Retry.retry({ schedule: Backoff.constant({ delay: wait }).pipe(Limit.attempts(3)), log: false })

/** The breaker sees every attempt. */
const retryOutside =
  (wait: `${number} millis`) =>
  (breaker: CircuitBreaker.CircuitBreaker): Scenario.Client =>
  (call) =>
    call.pipe(CircuitBreaker.execute(breaker), threeAttempts(wait))

/** The breaker sees what has failed after all attempts. */
const breakerOutside =
  (wait: `${number} millis`) =>
  (breaker: CircuitBreaker.CircuitBreaker): Scenario.Client =>
  (call) =>
    call.pipe(threeAttempts(wait), CircuitBreaker.execute(breaker))

/** So many operations a second, and half a minute of outage. */
const halfAMinute = (rate: number, how: Service.Failure | "hang") =>
  ({
    service: Service.outage(answering, { from: "10 seconds", to: "40 seconds", how }),
    clients: Clients.evenlySpaced({ rate }),
    until: "60 seconds"
  }) as const

const outage = { from: 10e6, to: 40e6 }

// -----------------------------------------------------------------------------
// figures
// -----------------------------------------------------------------------------

const calls = (name: string, expected: number, { from, to }: Trace.Interval): Storm.Figure =>
  Storm.exactly(
    name,
    expected,
    ({ trace }) => trace.events.filter(({ _tag, at }) => _tag === "AttemptStarted" && from <= at && at < to).length
  )

const callsInOutage = (expected: number): Storm.Figure => calls("calls during the outage", expected, outage)

/** How long users waited, all together, for calls that did not answer. */
const waitedInVain = (expected: number): Storm.Figure =>
  Storm.within("waited in vain, s", expected, 0, 2, ({ trace }) => {
    const cut = Trace.operations(trace).flatMap(({ attempts }) => attempts.filter(({ outcome }) => outcome === "interrupted"))
    return cut.reduce((sum, { endedAt, startedAt }) => sum + endedAt! - startedAt, 0) / 1e6
  })

const refusedAfterwards = (expected: number): Storm.Figure =>
  Storm.exactly("refused though it is up again", expected, ({ trace }) => {
    const later = Trace.operations(trace).filter(({ startedAt }) => startedAt >= outage.to)
    return later.filter(({ attempts }) => attempts.length === 0).length
  })

const failedOperations = (expected: number): Storm.Figure =>
  Storm.exactly("operations that failed", expected, ({ summary }) => summary.gaveUp)

// -----------------------------------------------------------------------------
// an outage without and with a breaker
// -----------------------------------------------------------------------------

/** Just below two seconds, so that it never ends at the instant at which a call begins. */
const limited = AttemptTimeout.timeout("1995 millis")

/**
 * A dependency that no longer answers.
 *
 * @category an outage without and with a breaker
 * @since 0.1.0
 */
export const hanging: ReadonlyArray<Storm.Storm> = [
  Storm.once({
    ...halfAMinute(100, "hang"),
    id: "CB1a",
    title: "Calls that hang",
    lesson: "Each user waits for the whole time limit, for nothing, as long as the outage lasts.",
    policy: "One attempt of at most 1.995 s.",
    client: limited,
    figures: [callsInOutage(3000), waitedInVain(5985), refusedAfterwards(0)],
    source: "Arithmetic: 100 calls a second for 30 s, 1.995 s each"
  }),
  Storm.once({
    ...halfAMinute(100, "hang"),
    id: "CB1b",
    title: "Calls that hang, with a breaker",
    lesson:
      "Users wait until the breaker has seen five time-outs; from then on a single call looks again for all of them. The price comes afterwards: a probe sent just before the end hangs too, so all are refused for up to a time limit and an open duration more.",
    policy: `One attempt of at most 1.995 s. ${inWords}.`,
    client: sharing((breaker) => (call) => call.pipe(limited, CircuitBreaker.execute(breaker))),
    figures: [callsInOutage(208), waitedInVain(414.96), refusedAfterwards(504)],
    source:
      "Arithmetic: 204 calls until the fifth time-out, 2.035 s into the outage; probes 7, 14, 21 and 28 s in, each 1.995 s; the next one 5.04 s after the end"
  })
]

/**
 * A dependency that fails at once, and clients that retry.
 *
 * @category an outage without and with a breaker
 * @since 0.1.0
 */
export const refusing: ReadonlyArray<Storm.Storm> = [
  Storm.once({
    ...halfAMinute(100, Service.refused(503)),
    id: "CB1c",
    title: "Calls that fail at once",
    lesson: "What is down gets three times its load, for as long as it is down.",
    policy: "3 attempts, 3 ms apart.",
    client: threeAttempts("3 millis"),
    figures: [callsInOutage(9000), refusedAfterwards(0)],
    source: "Arithmetic: 100 operations a second for 30 s, 3 attempts each"
  }),
  Storm.once({
    ...halfAMinute(100, Service.refused(503)),
    id: "CB1d",
    title: "Calls that fail at once, with a breaker",
    lesson:
      "Five calls open it, then it is one call in five seconds, whatever the traffic. An open breaker ends the retries too.",
    policy: `3 attempts, 3 ms apart. ${inWords}, further in.`,
    client: sharing(retryOutside("3 millis")),
    figures: [callsInOutage(10), refusedAfterwards(2)],
    source: "Arithmetic: 5 until it opens, then a probe every 5 s, the last but one 4.98 s before the end"
  })
]

// -----------------------------------------------------------------------------
// a fleet looks again
// -----------------------------------------------------------------------------

const processes = 200

/** A breaker for each process. */
const fleet = (jitter: number): Scenario.Scenario["client"] =>
  Effect.map(
    Effect.replicateEffect(CircuitBreaker.make({ tripPolicy: fiveInARow, openDuration: openFor, jitter }), processes),
    (breakers): Scenario.Client =>
      (call, process) =>
        CircuitBreaker.execute(call, breakers[process]!)
  )

/** Calls of each process that reach the dependency while it is down: five open the breaker, the others look again. */
const callsOfEach = (trace: Trace.Trace): ReadonlyArray<ReadonlyArray<number>> => {
  const times = Array.from({ length: processes }, (): Array<number> => [])
  for (const { at, ...event } of trace.events) {
    if (event._tag === "AttemptStarted" && at >= 1e6) times[event.client]!.push(at)
  }
  return times
}

const most = (times: ReadonlyArray<number>, bin: number): number => {
  const counts = new Map<number, number>()
  for (const at of times) counts.set(Math.floor(at / bin), (counts.get(Math.floor(at / bin)) ?? 0) + 1)
  return Math.max(...counts.values())
}

/** The most probes in any 100 ms of the first, or the second, time that the fleet looks again. */
const peak = (name: string, again: number, expected: number, tolerance: number): Storm.Figure =>
  Storm.within(name, expected, tolerance, 0, ({ trace }) =>
    most(
      callsOfEach(trace).flatMap((times) => times.slice(4 + again, 5 + again)),
      100e3
    )
  )

const lookingAgain = (
  described: Pick<Storm.Storm, "id" | "title" | "lesson" | "source"> & { readonly jitter: number }
): Storm.Storm => {
  const { jitter, ...rest } = described
  // Processes look every 100 ms: so many instants at which a breaker may let its probe through, each as likely.
  const share = jitter === 0 ? 1 : 1 / (50 * jitter)
  const tolerance = Number((3.5 * Math.sqrt(processes * share * (1 - share))).toFixed(1))
  return Storm.once({
    ...rest,
    policy: `A breaker in each process that five failures in a row open for 5 s and up to ${100 * jitter} % more.`,
    service: Service.outage(answering, { from: "1 second", to: "1 hour", how: Service.refused(503) }),
    clients: Clients.closedLoop({ clients: processes, think: "100 millis" }),
    client: fleet(jitter),
    until: "18 seconds",
    figures: [
      peak("most in 100 ms, 1st look", 1, processes * share, tolerance),
      peak("most in 100 ms, 2nd look", 2, processes * share, tolerance)
    ]
  })
}

/**
 * Two hundred processes whose breakers open in the same instant.
 *
 * @category a fleet looks again
 * @since 0.1.0
 */
export const fleetLooksAgain: ReadonlyArray<Storm.Storm> = [
  lookingAgain({
    id: "CB2a",
    title: "A fleet without jitter",
    jitter: 0,
    lesson:
      "Breakers that open together look again together, each time: what has just come back is met by all of them in one instant.",
    source: "Arithmetic: all of 200"
  }),
  lookingAgain({
    id: "CB2b",
    title: "A fleet with the default jitter",
    jitter: 0.1,
    lesson:
      "A tenth of the open duration spreads the fleet over half a second. The second time it takes twice as long, yet its peak is no lower: two draws add up to their middle most often.",
    source:
      "Arithmetic: 200 spread evenly over 5 bins of 100 ms, a fifth each; of two draws together the middle one of 9 bins has a fifth again; band of 3.5 standard errors"
  }),
  lookingAgain({
    id: "CB2c",
    title: "A fleet with a jitter of half",
    jitter: 0.5,
    lesson: "The peak falls as the jitter grows; the price is a fleet that is whole again later.",
    source:
      "Arithmetic: 200 spread evenly over 25 bins of 100 ms; of two draws together the middle one of 49 bins has a twenty-fifth again; band of 3.5 standard errors"
  })
]

// -----------------------------------------------------------------------------
// which side of a retry
// -----------------------------------------------------------------------------

const whenSeeingAttempts =
  "Right where the dependency must be spared: each attempt counts, so it opens after 5 calls, and an open breaker ends the retries."

const whenSeeingOperations =
  "Right where passing faults are common and the dependency bears the retries: it counts only what has failed after all attempts."

/**
 * The same retry and the same breaker, in both orders, in an outage.
 *
 * @category which side of a retry
 * @since 0.1.0
 */
export const orderInAnOutage: ReadonlyArray<Storm.Storm> = [
  Storm.once({
    ...halfAMinute(10, Service.refused(503)),
    id: "CB3a",
    title: "Retry outside of the breaker, in an outage",
    lesson: whenSeeingAttempts,
    policy: `${inWords}; around it 3 attempts, 3 ms apart.`,
    client: sharing(retryOutside("3 millis")),
    figures: [calls("calls until it opens", 5, { from: 10e6, to: 15e6 }), callsInOutage(10)],
    source: "Arithmetic: 5 attempts, then 5 probes of a single call"
  }),
  Storm.once({
    ...halfAMinute(10, Service.refused(503)),
    id: "CB3b",
    title: "Breaker outside of the retry, in an outage",
    lesson: `${whenSeeingOperations} In an outage it opens later by the number of attempts, and so many are a probe.`,
    policy: `3 attempts, 3 ms apart; around them a breaker that five failed operations in a row open for 5 s.`,
    client: sharing(breakerOutside("3 millis")),
    figures: [calls("calls until it opens", 15, { from: 10e6, to: 15e6 }), callsInOutage(30)],
    source: "Arithmetic: 5 operations of 3 attempts, then 5 probes of 3 attempts"
  })
]

/** A tenth of a second of failures, which every operation's retries outlast. */
const blip = {
  service: Service.outage(answering, { from: "10 seconds", to: "10.1 seconds", how: Service.refused(503) }),
  clients: Clients.evenlySpaced({ rate: 100 }),
  until: "30 seconds"
} as const

/**
 * The same in a fault that passes within 100 ms, and what saves the order that sees each attempt.
 *
 * @category which side of a retry
 * @since 0.1.0
 */
export const orderInABlip: ReadonlyArray<Storm.Storm> = [
  Storm.once({
    ...blip,
    id: "CB3c",
    title: "Retry outside of the breaker, in a blip",
    lesson: `A breaker that is quicker than the retries makes five seconds out of a tenth of one. ${whenSeeingAttempts} Let it take more than a passing fault to open.`,
    policy: `${inWords}; around it 3 attempts, 63 ms apart.`,
    client: sharing(retryOutside("63 millis")),
    figures: [failedOperations(504)],
    source: "Arithmetic: open 40 ms into the blip for 5 s, at 100 operations a second; the first one afterwards is the probe"
  }),
  Storm.once({
    ...blip,
    id: "CB3d",
    title: "Breaker outside of the retry, in a blip",
    lesson: `${whenSeeingOperations} A fault that retries outlast is none for it.`,
    policy: `3 attempts, 63 ms apart; around them a breaker that five failed operations in a row open for 5 s.`,
    client: sharing(breakerOutside("63 millis")),
    figures: [failedOperations(0)],
    source: "Arithmetic: the third attempt begins 126 ms after the first"
  }),
  Storm.once({
    ...blip,
    id: "CB3e",
    title: "Retry outside of a patient breaker, in a blip",
    lesson: "A share of the calls over some seconds sees each attempt, too, and does not open for a tenth of a second.",
    policy: "A breaker that 50 % of at least 20 calls of 10 s open for 5 s; around it 3 attempts, 63 ms apart.",
    client: sharing(
      retryOutside("63 millis"),
      CircuitBreaker.failureRate({ threshold: 0.5, minimumCalls: 20, window: "10 seconds" })
    ),
    figures: [failedOperations(0)],
    source: "Arithmetic: 14 failed calls among a thousand"
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
  ...hanging,
  ...refusing,
  ...fleetLooksAgain,
  ...orderInAnOutage,
  ...orderInABlip
]
