/**
 * Who calls the service, and when.
 *
 * ```text
 * a fixed set    together, staggered, at      one operation each
 * closed loop    closedLoop                   the next operation when the last is over: slow answers slow the clients down
 * open loop      evenlySpaced, openLoop,      each operation a client of its own, whatever became of the others: what a public
 *                flashCrowd                   service sees, and what can be overrun for good
 * ```
 *
 * @since 0.1.0
 */
import { InvalidOption, type RandomStream } from "@breakwater/core"
import type * as Duration from "effect/Duration"
import { log } from "./internal/elementary.js"
import { format, interval, micros, microsFrom } from "./internal/micros.js"
import * as Latency from "./Latency.js"
import type { Interval } from "./Trace.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Clients {
  /** In words, for reports. */
  readonly description: string
  /**
   * When each client begins, in order: whole microseconds from the start of the run. Read one by one as time goes on, up to the
   * end of the run, so it may go on for ever. What is left to chance comes from `random`, a stream for arrivals alone.
   */
  readonly arrivals: (random: RandomStream.RandomStream) => Iterable<number>
  /** How many operations each client does, one after the other. */
  readonly operations: number
  /** How long a client waits between two operations. */
  readonly think: Latency.Latency
  /** When they come in another number than usual. */
  readonly disturbances: ReadonlyArray<Interval>
}

// -----------------------------------------------------------------------------
// fixed sets
// -----------------------------------------------------------------------------

/**
 * All at the same instant, at the start of the run.
 *
 * @example
 * ```ts
 * import { Clients } from "@breakwater/simulation"
 *
 * const crowd = Clients.together(6)
 * ```
 * @category fixed sets
 * @since 0.1.0
 */
export const together = (count: number): Clients => {
  const clients = wholeNumber("Clients.together", "count", count)
  return once(`${clients} clients, all at once`, () => Array.from({ length: clients }, () => 0))
}

/**
 * One after the other, the first at the start of the run.
 *
 * @example
 * ```ts
 * import { Clients } from "@breakwater/simulation"
 *
 * const queue = Clients.staggered(6, "50 millis")
 * ```
 * @category fixed sets
 * @since 0.1.0
 */
export const staggered = (count: number, every: Duration.DurationInput): Clients => {
  const clients = wholeNumber("Clients.staggered", "count", count)
  const gap = micros("Clients.staggered", "every", every)
  return once(`${clients} clients, one every ${format(gap)}`, function* () {
    for (let client = 0; client < clients; client++) yield client * gap
  })
}

/**
 * A client at each of these times from the start of the run, given in order.
 *
 * @example
 * ```ts
 * import { Clients } from "@breakwater/simulation"
 *
 * const three = Clients.at(["0 millis", "10 millis", "1 second"])
 * ```
 * @category fixed sets
 * @since 0.1.0
 */
export const at = (times: ReadonlyArray<Duration.DurationInput>): Clients => {
  const arrivals: Array<number> = []
  for (const time of times) arrivals.push(microsFrom("Clients.at", "times", time, arrivals[arrivals.length - 1] ?? 0))
  return once(`${arrivals.length} clients, at ${arrivals.map(format).join(", ")}`, () => arrivals)
}

// -----------------------------------------------------------------------------
// closed loop
// -----------------------------------------------------------------------------

/**
 * Clients that all begin at the start of the run, and begin the next operation when the last is over and they have thought.
 *
 * @example
 * ```ts
 * import { Clients, Latency } from "@breakwater/simulation"
 *
 * const workers = Clients.closedLoop({ clients: 20, think: Latency.exponential({ mean: "1 second" }) })
 * ```
 * @category closed loop
 * @since 0.1.0
 */
export const closedLoop = (options: {
  readonly clients: number
  /** How long a client waits between two operations. */
  readonly think: Duration.DurationInput | Latency.Latency
  /** How many operations each does. Default: until the end of the run. */
  readonly operations?: number | undefined
}): Clients => {
  const where = "Clients.closedLoop"
  const clients = wholeNumber(where, "clients", options.clients)
  const operations = InvalidOption.count(where, "operations", options.operations ?? Infinity, 1)
  const think = Latency.of(where, "think", options.think)
  const each = operations === Infinity ? "one operation after another" : `${operations} operations each`
  return {
    ...together(clients),
    description: `${clients} clients, ${each}, ${think.description} apart`,
    operations,
    think
  }
}

// -----------------------------------------------------------------------------
// open loop
// -----------------------------------------------------------------------------

/**
 * New clients at equal distances until the end of the run, the first at its start: no chance, so what comes out is exact.
 *
 * @example
 * ```ts
 * import { Clients } from "@breakwater/simulation"
 *
 * const steady = Clients.evenlySpaced({ rate: 120 })
 * ```
 * @category open loop
 * @since 0.1.0
 */
export const evenlySpaced = (options: {
  /** Clients per second. */
  readonly rate: number
}): Clients => {
  const rate = perSecond("Clients.evenlySpaced", "rate", options.rate)
  return once(`${rate} clients per second, evenly spaced`, function* () {
    for (let client = 0; ; client++) yield Math.round((client * 1e6) / rate)
  })
}

/**
 * New clients at random until the end of the run, independent of each other (a Poisson process).
 *
 * @example
 * ```ts
 * import { Clients } from "@breakwater/simulation"
 *
 * const visitors = Clients.openLoop({ rate: 40 })
 * ```
 * @category open loop
 * @since 0.1.0
 */
export const openLoop = (options: {
  /** Clients per second, on average. */
  readonly rate: number
}): Clients => {
  const rate = perSecond("Clients.openLoop", "rate", options.rate)
  return once(`${rate} clients per second, at random`, function* (random) {
    let time = 0
    for (;;) yield Math.round((time += (unitExponential(random) * 1e6) / rate))
  })
}

/**
 * An open loop whose rate jumps for a while, and falls back.
 *
 * @example
 * ```ts
 * import { Clients } from "@breakwater/simulation"
 *
 * const sale = Clients.flashCrowd({ rate: 40, spike: 80, from: "20 seconds", to: "25 seconds" })
 * ```
 * @category open loop
 * @since 0.1.0
 */
export const flashCrowd = (options: {
  /** Clients per second, on average, before the spike and after it. */
  readonly rate: number
  /** Clients per second, on average, from `from` to just before `to`. */
  readonly spike: number
  readonly from: Duration.DurationInput
  readonly to: Duration.DurationInput
}): Clients => {
  const where = "Clients.flashCrowd"
  const rate = perSecond(where, "rate", options.rate)
  const spike = perSecond(where, "spike", options.spike)
  const { from, to } = interval(where, options)
  // An arrival is due when the rate, summed up over time, has grown by a draw: so one draw each, also across an edge.
  const pieces = [
    { until: from, rate },
    { until: to, rate: spike },
    { until: Infinity, rate }
  ]
  return {
    ...once(`${rate} clients per second, at random, ${spike} from ${format(from)} to ${format(to)}`, function* (random) {
      let time = 0
      let piece = 0
      for (;;) {
        let due = unitExponential(random) * 1e6
        while (time + due / pieces[piece]!.rate > pieces[piece]!.until) {
          due -= (pieces[piece]!.until - time) * pieces[piece]!.rate
          time = pieces[piece]!.until
          piece++
        }
        yield Math.round((time += due / pieces[piece]!.rate))
      }
    }),
    disturbances: [{ from, to }]
  }
}

const unitExponential = (random: RandomStream.RandomStream): number => -log(1 - random.next())

// -----------------------------------------------------------------------------
// options
// -----------------------------------------------------------------------------

const once = (description: string, arrivals: Clients["arrivals"]): Clients => ({
  description,
  arrivals,
  operations: 1,
  think: Latency.constant(0),
  disturbances: []
})

const wholeNumber = (where: string, field: string, value: number): number => {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new InvalidOption.InvalidOption(where, field, "a whole number, at least 1", value)
}

const perSecond = (where: string, field: string, value: number): number => {
  if (value > 0 && value < Infinity) return value
  throw new InvalidOption.InvalidOption(where, field, "a finite number above 0", value)
}
