/**
 * How long to wait before the next retry, as a function of how many retries there have been: the growth of the wait, before
 * jitter. Use it to keep one client from asking again too soon; spreading many clients is the work of `Jitter`.
 *
 * ```text
 * retry           1     2     3     4     5     6
 * constant      100   100   100   100   100   100
 * linear        100   200   300   400   500   600
 * fibonacci     100   100   200   300   500   800
 * exponential   100   200   400   800   800   800      each with base 100 and cap 800
 * ```
 *
 * Times are whole milliseconds. No wait is NaN, negative or above its cap, whatever the number of retries.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"
import * as Jitter from "./Jitter.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * A growth law in closed form.
 *
 * @category models
 * @since 0.1.0
 */
export interface Backoff {
  /** No wait is longer, in milliseconds; `Infinity` where the cap was lifted. */
  readonly cap: number
  /** The wait in milliseconds before the next retry, after `retries` retries (0 before the first). */
  readonly delay: (retries: number) => number
}

/**
 * A growth law by chance: each wait is drawn, and depends on the one before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface RandomBackoff {
  /** No wait is longer, in milliseconds; `Infinity` where the cap was lifted. */
  readonly cap: number
  /** What counts as the wait before the first one. */
  readonly initial: number
  /** The longest wait that may be drawn after `previous`. */
  readonly most: (previous: number) => number
  /** The wait after `previous`, for a random number in [0, 1). */
  readonly next: (previous: number, random: number) => number
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * The cap of every backoff that grows and is not given one: 30 seconds, as in undici's RetryAgent, go-retryablehttp and
 * cockatiel. An uncapped exponential passes an hour at its seventeenth wait from 100 ms, which nobody who forgot the option
 * has asked for.
 *
 * @category constructors
 * @since 0.1.0
 */
export const defaultCap = 30_000

/**
 * The same wait every time.
 *
 * Throws `InvalidOption` for a wrong option.
 *
 * @example
 * ```ts
 * import { Backoff } from "@breakwater/core"
 *
 * console.log([0, 1, 2].map(Backoff.constant({ delay: 100 }).delay)) // [100, 100, 100]
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const constant = (options: {
  /** Every wait, in whole milliseconds. */
  readonly delay: number
}): Backoff => {
  const delay = InvalidOption.wholeMillis("Backoff.constant", "delay", options.delay)
  return { cap: delay, delay: () => delay }
}

/**
 * `min(cap, base + retries * increment)`.
 *
 * Throws `InvalidOption` for a wrong option.
 *
 * @example
 * ```ts
 * import { Backoff } from "@breakwater/core"
 *
 * const backoff = Backoff.linear({ base: 100, increment: 50, cap: 220 })
 * console.log([0, 1, 2, 3].map(backoff.delay)) // [100, 150, 200, 220]
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const linear = (options: {
  /** The wait before the first retry, in whole milliseconds. */
  readonly base: number
  /** What is added for each further retry, in whole milliseconds. Default: the base. */
  readonly increment?: number | undefined
  /** No wait is longer, in whole milliseconds. `Infinity` lifts it. Default {@link defaultCap}. */
  readonly cap?: number | undefined
}): Backoff => {
  const where = "Backoff.linear"
  const base = InvalidOption.wholeMillis(where, "base", options.base)
  const increment = InvalidOption.wholeMillis(where, "increment", options.increment ?? base)
  const { cap, most } = capOf(where, options.cap)
  return { cap, delay: (retries) => Math.min(most, base + retries * increment) }
}

/**
 * `min(cap, base * factor^retries)`, rounded to the whole millisecond: capped exponential backoff (Brooker, "Exponential
 * Backoff And Jitter", AWS Architecture Blog, 2015). Without a cap it saturates at 8.64e15 ms instead of overflowing.
 *
 * Throws `InvalidOption` for a wrong option.
 *
 * @example
 * ```ts
 * import { Backoff } from "@breakwater/core"
 *
 * const backoff = Backoff.exponential({ base: 100, cap: 800 })
 * console.log([0, 1, 2, 3, 1_000_000].map(backoff.delay)) // [100, 200, 400, 800, 800]
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const exponential = (options: {
  /** The wait before the first retry, in whole milliseconds. */
  readonly base: number
  /** What each wait is multiplied by; at least 1. Default 2. */
  readonly factor?: number | undefined
  /** No wait is longer, in whole milliseconds. `Infinity` lifts it. Default {@link defaultCap}. */
  readonly cap?: number | undefined
}): Backoff => {
  const where = "Backoff.exponential"
  const base = InvalidOption.wholeMillis(where, "base", options.base)
  const factor = InvalidOption.between(where, "factor", options.factor ?? 2, 1, Number.MAX_VALUE)
  const { cap, most } = capOf(where, options.cap)
  return {
    cap,
    // A base of 0 stays 0: times a factor^n that has overflowed it would be NaN.
    delay: (retries) => (base === 0 ? 0 : Math.min(most, Math.round(base * factor ** retries)))
  }
}

/**
 * The base times the Fibonacci numbers 1, 1, 2, 3, 5, ..., up to the cap: grows by about 1.6, more gently at the start.
 *
 * Throws `InvalidOption` for a wrong option.
 *
 * @example
 * ```ts
 * import { Backoff } from "@breakwater/core"
 *
 * const backoff = Backoff.fibonacci({ base: 50, cap: 1000 })
 * console.log([0, 1, 2, 3, 4, 5, 6, 7, 2000].map(backoff.delay)) // [50, 50, 100, 150, 250, 400, 650, 1000, 1000]
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const fibonacci = (options: {
  /** The wait before the first retry and the second, in whole milliseconds. */
  readonly base: number
  /** No wait is longer, in whole milliseconds. `Infinity` lifts it. Default {@link defaultCap}. */
  readonly cap?: number | undefined
}): Backoff => {
  const where = "Backoff.fibonacci"
  const base = InvalidOption.wholeMillis(where, "base", options.base)
  const { cap, most } = capOf(where, options.cap)
  return {
    cap,
    delay: (retries) => {
      let [wait, next] = [base, base]
      // Ends at the cap, after 77 turns at the most: from 1 ms the numbers pass the longest time there.
      for (let i = 0; i < retries && 0 < wait && wait < most; i++) [wait, next] = [next, wait + next]
      return Math.min(most, wait)
    }
  }
}

/**
 * Each wait uniform over the whole milliseconds from the base to three times the wait before it, or to the cap where that is
 * less: decorrelated jitter (Brooker 2015), which spreads clients by itself and needs no `Jitter`.
 *
 * The published formula, `min(cap, uniform(base, 3 * previous))`, clamps the draw: at the cap about two waits of three are the
 * cap itself and the clients fall into step again. Here the interval ends at the cap, so every draw stays spread. Below a third
 * of the cap the two are the same.
 *
 * Throws `InvalidOption` for a wrong option.
 *
 * @example
 * ```ts
 * import { Backoff } from "@breakwater/core"
 *
 * const backoff = Backoff.decorrelated({ base: 100, cap: 800 })
 * console.log([0, 0.5, 0.999].map((random) => backoff.next(100, random))) // [100, 200, 300]
 * console.log([0, 0.5, 0.999].map((random) => backoff.next(800, random))) // [100, 450, 800]
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const decorrelated = (options: {
  /** The shortest wait, in whole milliseconds. */
  readonly base: number
  /** No wait is longer, in whole milliseconds; not below the base. `Infinity` lifts it. Default {@link defaultCap}. */
  readonly cap?: number | undefined
}): RandomBackoff => {
  const where = "Backoff.decorrelated"
  const base = InvalidOption.wholeMillis(where, "base", options.base)
  const { cap, most: limit } = capOf(where, options.cap)
  if (cap < base) throw new InvalidOption.InvalidOption(where, "cap", `at least the base, ${base}`, cap)
  const most = (previous: number) => Math.min(limit, previous * 3)
  return { cap, initial: base, most, next: (previous, random) => Jitter.uniform(base, most(previous), random) }
}

const capOf = (where: string, cap: number = defaultCap): { readonly cap: number; readonly most: number } => ({
  cap: InvalidOption.wholeMillisOrInfinity(where, "cap", cap),
  most: Math.min(cap, InvalidOption.maxMillis)
})

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * No wait before the first retry, then the given backoff from its start: for a fault that is usually gone at once, such as a
 * connection that the other side had closed while idle.
 *
 * @example
 * ```ts
 * import { Backoff } from "@breakwater/core"
 *
 * console.log([0, 1, 2].map(Backoff.immediateFirst(Backoff.exponential({ base: 100 })).delay)) // [0, 100, 200]
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const immediateFirst = (self: Backoff): Backoff => ({
  cap: self.cap,
  delay: (retries) => (retries === 0 ? 0 : self.delay(retries - 1))
})
