/**
 * The waits of well-known clients, formula by formula, for those who migrate from one or must speak like one. A preset is
 * faithful: where the original exceeds its own maximum or loses its spread there, so does the preset, and its text says so. Only
 * the rounding to whole milliseconds (down) is ours.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * A law of waits: from what it remembers of the waits before and a random number in [0, 1) to the next one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Law<S> {
  readonly initial: S
  readonly next: (state: S, random: number) => Draw<S>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Draw<S> {
  readonly state: S
  /** The wait, in whole milliseconds. */
  readonly delay: number
  /** The longest wait that could have been drawn, in whole milliseconds. */
  readonly most: number
}

const whole = (millis: number): number => Math.min(InvalidOption.maxMillis, Math.max(0, Math.floor(millis)))

/** A law whose waits depend on nothing but the number of retries so far and the draw; it grows with the draw. */
const law = (wait: (retries: number, random: number) => number): Law<number> => ({
  initial: 0,
  next: (retries, random) => ({
    state: retries + 1,
    delay: whole(wait(retries, random)),
    most: whole(wait(retries, 1))
  })
})

// -----------------------------------------------------------------------------
// laws
// -----------------------------------------------------------------------------

/**
 * AWS SDK, standard mode: `random * min(20 s, base * 2^retries)`. The base depends on the failure, see the presets.
 *
 * Source: `@smithy/core` 3.41.1, `DefaultRetryBackoffStrategy`.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/core"
 *
 * console.log(Presets.aws(100, 3, 0.5)) // { delay: 400, most: 800 }
 * ```
 * @category laws
 * @since 0.1.0
 */
export const aws = (base: number, retries: number, random: number): Omit<Draw<never>, "state"> => {
  const most = Math.min(20_000, base * 2 ** retries)
  return { delay: whole(random * most), most: whole(most) }
}

/**
 * gRPC: `min(initialBackoff * multiplier^retries, maxBackoff)` times a factor uniform over 0.8..1.2, so it passes `maxBackoff`
 * by up to a fifth.
 *
 * Source: gRFC A6, "Exponential Backoff", in its revision with the factor (earlier ones draw from 0 to the bound).
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/core"
 *
 * const { delay } = Presets.grpc({ initialBackoff: 100, maxBackoff: 1000, backoffMultiplier: 2 }).next(4, 0.75)
 * console.log(delay) // 1100
 * ```
 * @category laws
 * @since 0.1.0
 */
export const grpc = (options: {
  readonly initialBackoff: number
  readonly maxBackoff: number
  readonly backoffMultiplier: number
}): Law<number> => {
  const where = "Presets.grpc"
  const initialBackoff = InvalidOption.wholeMillis(where, "initialBackoff", options.initialBackoff, 1)
  const maxBackoff = InvalidOption.wholeMillis(where, "maxBackoff", options.maxBackoff, 1)
  const multiplier = InvalidOption.between(where, "backoffMultiplier", options.backoffMultiplier, 0, Number.MAX_VALUE)
  // One rounding, of the product: 0.8 + 0.4 * 0.75 is 1.1 only as one fraction.
  return law((retries, random) => (Math.min(initialBackoff * multiplier ** retries, maxBackoff) * (8 + 4 * random)) / 10)
}

/**
 * Polly 8. Constant, linear or exponential: the delay, the delay times the number of the retry, or the delay doubled each time.
 * With jitter, constant and linear are spread by plus or minus a quarter; exponential climbs along a curve ("decorrelated jitter
 * V2"). The maximum is applied last: where the law has grown past it, every wait is the maximum itself.
 *
 * Source: `RetryHelper` in Polly.Core 8.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/core"
 *
 * const law = Presets.polly({ backoffType: "linear", delay: 2000, useJitter: true, maxDelay: Infinity })
 * console.log(law.next({ retries: 1, previous: 0 }, 0.25).delay) // 3500
 * ```
 * @category laws
 * @since 0.1.0
 */
export const polly = (options: {
  readonly backoffType: "constant" | "linear" | "exponential"
  readonly delay: number
  readonly useJitter: boolean
  readonly maxDelay: number
}): Law<PollyState> => {
  const where = "Presets.polly"
  const base = InvalidOption.wholeMillis(where, "delay", options.delay)
  const max = InvalidOption.wholeMillisOrInfinity(where, "maxDelay", options.maxDelay)
  const wait = ({ previous, retries }: PollyState, random: number): number => {
    if (options.backoffType === "exponential") {
      return options.useJitter ? ((pollyCurve(retries + random) - previous) * base) / 1.4 : base * 2 ** retries
    }
    const plain = options.backoffType === "linear" ? base * (retries + 1) : base
    return options.useJitter ? plain * (0.75 + 0.5 * random) : plain
  }
  return {
    initial: { retries: 0, previous: 0 },
    next: (state, random) => ({
      state: { retries: state.retries + 1, previous: pollyCurve(state.retries + random) },
      delay: whole(Math.min(max, finite(wait(state, random)))),
      most: whole(Math.min(max, finite(wait(state, 1))))
    })
  }
}

/**
 * @category laws
 * @since 0.1.0
 */
export interface PollyState {
  readonly retries: number
  /** Where the curve of the exponential backoff with jitter stood at the last wait. */
  readonly previous: number
}

/** Polly's "decorrelated jitter V2" walks along this curve: the next wait is how far it climbs until about one step later. */
const pollyCurve = (t: number): number => 2 ** t * Math.tanh(Math.sqrt(4 * t))

/** Infinity - Infinity and 0 * Infinity, a thousand retries on, where the longest wait is meant. */
const finite = (millis: number): number => (Number.isNaN(millis) ? InvalidOption.maxMillis : millis)

/**
 * Resilience4j: `waitDuration * multiplier^retries`, plus or minus a share of itself, then the maximum: where the wait has grown
 * past it, every wait is the maximum itself.
 *
 * Source: `IntervalFunction.ofExponentialRandomBackoff`, resilience4j-core.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/core"
 *
 * const law = Presets.resilience4j({ waitDuration: 500, multiplier: 1.5, randomizationFactor: 0.5, maxInterval: Infinity })
 * console.log(law.next(1, 0).delay) // 375
 * ```
 * @category laws
 * @since 0.1.0
 */
export const resilience4j = (options: {
  readonly waitDuration: number
  readonly multiplier: number
  readonly randomizationFactor: number
  readonly maxInterval: number
}): Law<number> => {
  const where = "Presets.resilience4j"
  const waitDuration = InvalidOption.wholeMillis(where, "waitDuration", options.waitDuration, 1)
  const multiplier = InvalidOption.between(where, "multiplier", options.multiplier, 1, Number.MAX_VALUE)
  const share = InvalidOption.between(where, "randomizationFactor", options.randomizationFactor, 0, 1)
  const max = InvalidOption.wholeMillisOrInfinity(where, "maxInterval", options.maxInterval, 1)
  return law((retries, random) => Math.min(max, waitDuration * multiplier ** retries * (1 - share + 2 * share * random)))
}

/**
 * tenacity's `wait_random_exponential`: uniform over 0..`min(max, multiplier * 2^retries)`, which is full jitter.
 *
 * Source: `tenacity/wait.py`.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/core"
 *
 * console.log(Presets.tenacityRandomExponential({ multiplier: 1000, max: Infinity }).next(2, 0.5).delay) // 2000
 * ```
 * @category laws
 * @since 0.1.0
 */
export const tenacityRandomExponential = (options: { readonly multiplier: number; readonly max: number }): Law<number> => {
  const where = "Presets.tenacityRandomExponential"
  const multiplier = InvalidOption.wholeMillis(where, "multiplier", options.multiplier, 1)
  const max = InvalidOption.wholeMillisOrInfinity(where, "max", options.max)
  return law((retries, random) => random * Math.min(max, InvalidOption.maxMillis, multiplier * 2 ** retries))
}

/**
 * tenacity's `wait_exponential_jitter`: `min(max, initial * 2^retries + random * jitter)`. At the maximum nothing is left of
 * the jitter.
 *
 * Source: `tenacity/wait.py`.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/core"
 *
 * const law = Presets.tenacityExponentialJitter({ initial: 1000, jitter: 1000, max: 5000 })
 * console.log([0, 1, 2, 3].map((retries) => law.next(retries, 0.5).delay)) // [1500, 2500, 4500, 5000]
 * ```
 * @category laws
 * @since 0.1.0
 */
export const tenacityExponentialJitter = (options: {
  readonly initial: number
  readonly jitter: number
  readonly max: number
}): Law<number> => {
  const where = "Presets.tenacityExponentialJitter"
  const initial = InvalidOption.wholeMillis(where, "initial", options.initial, 1)
  const jitter = InvalidOption.wholeMillis(where, "jitter", options.jitter)
  const max = InvalidOption.wholeMillisOrInfinity(where, "max", options.max)
  return law((retries, random) => Math.min(max, initial * 2 ** retries + random * jitter))
}

/**
 * Decorrelated jitter as published: `min(cap, uniform(base, 3 * previous))`. At the cap about two waits of three are the cap
 * itself; `Backoff.decorrelated` is the one that keeps its spread.
 *
 * Source: Brooker, "Exponential Backoff And Jitter" (2015), and aws-samples/aws-arch-backoff-simulator.
 *
 * @example
 * ```ts
 * import { Presets } from "@breakwater/core"
 *
 * const law = Presets.brookerDecorrelated({ base: 100, cap: 800 })
 * console.log([0.1, 0.5, 0.9].map((random) => law.next(800, random).delay)) // [330, 800, 800]
 * ```
 * @category laws
 * @since 0.1.0
 */
export const brookerDecorrelated = (options: { readonly base: number; readonly cap: number }): Law<number> => {
  const where = "Presets.brookerDecorrelated"
  const base = InvalidOption.wholeMillis(where, "base", options.base)
  const cap = Math.min(InvalidOption.maxMillis, InvalidOption.wholeMillisOrInfinity(where, "cap", options.cap))
  return {
    initial: base,
    next: (previous, random) => {
      // Only the wait is a whole number: drawing from what was rounded would lose half a millisecond again each time.
      const drawn = Math.min(cap, base + random * (3 * previous - base))
      return { state: drawn, delay: whole(drawn), most: whole(Math.min(cap, 3 * previous)) }
    }
  }
}
