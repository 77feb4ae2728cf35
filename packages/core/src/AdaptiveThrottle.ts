/**
 * Whether a client holds a call back because the dependency refuses too many: the client-side throttling of the SRE book. To refuse a
 * call costs a server too; where refusing is most of what it does, the calls had better not be sent.
 *
 * ```text
 *                     requests - multiplier x accepts
 * probability = max(0, ------------------------------- )
 *                              requests + 1
 *
 * held back     -> request             refused by overload -> request
 * accepted      -> request and accept  says nothing        -> neither
 * ```
 *
 * `requests` are all calls that were wanted, those held back among them: the more are wanted of what is overloaded, the more are held
 * back. What is let through comes to the multiplier times what is accepted, so a share of refusals always shows when it is over.
 *
 * A call that is let through counts when it has ended. Counted when it begins, it would be a request without an accept for as long as
 * it runs, and the first calls of a client would hold each other back.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"
import * as Slots from "./internal/slots.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * Of a call that was let through. `ignored` says nothing of the dependency: interrupted, refused on this side.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = "accepted" | "overload" | "ignored"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** So many calls are let through for each that is accepted, 1 to 100. Default 2. */
  readonly multiplier?: number | undefined
  /** How far back is counted, in milliseconds, at least 10. Default 120,000. */
  readonly window?: number | undefined
  /** The probability is never higher, 0 to 1. Default 1, where the formula alone decides. */
  readonly maxProbability?: number | undefined
}

/**
 * What was wanted and what was accepted in the window: a value.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  readonly requests: Slots.Slots
  readonly accepts: Slots.Slots
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Admission {
  readonly state: State
  readonly admitted: boolean
}

/**
 * Total functions of a state and the time, in milliseconds of a monotonic clock.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rules {
  readonly initial: (now: number) => State
  /** Of the next call to be held back, 0 to less than 1. */
  readonly probability: (state: State, now: number) => number
  /** Whether a call may go; `chance` is a number from 0 to less than 1. One that is held back has been counted. */
  readonly admit: (state: State, chance: number, now: number) => Admission
  /** A call that was let through has ended. */
  readonly settle: (state: State, outcome: Outcome, now: number) => State
}

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

const slotCount = 10

/**
 * The window moves in tenths, so it reaches back between nine and ten tenths of its length.
 *
 * A wrong option throws `InvalidOption`.
 *
 * Source: SRE book, chapter 21, "Client-Side Throttling" (multiplier 2, two minutes).
 *
 * @example
 * ```ts
 * import { AdaptiveThrottle } from "@breakwater/core"
 *
 * const rules = AdaptiveThrottle.make({ multiplier: 2 })
 * let state = rules.initial(0)
 * for (let call = 0; call < 9; call++) state = rules.settle(state, "overload", 0)
 * console.log(rules.probability(state, 0)) // 0.9
 * console.log(rules.admit(state, 0.89, 0).admitted, rules.admit(state, 0.9, 0).admitted) // false true
 * console.log(rules.probability(state, 120_000)) // 0
 * ```
 * @category make
 * @since 0.1.0
 */
export const make = (options: Options = {}): Rules => {
  const where = "AdaptiveThrottle.make"
  const multiplier = InvalidOption.between(where, "multiplier", options.multiplier ?? 2, 1, 100)
  const window = InvalidOption.wholeMillis(where, "window", options.window ?? 120_000, slotCount)
  const maxProbability = InvalidOption.between(where, "maxProbability", options.maxProbability ?? 1, 0, 1)
  const slotOf = (now: number) => Math.floor((now * slotCount) / window)
  const at = ({ accepts, requests }: State, now: number): State => {
    const slot = slotOf(now)
    return { requests: Slots.advance(requests, slot), accepts: Slots.advance(accepts, slot) }
  }
  const counted = (slots: Slots.Slots): Slots.Slots => Slots.add(slots, slots.current, 1)
  const of = ({ accepts, requests }: State): number =>
    Math.min(maxProbability, Math.max(0, (requests.total - multiplier * accepts.total) / (requests.total + 1)))
  return {
    initial: (now) => ({ requests: Slots.make(slotCount, slotOf(now)), accepts: Slots.make(slotCount, slotOf(now)) }),
    probability: (state, now) => of(at(state, now)),
    admit(state, chance, now) {
      const advanced = at(state, now)
      return chance < of(advanced)
        ? { state: { ...advanced, requests: counted(advanced.requests) }, admitted: false }
        : { state: advanced, admitted: true }
    },
    settle(state, outcome, now) {
      if (outcome === "ignored") return state
      const { accepts, requests } = at(state, now)
      return { requests: counted(requests), accepts: outcome === "accepted" ? counted(accepts) : accepts }
    }
  }
}
