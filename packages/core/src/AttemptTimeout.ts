/**
 * The time limit of an attempt that follows the measured latency: the quantile that fits an accepted rate of false time-outs.
 *
 * ```text
 * few seen    -> the ceiling
 * enough seen -> quantile(1 - falseTimeouts), at least the floor, at most the ceiling
 * ```
 *
 * Source: Amazon Builders' Library, "Timeouts, retries and backoff with jitter": choose the accepted rate of false time-outs (0.1 %)
 * and take the percentile of the latency that fits it (p99.9).
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"
import { LatencySketch } from "./LatencySketch.js"

// -----------------------------------------------------------------------------
// options
// -----------------------------------------------------------------------------

/**
 * Times are whole milliseconds.
 *
 * @category options
 * @since 0.1.0
 */
export interface AdaptiveOptions {
  /** The accepted share of attempts that are cut though they would have ended, 0.00001 to 0.5. Default 0.001. */
  readonly falseTimeouts?: number | undefined
  /** Default 10. */
  readonly floor?: number | undefined
  /** Default 10,000. */
  readonly ceiling?: number | undefined
  /** How many attempts must have been seen. Default 1 / falseTimeouts, rounded up. */
  readonly warmUp?: number | undefined
  /** How long a latency counts at the least. Default 60,000. */
  readonly window?: number | undefined
}

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/** How many observations may pass until the quantiles are looked up anew: a look goes through the buckets. */
const staleAfter = 64

/**
 * The adaptive limit. It is changed in place, as the sketch it is made of.
 *
 * Successes count with their latency. An attempt that was cut counts with twice its limit: its own latency is not known, only
 * that it is longer, and counted with less it would keep the limit where it cuts everything. Other failures do not count: a
 * refused connection says nothing of how long an answer takes.
 *
 * The limit is looked up anew when the warm-up ends, when a window ends, and after every 64 observations; in between it costs next
 * to nothing.
 *
 * @example
 * ```ts
 * import { AttemptTimeout } from "@breakwater/core"
 *
 * const rule = AttemptTimeout.adaptive({ falseTimeouts: 0.01, ceiling: 1000 })
 * console.log(rule.limit(0)) // 1000
 * for (let attempt = 0; attempt < 1000; attempt++) rule.succeeded(50, 0)
 * console.log(rule.limit(0)) // 51
 * ```
 * @category rules
 * @since 0.1.0
 */
export const adaptive = (options: AdaptiveOptions = {}): Adaptive => new Adaptive(options)

/**
 * What {@link adaptive} makes.
 *
 * @category rules
 * @since 0.1.0
 */
export class Adaptive {
  private readonly quantile: number
  private readonly floor: number
  private readonly ceiling: number
  private readonly warmUp: number
  private readonly sketch: LatencySketch
  private known: { readonly limit: number; readonly median: number } | undefined
  private knownPeriod = 0
  private observed = 0

  constructor(options: AdaptiveOptions) {
    const where = "AttemptTimeout.adaptive"
    const falseTimeouts = InvalidOption.between(where, "falseTimeouts", options.falseTimeouts ?? 0.001, 0.00001, 0.5)
    this.quantile = 1 - falseTimeouts
    this.ceiling = InvalidOption.wholeMillis(where, "ceiling", options.ceiling ?? 10_000, 1)
    this.floor = InvalidOption.wholeMillis(where, "floor", options.floor ?? Math.min(10, this.ceiling), 1)
    if (this.floor > this.ceiling) {
      throw new InvalidOption.InvalidOption(where, "floor", `at most the ceiling, ${this.ceiling}`, this.floor)
    }
    this.warmUp = InvalidOption.count(where, "warmUp", options.warmUp ?? Math.ceil(1 / falseTimeouts), 1)
    this.sketch = new LatencySketch(where, options.window ?? 60_000)
  }

  /** The limit of an attempt that begins now, in whole milliseconds. */
  limit(now: number): number {
    return this.measured(now)?.limit ?? this.ceiling
  }

  /**
   * What half of the attempts do not exceed, in milliseconds; nothing before enough has been seen. Never longer than the limit,
   * although what was cut counts with more: who has the time of the limit may make an attempt.
   */
  median(now: number): number | undefined {
    return this.measured(now)?.median
  }

  /** An attempt has succeeded after so many milliseconds. */
  succeeded(latency: number, now: number): void {
    this.sketch.observe(latency, now)
    this.observed++
  }

  /** An attempt was cut at its limit. */
  cut(limit: number, now: number): void {
    this.succeeded(2 * limit, now)
  }

  /** Nothing before enough has been seen. */
  private measured(now: number) {
    if (this.sketch.count(now) < this.warmUp) return undefined
    const period = this.sketch.periodAt(now)
    if (this.known === undefined || period !== this.knownPeriod || this.observed >= staleAfter) {
      this.known = this.lookedUp()
      this.knownPeriod = period
      this.observed = 0
    }
    return this.known
  }

  private lookedUp() {
    const quantile = Math.ceil(this.sketch.quantile(this.quantile)!)
    const limit = Math.max(this.floor, Math.min(this.ceiling, quantile))
    return { limit, median: Math.min(limit, this.sketch.quantile(0.5)!) }
  }
}
