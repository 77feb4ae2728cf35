/**
 * Two ways out of an overload that has outlived what caused it (see `Metastable`), for a server that cannot wait until less is
 * asked of it.
 *
 * ```text
 * shed    let in X < C / (1 + r) calls a second, for at least (Q - C T) / (C - (1 + r) X) seconds
 * drop    begin no call that cannot be answered in time
 * ```
 *
 * The model is that of `Metastable`: C = 300 calls a second, first come, first served; 280 wanted, evenly spaced, with r = 1
 * retry after T = 1 s; an outage of four seconds or ten, after which so many calls wait that all are worked on for nobody. Q
 * is how many.
 *
 * Shedding loses calls on purpose, and too little of it loses them in vain. Dropping loses only what is lost already; the
 * server has to be told the deadlines of its calls, and to know how long they take: one that drops what has **expired** begins
 * each call just before its caller goes, and ends it too late.
 *
 * @since 0.1.0
 */
import { Deadline, Retry } from "@breakwater/resilience"
import { Limit } from "@breakwater/schedule"
import { Clients, Recovery, type Scenario, Service } from "@breakwater/simulation"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Storm from "./Storm.js"

// -----------------------------------------------------------------------------
// model
// -----------------------------------------------------------------------------

/** T, in seconds. */
const limit = 1

/** Microseconds that the server takes for a call: the whole number next to 300 calls a second. */
const takes = 3333

/** C. */
const capacity = 1e6 / takes

/** λ. */
const wanted = 280

/** Seconds that all is well before the outage. */
const wellFor = 1

const seconds = (count: number) => `${Math.round(1000 * count)} millis` as const

const server = (outage: number, dropExpired: boolean): Service.Service =>
  Service.queue({
    servers: 1,
    takes: `${takes} micros`,
    dropExpired,
    pause: { from: seconds(wellFor), to: seconds(wellFor + outage) }
  })

const twoAttempts = "2 attempts of 1 s, the second at once."

const twice = { schedule: Schedule.forever.pipe(Limit.retries(1)), log: false } as const

const retrying: Scenario.Client = Retry.retry({ ...twice, attemptTimeout: seconds(limit) })

/** Each attempt has its deadline, which travels with it. */
const retryingWithDeadlines: Scenario.Client = (call) => call.pipe(Deadline.within(seconds(limit)), Retry.retry(twice))

/**
 * A queue that drops what has expired, told the deadlines of its calls: for it, a call has expired when less is left than it
 * needs.
 *
 * @internal
 */
export const droppingLate = (self: Service.Service, needs: Duration.DurationInput): Service.Service => {
  const needed = Duration.toMillis(needs)
  return {
    ...self,
    description: `${self.description}; a call is dropped that has less than ${needed} ms left`,
    open: (run) =>
      Effect.map(
        self.open(run),
        (handle): Service.Handler =>
          (call) =>
            Effect.flatMap(
              Deadline.remaining,
              Option.match({
                onNone: () => handle(call),
                onSome: (left) => {
                  const micros = Math.round(1000 * (Duration.toMillis(left) - needed))
                  return handle({ ...call, goneAt: Math.min(call.goneAt, run.now() + micros) })
                }
              })
            )
      )
  }
}

// -----------------------------------------------------------------------------
// figures
// -----------------------------------------------------------------------------

/** Seconds in which recovery is looked for. */
const window = 0.25

/** Seconds from the end of what disturbed last; NaN, which is no number, if all never is well. */
const recovery: Storm.Figure["measure"] = ({ trace }) => {
  const found = Recovery.of(trace, { window: seconds(window), windows: (3 * limit) / window })
  return found?._tag === "Recovered" ? found.after / 1000 : NaN
}

const recovered = "recovered after, s"

const neverWithin = (watched: number): Storm.Figure => ({
  name: recovered,
  expected: `never within ${watched}`,
  measure: recovery,
  holds: Number.isNaN,
  digits: 2
})

/** In the last two seconds, when a run that is not well is what it stays. */
const callsAtTheEnd = (expected: number): Storm.Figure =>
  Storm.within(
    "calls a second at the end",
    expected,
    0,
    1,
    ({ trace }) => trace.events.filter(({ _tag, at }) => _tag === "AttemptStarted" && at >= trace.until - 2e6).length / 2
  )

const atOnce: ReadonlyArray<Storm.Figure> = [Storm.within(recovered, 0, 0, 2, recovery)]

const never = (watched: number): ReadonlyArray<Storm.Figure> => [neverWithin(watched), callsAtTheEnd(2 * wanted)]

/** Seconds for which a run is watched. */
const watched = 4

// -----------------------------------------------------------------------------
// shed
// -----------------------------------------------------------------------------

interface Shedding {
  /** Seconds of the outage, D. */
  readonly outage: number
  /** Seconds from the end of the outage until it begins. */
  readonly after: number
  /** X, calls a second that are let in. */
  readonly letIn: number
  /** Seconds. */
  readonly lasts: number
}

/** Those who are not let in are refused at the door and do not come back. */
const shedding = ({ after, lasts, letIn, outage }: Shedding): Clients.Clients => {
  const from = 1e6 * (wellFor + outage + after)
  const to = from + 1e6 * lasts
  const few = letIn === 0 ? undefined : Clients.evenlySpaced({ rate: letIn })
  const all = Clients.evenlySpaced({ rate: wanted })
  return {
    ...all,
    description: `${all.description}; ${letIn} of them let in from ${from / 1e6}s to ${to / 1e6}s`,
    disturbances: [{ from, to }],
    *arrivals(random) {
      yield* before(from, all.arrivals(random))
      if (few !== undefined) yield* before(to, delayed(from, few.arrivals(random)))
      yield* delayed(to, all.arrivals(random))
    }
  }
}

function* before(end: number, times: Iterable<number>): Iterable<number> {
  for (const at of times) {
    if (at >= end) return
    yield at
  }
}

function* delayed(by: number, times: Iterable<number>): Iterable<number> {
  for (const at of times) yield by + at
}

/** Q: in the outage the calls of a time limit come once and all others twice, and after it more still come than go. */
const waiting = ({ after, outage }: Shedding): number =>
  wanted * limit + 2 * wanted * (outage - limit) + (2 * wanted - capacity) * after

const lessonOf = ({ lasts, letIn }: Shedding, longEnough: number): string => {
  if (2 * letIn >= 300) {
    return "Half of what the server can carry, each call twice, is all that it can carry: nothing is worked off, though 280 a second were fine before."
  }
  return lasts >= longEnough
    ? "Once the wait fits into the time limit again, nobody has a reason to retry, and all 280 can come back."
    : "Ended too early, all that was shed was shed in vain: those who come back still wait too long, and come twice."
}

const shed = (id: string, how: Shedding): Storm.Storm => {
  const { after, lasts, letIn, outage } = how
  const longEnough = letIn < 150 ? (waiting(how) - capacity * limit) / (capacity - 2 * letIn) : Infinity
  const enough = longEnough === Infinity ? "no time is long enough" : `${longEnough.toFixed(1)} s`
  return Storm.once({
    id,
    title: `${lasts} s of shedding, ${letIn === 0 ? "nobody" : `${letIn} a second`} let in`,
    lesson: lessonOf(how, longEnough),
    policy: `${twoAttempts} From ${after} s after the outage on, ${letIn} calls a second are let in for ${lasts} s.`,
    service: server(outage, false),
    clients: shedding(how),
    client: retrying,
    until: seconds(wellFor + outage + after + lasts + watched),
    figures: lasts >= longEnough ? atOnce : never(watched),
    source: `At least (Q - C T) / (C - 2 X), with Q = ${Math.round(waiting(how))} waiting calls: ${enough}; N = 1, no chance`
  })
}

/**
 * Letting fewer in, at the end of the outage: too short, long enough, and too many.
 *
 * @category ways out
 * @since 0.1.0
 */
export const byShedding: ReadonlyArray<Storm.Storm> = [
  shed("W1a", { outage: 4, after: 0, letIn: 0, lasts: 5 }),
  shed("W1b", { outage: 4, after: 0, letIn: 0, lasts: 8 }),
  shed("W1c", { outage: 4, after: 0, letIn: 50, lasts: 7 }),
  shed("W1d", { outage: 4, after: 0, letIn: 50, lasts: 11 }),
  shed("W1e", { outage: 4, after: 0, letIn: 150, lasts: 12 })
]

// -----------------------------------------------------------------------------
// drop
// -----------------------------------------------------------------------------

interface Dropping {
  readonly id: string
  /** Seconds of the outage. */
  readonly outage: number
  /** λ. */
  readonly rate: number
  readonly drops: "expired" | "late"
}

const drop = ({ drops, id, outage, rate }: Dropping): Storm.Storm => {
  const service = server(outage, true)
  return Storm.once({
    id,
    title: `${drops === "late" ? "Calls that are too late" : "Expired calls"} dropped, ${rate} a second`,
    lesson:
      drops === "late"
        ? "What waited in vain is gone in an instant, and each call that is begun is answered in time: all is well with the end of the outage, however near to its limit the server runs."
        : "First come, first served begins the oldest call, whose caller is just about to go, and ends it too late. To drop what has expired is not enough: the server must leave out what it cannot answer in time.",
    policy: `${twoAttempts} ${
      drops === "late"
        ? "Each attempt takes its deadline along; the server begins no call that has less left than it takes."
        : "The server begins no call whose caller has gone."
    }`,
    service: drops === "late" ? droppingLate(service, `${takes} micros`) : service,
    clients: Clients.evenlySpaced({ rate }),
    client: drops === "late" ? retryingWithDeadlines : retrying,
    until: seconds(wellFor + outage + watched),
    figures: drops === "late" ? atOnce : [neverWithin(watched)],
    source:
      drops === "late"
        ? "Dropping at the head of the queue what can no longer be answered: recovery after 0 s at every λ < C; found in windows of 250 ms; N = 1, no chance"
        : "Arithmetic: with two calls in the time of one that is worked on, one that has waited for nearly T is always at the head; N = 1, no chance"
  })
}

/**
 * Dropping calls at the head of the queue: what has expired, and what will have.
 *
 * @category ways out
 * @since 0.1.0
 */
export const byDropping: ReadonlyArray<Storm.Storm> = [
  drop({ id: "W2a", outage: 4, rate: 280, drops: "expired" }),
  drop({ id: "W2b", outage: 4, rate: 160, drops: "late" }),
  drop({ id: "W2c", outage: 4, rate: 280, drops: "late" }),
  drop({ id: "W2d", outage: 4, rate: 299, drops: "late" })
]

// -----------------------------------------------------------------------------
// all of them
// -----------------------------------------------------------------------------

/**
 * @category storms
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm.Storm> = [...byShedding, ...byDropping]

/**
 * After an outage of ten seconds: shedding that begins when the overload has lasted for 40 s more, and dropping at other
 * rates. A minute and more.
 *
 * @category storms
 * @since 0.1.0
 */
export const full: ReadonlyArray<Storm.Storm> = [
  shed("W1a-full", { outage: 10, after: 40, letIn: 0, lasts: 20 }),
  shed("W1b-full", { outage: 10, after: 40, letIn: 0, lasts: 60 }),
  shed("W1c-full", { outage: 10, after: 40, letIn: 50, lasts: 60 }),
  shed("W1d-full", { outage: 10, after: 40, letIn: 50, lasts: 120 }),
  shed("W1e-full", { outage: 10, after: 40, letIn: 150, lasts: 120 }),
  ...[100, 150, 200, 250, 295].map((rate) => drop({ id: `W2-${rate}-full`, outage: 10, rate, drops: "late" }))
]
