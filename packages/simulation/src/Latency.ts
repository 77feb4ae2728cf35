/**
 * How long something takes: a time, or a distribution that times are drawn from.
 *
 * ```text
 * constant      |                 always the same
 * uniform       ▄▄▄▄▄             any time between two
 * exponential   █▅▃▂▁▁            mostly short, now and then long; its standard deviation is its mean
 * normal         ▁▅█▅▁            around a mean
 * logNormal     ▂█▅▃▂▁▁ ▁         around a median, with a long tail: what real services look like
 * empirical     as measured       from the quantiles of a histogram
 * ```
 *
 * A sample is the same on every machine: drawn with nothing but exact arithmetic and rounded once, half up, to a whole
 * microsecond. Each takes a fixed number of draws: none for a constant, one for everything else.
 *
 * @since 0.1.0
 */
import { InvalidOption, type RandomStream } from "@breakwater/core"
import type * as Duration from "effect/Duration"
import { exp, log, normalQuantile } from "./internal/elementary.js"
import { format, micros } from "./internal/micros.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Latency {
  /** In words, for reports. */
  readonly description: string
  /** The next time, in whole microseconds. */
  readonly sample: (random: RandomStream.RandomStream) => number
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * Always the same.
 *
 * @example
 * ```ts
 * import { Latency } from "@breakwater/simulation"
 *
 * const call = Latency.constant("100 millis")
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const constant = (time: Duration.DurationInput): Latency => fixed(micros("Latency.constant", "time", time))

const fixed = (time: number): Latency => ({ description: format(time), sample: () => time })

/**
 * Any whole microsecond from `min` to `max`, both included, each as likely as the others.
 *
 * @example
 * ```ts
 * import { Latency } from "@breakwater/simulation"
 *
 * const hop = Latency.uniform({ min: "5 millis", max: "15 millis" })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const uniform = (options: { readonly min: Duration.DurationInput; readonly max: Duration.DurationInput }): Latency => {
  const where = "Latency.uniform"
  const min = micros(where, "min", options.min)
  const span = micros(where, "max", options.max) - min + 1
  if (span < 1) throw new InvalidOption.InvalidOption(where, "max", "at least min", options.max)
  return {
    description: `${format(min)} to ${format(min + span - 1)}`,
    sample: (random) => min + Math.floor(random.next() * span)
  }
}

/**
 * Memoryless: how long is left does not depend on how long it has taken.
 *
 * @example
 * ```ts
 * import { Latency } from "@breakwater/simulation"
 *
 * const think = Latency.exponential({ mean: "2 seconds" })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const exponential = (options: { readonly mean: Duration.DurationInput }): Latency => {
  const mean = micros("Latency.exponential", "mean", options.mean)
  return {
    description: `exponential, mean ${format(mean)}`,
    sample: (random) => round(-mean * log(1 - random.next()))
  }
}

/**
 * The bell curve. What it has below zero counts as 0, or, `folded`, as much above it: Brooker's network ("Exponential Backoff
 * And Jitter", 2015) is folded, mean 10 ms, deviation 2 ms.
 *
 * @example
 * ```ts
 * import { Latency } from "@breakwater/simulation"
 *
 * const hop = Latency.normal({ mean: "10 millis", deviation: "2 millis", folded: true })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const normal = (options: {
  readonly mean: Duration.DurationInput
  /** The standard deviation. */
  readonly deviation: Duration.DurationInput
  /** Takes the absolute value instead of 0 for what falls below zero. Default false. */
  readonly folded?: boolean | undefined
}): Latency => {
  const mean = micros("Latency.normal", "mean", options.mean)
  const deviation = micros("Latency.normal", "deviation", options.deviation)
  const fold = options.folded === true ? Math.abs : (time: number) => Math.max(0, time)
  return {
    description: `normal, mean ${format(mean)}, deviation ${format(deviation)}`,
    sample: (random) => round(fold(mean + deviation * normalQuantile(inside(random.next()))))
  }
}

/**
 * A time whose logarithm is normal. Its mean is `median` times e to the power of `sigma` squared, halved.
 *
 * @example
 * ```ts
 * import { Latency } from "@breakwater/simulation"
 *
 * // half of the calls within 10 ms, 95 % within 15 ms, one in 1,000 above 21 ms
 * const call = Latency.logNormal({ median: "10 millis", sigma: 0.25 })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const logNormal = (options: {
  readonly median: Duration.DurationInput
  /** The standard deviation of the logarithm, 0 to 10: 0.25 is narrow, 1 has a heavy tail. */
  readonly sigma: number
}): Latency => {
  const median = micros("Latency.logNormal", "median", options.median)
  const sigma = InvalidOption.between("Latency.logNormal", "sigma", options.sigma, 0, 10)
  return {
    description: `log-normal, median ${format(median)}, sigma ${sigma}`,
    sample: (random) => round(median * exp(sigma * normalQuantile(inside(random.next()))))
  }
}

/**
 * From measured quantiles: the time that each share of the calls does not exceed, straight lines in between. The first share is
 * 0, the shortest time, the last is 1, the longest.
 *
 * @example
 * ```ts
 * import { Latency } from "@breakwater/simulation"
 *
 * const call = Latency.empirical([
 *   [0, "4 millis"],
 *   [0.5, "11 millis"],
 *   [0.99, "80 millis"],
 *   [1, "2 seconds"]
 * ])
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const empirical = (quantiles: ReadonlyArray<readonly [share: number, time: Duration.DurationInput]>): Latency => {
  const where = "Latency.empirical"
  const points = quantiles.map(([share, time]) => ({ share, time: micros(where, "time", time) }))
  const first = points[0]
  const last = points[points.length - 1]
  const rising = points.every(({ share, time }, index) => {
    const before = points[index - 1]
    return before === undefined || (share > before.share && time >= before.time)
  })
  if (first?.share !== 0 || last?.share !== 1 || !rising) {
    const rule = "shares that rise from 0 to 1, with times that do not fall"
    throw new InvalidOption.InvalidOption(where, "quantiles", rule, JSON.stringify(points.map(({ share }) => share)))
  }
  return {
    description: `as measured, ${format(first.time)} to ${format(last.time)}`,
    sample: (random) => {
      const share = random.next()
      // One exists: the last share is 1 and no draw is.
      const after = points.findIndex((point) => point.share > share)
      const [from, to] = [points[after - 1]!, points[after]!]
      return round(from.time + ((share - from.share) / (to.share - from.share)) * (to.time - from.time))
    }
  }
}

/**
 * A time is a latency that is always the same.
 *
 * @example
 * ```ts
 * import { Latency } from "@breakwater/simulation"
 *
 * console.log(Latency.from("100 millis").description) // 100ms
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const from = (latency: Duration.DurationInput | Latency): Latency => of("Latency.from", "latency", latency)

/**
 * {@link from}, for an option of another function.
 *
 * @internal
 */
export const of = (where: string, field: string, latency: Duration.DurationInput | Latency): Latency =>
  isLatency(latency) ? latency : fixed(micros(where, field, latency))

const isLatency = (value: Duration.DurationInput | Latency): value is Latency => typeof value === "object" && "sample" in value

const round = (time: number): number => Math.floor(time + 0.5)

/** A normal quantile needs a probability inside (0, 1): a draw of 0 stands for the middle of its step. */
const inside = (draw: number): number => (draw === 0 ? 2 ** -54 : draw)
