/**
 * Faults as an ordered list of rules, each of which matches some calls and says what becomes of them. The first rule that matches
 * a call decides; where none does, it passes. Rules are data: they can be printed, kept, and dropped one by one to find the
 * one that matters.
 *
 * ```text
 * call -> rule 1 matches? -> rule 2 matches? -> ... -> passes
 *              |                  |
 *         pass | delay | fail | drop
 * ```
 *
 * @since 0.1.0
 */
import { InvalidOption, type RandomStream } from "@breakwater/core"
import type * as Duration from "effect/Duration"
import { format, interval, micros } from "./internal/micros.js"
import * as Latency from "./Latency.js"
import type { Failure } from "./Service.js"
import type { Interval } from "./Trace.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Fault {
  /** In words, for reports. */
  readonly description: string
  /** Matches calls from this instant on; whole microseconds of the run. */
  readonly from: number
  /** Matches calls before this instant. */
  readonly to: number
  /** Matches these clients; all where there is no list. */
  readonly clients: ReadonlyArray<number> | undefined
  /** Matches these attempts of an operation; all where there is no list. */
  readonly attempts: ReadonlyArray<number> | undefined
  /** Matches each call with this probability. */
  readonly share: number
  readonly action: Action
}

/**
 * What becomes of a call.
 *
 * @category models
 * @since 0.1.0
 */
export type Action =
  | { readonly _tag: "Pass" }
  | { readonly _tag: "Delay"; readonly by: Latency.Latency }
  | { readonly _tag: "Fail"; readonly failure: Failure }
  | { readonly _tag: "Drop" }

/**
 * Which calls a rule matches: those for which everything that is given holds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Matching {
  /** Calls that arrive at this instant or later. Default: from the start of the run. */
  readonly from?: Duration.DurationInput | undefined
  /** Calls that arrive before this instant. Default: to its end. */
  readonly to?: Duration.DurationInput | undefined
  /** Calls of these clients, numbered from 0. Default: all. */
  readonly clients?: ReadonlyArray<number> | undefined
  /** These attempts of an operation, numbered from 1. Default: all. */
  readonly attempts?: ReadonlyArray<number> | undefined
  /** Each call with this probability, 0 to 1. Default 1. */
  readonly share?: number | undefined
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * The call goes through, whatever later rules say: an exception to them.
 *
 * @example
 * ```ts
 * import { Fault } from "@breakwater/simulation"
 *
 * const spared = Fault.pass({ clients: [0, 1] })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const pass = (matching: Matching = {}): Fault => make("Fault.pass", matching, { _tag: "Pass" }, "pass")

/**
 * The call arrives later, even if its caller has gone by then.
 *
 * @example
 * ```ts
 * import { Fault, Latency } from "@breakwater/simulation"
 *
 * const slow = Fault.delay(Latency.exponential({ mean: "200 millis" }), { share: 0.1 })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const delay = (by: Duration.DurationInput | Latency.Latency, matching: Matching = {}): Fault => {
  const latency = Latency.of("Fault.delay", "by", by)
  return make("Fault.delay", matching, { _tag: "Delay", by: latency }, `delayed by ${latency.description}`)
}

/**
 * The call fails at once and never reaches the service.
 *
 * @example
 * ```ts
 * import { Fault, Service } from "@breakwater/simulation"
 *
 * const firstAttempts = Fault.fail(Service.refused(503), { attempts: [1] })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const fail = (failure: Failure, matching: Matching = {}): Fault => {
  const how = failure._tag === "TimedOut" ? "time out" : `fail with ${failure.status}`
  return make("Fault.fail", matching, { _tag: "Fail", failure }, how)
}

/**
 * The call gets lost: it never reaches the service and is never answered.
 *
 * @example
 * ```ts
 * import { Fault } from "@breakwater/simulation"
 *
 * const partition = Fault.drop({ clients: [2, 3], from: "1 second", to: "4 seconds" })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const drop = (matching: Matching = {}): Fault => make("Fault.drop", matching, { _tag: "Drop" }, "get lost")

const make = (where: string, matching: Matching, action: Action, inWords: string): Fault => {
  const from = micros(where, "from", matching.from ?? 0)
  const to = matching.to === undefined ? Infinity : interval(where, { from: matching.from ?? 0, to: matching.to }).to
  const share = InvalidOption.between(where, "share", matching.share ?? 1, 0, 1)
  const { attempts, clients } = matching
  const which = [
    ...(share === 1 ? [] : [`${Number((100 * share).toFixed(3))} % of`]),
    "calls",
    ...(clients === undefined ? [] : [`of clients ${clients.join(", ")}`]),
    ...(attempts === undefined ? [] : [`in attempts ${attempts.join(", ")}`]),
    ...(from === 0 ? [] : [`from ${format(from)}`]),
    ...(to === Infinity ? [] : [`to ${format(to)}`])
  ]
  return { description: `${which.join(" ")} ${inWords}`, from, to, clients, attempts, share, action }
}

// -----------------------------------------------------------------------------
// deciding
// -----------------------------------------------------------------------------

/**
 * What the rules make of a call that arrives at an instant.
 *
 * @category deciding
 * @since 0.1.0
 */
export type Decision =
  | { readonly _tag: "Pass" }
  /** In whole microseconds. */
  | { readonly _tag: "Delay"; readonly by: number }
  | { readonly _tag: "Fail"; readonly failure: Failure }
  | { readonly _tag: "Drop" }

/**
 * The chance in one rule for one call.
 *
 * @category deciding
 * @since 0.1.0
 */
export interface Draw {
  /** The rule matches if this is below its share. */
  readonly chance: number
  /** The delay, if the rule delays. */
  readonly delay: number
}

/**
 * Draws for a rule. As many numbers for a call that does not match as for one that does, so that one call more or less moves no
 * other's.
 *
 * @category deciding
 * @since 0.1.0
 */
export const draw = ({ action }: Fault, random: RandomStream.RandomStream): Draw => ({
  chance: random.next(),
  delay: action._tag === "Delay" ? action.by.sample(random) : 0
})

/**
 * Asks the rules in order, each with its draw.
 *
 * @example
 * ```ts
 * import { Fault } from "@breakwater/simulation"
 *
 * const rules = [Fault.pass({ clients: [0] }), Fault.drop({ share: 0.5 })]
 * const draws = [
 *   { chance: 0.1, delay: 0 },
 *   { chance: 0.3, delay: 0 }
 * ]
 * console.log(Fault.decide(rules, { client: 0, attempt: 1, at: 0 }, draws)._tag) // Pass
 * console.log(Fault.decide(rules, { client: 1, attempt: 1, at: 0 }, draws)._tag) // Drop
 * ```
 * @category deciding
 * @since 0.1.0
 */
export const decide = (
  rules: ReadonlyArray<Fault>,
  call: {
    readonly client: number
    readonly attempt: number
    /** When it arrives, in whole microseconds of the run. */
    readonly at: number
  },
  draws: ReadonlyArray<Draw>
): Decision => {
  const index = rules.findIndex(
    ({ attempts, clients, from, share, to }, index) =>
      from <= call.at &&
      call.at < to &&
      (clients === undefined || clients.includes(call.client)) &&
      (attempts === undefined || attempts.includes(call.attempt)) &&
      draws[index]!.chance < share
  )
  if (index === -1) return { _tag: "Pass" }
  const { action } = rules[index]!
  return action._tag === "Delay" ? { _tag: "Delay", by: draws[index]!.delay } : action
}

/**
 * When a rule disturbs a service: one without an end is how the service is.
 *
 * @category deciding
 * @since 0.1.0
 */
export const disturbance = ({ action, from, to }: Fault): ReadonlyArray<Interval> =>
  action._tag === "Pass" || to === Infinity ? [] : [{ from, to }]
