/**
 * Latencies in a memory that does not grow, from which any quantile can be told with a bounded error: a histogram whose buckets
 * are as wide as a 64th of what they hold, as in HdrHistogram. It is made of integer arithmetic alone, so it gives the same on
 * every machine.
 *
 * It forgets: observations are kept in two halves, and when the window is over, the older half goes. Each counts for one window at
 * the least and two at the most. There is no timer, the halves are changed at the next look, and a look after a long pause costs
 * no more than any other. The structure is changed in place: a copy would cost as much as it has buckets.
 *
 * Latencies count in whole microseconds, rounded up. One longer than 19 hours is counted as 19 hours: beyond that, a quantile is
 * too small.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"

// -----------------------------------------------------------------------------
// buckets
// -----------------------------------------------------------------------------

const subBuckets = 64

/** In microseconds: 19 hours. What takes longer is counted as this. */
const longest = 2 ** 36 - 1

/** Values below two times 64 have buckets of their own; above, 64 for each power of two. */
const bucketOf = (micros: number): number => {
  // Operators on bits work on 32 of them; what is cut off here is far below the width of a bucket.
  if (micros >= 2 ** 31) return 6 * subBuckets + bucketOf(Math.floor(micros / 2 ** 6))
  const shift = Math.max(0, 25 - Math.clz32(micros))
  return shift * subBuckets + (micros >>> shift)
}

/** The largest value in a bucket, in microseconds. */
const upperEdge = (bucket: number): number => {
  if (bucket < 2 * subBuckets) return bucket
  const shift = Math.floor(bucket / subBuckets) - 1
  return (bucket - shift * subBuckets + 1) * 2 ** shift - 1
}

const bucketCount = bucketOf(longest) + 1

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/**
 * @example
 * ```ts
 * import { LatencySketch } from "@breakwater/core"
 *
 * const sketch = new LatencySketch.LatencySketch("docs", 60_000)
 * for (let latency = 1; latency <= 100; latency++) sketch.observe(latency, 0)
 * const median = sketch.quantile(0.5)!
 * console.log(median >= 50 && median <= 50 * (1 + 1 / 64), sketch.count(0)) // true 100
 * ```
 * @category rules
 * @since 0.1.0
 */
export class LatencySketch {
  private readonly window: number
  private current = new Half()
  private previous = new Half()
  /** The number of the window that is current. */
  private period = 0

  constructor(where: string, window: number) {
    this.window = InvalidOption.wholeMillis(where, "window", window, 1)
  }

  /**
   * Adds a latency, in milliseconds. What is no time, negative or not a number, is not added: it cannot come from a monotonic
   * clock, and the call that was measured has succeeded and must not fail for its measurement.
   */
  observe(latency: number, now: number): void {
    this.forget(now)
    if (latency >= 0) this.current.add(bucketOf(Math.min(longest, Math.ceil(latency * 1000))))
  }

  /** How many latencies count at a time. */
  count(now: number): number {
    this.forget(now)
    return this.current.count + this.previous.count
  }

  /** The number of the window: what was told of one may be different in the next. */
  periodAt(now: number): number {
    return Math.floor(now / this.window)
  }

  /**
   * The latency that a share `q` of those that count at the last look do not exceed, in milliseconds: the upper edge of its
   * bucket, so never too small, and at most a 64th and a microsecond too large. Nothing where none counts.
   */
  quantile(q: number): number | undefined {
    const total = this.current.count + this.previous.count
    if (total === 0) return undefined
    const rank = Math.max(1, Math.ceil(q * total))
    let seen = 0
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      seen += this.current.counts[bucket]! + this.previous.counts[bucket]!
      if (seen >= rank) return upperEdge(bucket) / 1000
    }
    return longest / 1000
  }

  private forget(now: number): void {
    const period = this.periodAt(now)
    if (period <= this.period) return
    const free = this.previous
    this.previous = period === this.period + 1 ? this.current : new Half()
    this.current = free.cleared()
    this.period = period
  }
}

class Half {
  readonly counts = new Uint32Array(bucketCount)
  count = 0

  add(bucket: number): void {
    this.counts[bucket]!++
    this.count++
  }

  cleared(): this {
    if (this.count > 0) this.counts.fill(0)
    this.count = 0
    return this
  }
}
