/**
 * A circuit breaker: whether a call may go, and what its outcome changes. Retries bridge short faults, a breaker the long ones: while
 * a dependency is down it is left alone, and looked at again from time to time.
 *
 * ```text
 *                 too many bad calls
 *      Closed -------------------------> Open
 *        ^                              |    ^
 *        | the probes succeed           |    | a probe fails, or hangs
 *        |                 time is over |    |
 *        +-------------- HalfOpen <-----+    |
 *                            |               |
 *                            +---------------+
 *
 *   isolate: any -> Isolated    disable: any -> Disabled    reset: any -> Closed
 * ```
 *
 * | state    | admits                     | success           | failure                | ignored          |
 * | -------- | -------------------------- | ----------------- | ---------------------- | ---------------- |
 * | Closed   | all (while ramping, some)  | counts            | counts; may open       | nothing          |
 * | Open     | none before its time       | (older: nothing)  | (older: nothing)       | (older: nothing) |
 * | HalfOpen | as many as there are probes| counts; may close | opens, or counts       | frees its probe  |
 * | Isolated | none                       | (older: nothing)  | (older: nothing)       | (older: nothing) |
 * | Disabled | all                        | nothing           | nothing                | nothing          |
 *
 * Every change of state is a new generation, and what was admitted by an older one changes nothing. There is no timer: that an open
 * breaker's time is over is found out at the next look. An interrupted call is ignored.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"
import * as Windows from "./internal/circuitBreakerWindows.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * Of a call. `ignored` says nothing of the dependency: interrupted, refused on this side, an error that is the caller's.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = "success" | "failure" | "ignored"

/**
 * When a closed breaker opens: `windows` make what one time of being closed remembers.
 *
 * @category models
 * @since 0.1.0
 */
export interface TripPolicy {
  readonly description: string
  /** A call that takes longer is a bad one, in milliseconds; `undefined` where only failures are. */
  readonly slowerThan: number | undefined
  readonly window: () => Windows.Window
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Any of them opens the breaker. */
  readonly tripPolicies: ReadonlyArray<TripPolicy>
  /** How many calls a half-open breaker lets through at a time, and in all until it decides. Default 1. */
  readonly probes?: number | undefined
  /** The share of the probes that may fail, 0 to 1: 0 means that all must succeed, and the first failure opens. Default 0. */
  readonly probeFailures?: number | undefined
  /** A probe that takes longer has failed, in milliseconds; `Infinity` waits for it. Default one minute. */
  readonly probeLimit?: number | undefined
  /** How long a breaker that has closed lets only a growing share through, in milliseconds. Default 0: all at once. */
  readonly ramp?: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export type State =
  | {
      readonly _tag: "Closed"
      readonly generation: number
      readonly windows: ReadonlyArray<Windows.Window>
      /** From when to when only some are admitted. */
      readonly ramp: { readonly from: number; readonly to: number } | undefined
    }
  | {
      readonly _tag: "Open"
      readonly generation: number
      readonly until: number
    }
  | {
      readonly _tag: "HalfOpen"
      readonly generation: number
      readonly since: number
      /** Admitted and not settled, by number: when each began. */
      readonly probing: ReadonlyMap<number, number>
      /** The number of the next probe. */
      readonly next: number
      readonly succeeded: number
      readonly failed: number
    }
  | { readonly _tag: "Isolated"; readonly generation: number }
  | { readonly _tag: "Disabled"; readonly generation: number }

/**
 * The name of a state.
 *
 * @category models
 * @since 0.1.0
 */
export type StateName = State["_tag"]

/**
 * What admitted a call, to be shown when it has settled.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ticket {
  readonly generation: number
  /** The number of a probe. */
  readonly probe: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export type Admission =
  | { readonly _tag: "Admitted"; readonly state: State; readonly ticket: Ticket }
  | {
      readonly _tag: "Rejected"
      readonly state: State
      /** How long it is of no use to come back, in milliseconds; `Infinity` where somebody has to act first. */
      readonly retryAfter: number
    }

/**
 * A state as it is written down, in wall-clock time: milliseconds since 1970.
 *
 * @category models
 * @since 0.1.0
 */
export type Saved =
  | { readonly state: "closed" }
  | { readonly state: "open"; readonly until: number }
  | { readonly state: "isolated" }
  | { readonly state: "disabled" }

// -----------------------------------------------------------------------------
// trip policies
// -----------------------------------------------------------------------------

/**
 * So many failures in a row.
 *
 * @category trip policies
 * @since 0.1.0
 */
export const consecutive = (failures: number): TripPolicy => {
  const threshold = InvalidOption.count("CircuitBreaker.consecutive", "failures", failures, 1)
  return {
    description: `${threshold} failures in a row`,
    slowerThan: undefined,
    window: () => Windows.consecutive(threshold)
  }
}

/**
 * So many failures within so much time, in milliseconds.
 *
 * @category trip policies
 * @since 0.1.0
 */
export const failures = (options: { readonly failures: number; readonly window: number }): TripPolicy => {
  const where = "CircuitBreaker.failures"
  const threshold = Windows.count(where, "failures", options.failures)
  const length = InvalidOption.wholeMillis(where, "window", options.window, 1)
  return {
    description: `${threshold} failures within ${length} ms`,
    slowerThan: undefined,
    window: () => Windows.withinTime(threshold, length)
  }
}

/**
 * @category trip policies
 * @since 0.1.0
 */
export interface RateOptions {
  /** The share of bad calls that opens, above 0 and at most 1. */
  readonly threshold: number
  /** How many calls must have been seen. */
  readonly minimumCalls: number
  /** Of the last so many calls; or of the calls of the last so many milliseconds. */
  readonly over: { readonly calls: number } | { readonly time: number }
}

/**
 * A share of failures, over the last calls or over the last time.
 *
 * @category trip policies
 * @since 0.1.0
 */
export const failureRate = (options: RateOptions): TripPolicy =>
  rate("CircuitBreaker.failureRate", "failed", undefined, options)

/**
 * A share of calls that took too long, failures among them or not.
 *
 * @category trip policies
 * @since 0.1.0
 */
export const slowCallRate = (options: RateOptions & { readonly slowerThan: number }): TripPolicy => {
  const where = "CircuitBreaker.slowCallRate"
  const slowerThan = InvalidOption.wholeMillis(where, "slowerThan", options.slowerThan)
  return rate(where, `took longer than ${slowerThan} ms`, slowerThan, options)
}

const rate = (where: string, what: string, slowerThan: number | undefined, options: RateOptions): TripPolicy => {
  const threshold = InvalidOption.between(where, "threshold", options.threshold, Number.MIN_VALUE, 1)
  const minimumCalls = InvalidOption.count(where, "minimumCalls", options.minimumCalls, 1)
  const share = `${Number((100 * threshold).toPrecision(12))} % of at least ${minimumCalls} calls ${what}`
  if ("calls" in options.over) {
    const length = Windows.count(where, "over.calls", options.over.calls)
    if (minimumCalls > length) {
      throw new InvalidOption.InvalidOption(where, "minimumCalls", `at most the window, ${length}`, minimumCalls)
    }
    return {
      description: `${share}, of the last ${length}`,
      slowerThan,
      window: () => Windows.rateOfCalls(threshold, length, minimumCalls)
    }
  }
  const length = InvalidOption.wholeMillis(where, "over.time", options.over.time, 1)
  return {
    description: `${share}, of the last ${length} ms`,
    slowerThan,
    window: () => Windows.rateOfTime(threshold, length, minimumCalls)
  }
}

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/**
 * The rules of one breaker. All are total functions of a state, an event and a time in milliseconds of a monotonic clock; only what a
 * closed state remembers is changed in place.
 *
 * @example
 * ```ts
 * import { CircuitBreaker } from "@breakwater/core"
 *
 * const breaker = CircuitBreaker.make({ tripPolicies: [CircuitBreaker.consecutive(1)] })
 * let state = breaker.initial()
 * const call = breaker.admit(state, 0, 0)
 * if (call._tag === "Admitted") state = breaker.settle(call.state, call.ticket, "failure", 20, { now: 20, openFor: 5000 })
 * console.log(state._tag) // Open
 * const next = breaker.admit(state, 1020, 0)
 * console.log(next._tag === "Rejected" && next.retryAfter) // 4000
 * console.log(breaker.look(state, 5020)._tag) // HalfOpen
 * ```
 * @category rules
 * @since 0.1.0
 */
export const make = (options: Options): Rules => new Rules(options)

/**
 * @category rules
 * @since 0.1.0
 */
export class Rules {
  private readonly tripPolicies: ReadonlyArray<TripPolicy>
  private readonly probes: number
  private readonly probeFailures: number
  private readonly probeLimit: number
  private readonly ramp: number

  constructor(options: Options) {
    const where = "CircuitBreaker.make"
    this.tripPolicies = options.tripPolicies
    this.probes = Windows.count(where, "probes", options.probes ?? 1)
    this.probeFailures = InvalidOption.between(where, "probeFailures", options.probeFailures ?? 0, 0, 1)
    this.probeLimit = InvalidOption.wholeMillisOrInfinity(where, "probeLimit", options.probeLimit ?? 60_000, 1)
    this.ramp = InvalidOption.wholeMillis(where, "ramp", options.ramp ?? 0)
  }

  initial(): State {
    return this.closed(0, undefined)
  }

  /** The state at a time: an open one whose time is over is half-open, and a half-open one with a hung probe is open again. */
  look(state: State, now: number, openFor = 0): State {
    if (state._tag === "Open" && now >= state.until) return this.halfOpen(state.generation + 1, state.until)
    if (state._tag === "HalfOpen") {
      const [oldest] = state.probing.values()
      if (oldest !== undefined && now - oldest >= this.probeLimit) return this.open(state.generation + 1, now + openFor)
    }
    return state
  }

  /**
   * Whether a call may go. `chance` is a random number in [0, 1), for a breaker that ramps up; `openFor` is how long a half-open
   * breaker stays open whose probe is found to hang.
   */
  admit(before: State, now: number, chance: number, openFor = 0): Admission {
    const state = this.look(before, now, openFor)
    switch (state._tag) {
      case "Closed": {
        const { generation, ramp } = state
        if (ramp !== undefined && now < ramp.to && chance >= (now - ramp.from) / (ramp.to - ramp.from)) {
          return { _tag: "Rejected", state, retryAfter: ramp.to - now }
        }
        return { _tag: "Admitted", state, ticket: { generation, probe: undefined } }
      }
      case "Disabled":
        return { _tag: "Admitted", state, ticket: { generation: state.generation, probe: undefined } }
      case "Open":
        return { _tag: "Rejected", state, retryAfter: state.until - now }
      case "Isolated":
        return { _tag: "Rejected", state, retryAfter: Infinity }
      case "HalfOpen": {
        const { failed, generation, next, probing, succeeded } = state
        if (probing.size + succeeded + failed >= this.probes) return { _tag: "Rejected", state, retryAfter: 0 }
        return {
          _tag: "Admitted",
          state: { ...state, probing: new Map(probing).set(next, now), next: next + 1 },
          ticket: { generation, probe: next }
        }
      }
    }
  }

  /**
   * A call has settled, `latency` milliseconds after it began. What an older generation has admitted changes nothing. `openFor` is
   * how long the breaker stays open, should it open now.
   */
  settle(
    before: State,
    ticket: Ticket,
    outcome: Outcome,
    latency: number,
    { now, openFor }: { readonly now: number; readonly openFor: number }
  ): State {
    const state = this.look(before, now, openFor)
    if (ticket.generation !== state.generation || outcome === "ignored") return this.freed(state, ticket)
    if (state._tag === "Closed") {
      let opens = false
      this.tripPolicies.forEach(({ slowerThan }, index) => {
        const bad = slowerThan === undefined ? outcome === "failure" : latency > slowerThan
        // Each of them must see every call.
        if (state.windows[index]!.add(bad, now)) opens = true
      })
      return opens ? this.open(state.generation + 1, now + openFor) : state
    }
    if (state._tag !== "HalfOpen") return state
    const probed = this.freed(state, ticket)
    return probed === state || probed._tag !== "HalfOpen" ? state : this.judged(probed, outcome, now, openFor)
  }

  /** Lets no call through until it is reset. */
  isolate(state: State): State {
    return { _tag: "Isolated", generation: state.generation + 1 }
  }

  /** Lets every call through, and counts none, until it is reset. */
  disable(state: State): State {
    return { _tag: "Disabled", generation: state.generation + 1 }
  }

  /** Closes it, with nothing remembered. */
  reset(state: State): State {
    return this.closed(state.generation + 1, undefined)
  }

  /** What is written down of a state, by the wall clock. A half-open breaker is an open one whose time is over. */
  save(state: State, now: number, wallClock: number): Saved {
    switch (state._tag) {
      case "Closed":
        return { state: "closed" }
      case "Open":
        return { state: "open", until: wallClock + (state.until - now) }
      case "HalfOpen":
        return { state: "open", until: wallClock - (now - state.since) }
      case "Isolated":
        return { state: "isolated" }
      case "Disabled":
        return { state: "disabled" }
    }
  }

  /** The state that was written down, at this time: what is left of being open is what is left of it by the wall clock. */
  restore(saved: Saved, now: number, wallClock: number): State {
    switch (saved.state) {
      case "closed":
        return this.initial()
      case "open":
        return this.look(this.open(0, now + (saved.until - wallClock)), now)
      case "isolated":
        return { _tag: "Isolated", generation: 0 }
      case "disabled":
        return { _tag: "Disabled", generation: 0 }
    }
  }

  private closed(generation: number, rampFrom: number | undefined): State {
    return {
      _tag: "Closed",
      generation,
      windows: this.tripPolicies.map(({ window }) => window()),
      ramp: rampFrom === undefined || this.ramp === 0 ? undefined : { from: rampFrom, to: rampFrom + this.ramp }
    }
  }

  private open(generation: number, until: number): State {
    return { _tag: "Open", generation, until }
  }

  private halfOpen(generation: number, since: number): State {
    return { _tag: "HalfOpen", generation, since, probing: new Map(), next: 0, succeeded: 0, failed: 0 }
  }

  /** Without this probe, if it is one that is under way. */
  private freed(state: State, { generation, probe }: Ticket): State {
    if (state._tag !== "HalfOpen" || probe === undefined || generation !== state.generation || !state.probing.has(probe)) {
      return state
    }
    const probing = new Map(state.probing)
    probing.delete(probe)
    return { ...state, probing }
  }

  private judged(state: State & { readonly _tag: "HalfOpen" }, outcome: Outcome, now: number, openFor: number): State {
    const succeeded = state.succeeded + (outcome === "success" ? 1 : 0)
    const failed = state.failed + (outcome === "failure" ? 1 : 0)
    // It opens as soon as too many have failed; it closes when all have been heard.
    if (failed > this.probeFailures * this.probes) return this.open(state.generation + 1, now + openFor)
    if (succeeded + failed >= this.probes) return this.closed(state.generation + 1, now)
    return { ...state, succeeded, failed }
  }
}
