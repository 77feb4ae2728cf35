/**
 * What many runs of one scenario say together: shares, means and quantiles of a figure.
 *
 * @since 0.1.0
 */

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * The share of values for which something holds, 0 to 1.
 *
 * @example
 * ```ts
 * import { Distribution } from "@breakwater/simulation"
 *
 * console.log(Distribution.share([18, 19, 18, 24], (attempts) => attempts === 18)) // 0.5
 * ```
 * @category getters
 * @since 0.1.0
 */
export const share = <A>(values: ReadonlyArray<A>, holds: (value: A) => boolean): number =>
  values.reduce((count, value) => (holds(value) ? count + 1 : count), 0) / values.length

/**
 * @example
 * ```ts
 * import { Distribution } from "@breakwater/simulation"
 *
 * console.log(Distribution.mean([18, 19, 18, 25])) // 20
 * ```
 * @category getters
 * @since 0.1.0
 */
export const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * The smallest value that at least a share `p` of the values do not exceed (nearest rank): always one of the values. `p` is
 * above 0 and at most 1; the median is 0.5.
 *
 * @example
 * ```ts
 * import { Distribution } from "@breakwater/simulation"
 *
 * console.log(Distribution.quantile([18, 19, 18, 24], 0.5)) // 18
 * ```
 * @category getters
 * @since 0.1.0
 */
export const quantile = (values: ReadonlyArray<number>, p: number): number =>
  Float64Array.from(values).sort()[Math.ceil(p * values.length) - 1]!

/**
 * How often each value occurs, in order of the values.
 *
 * @example
 * ```ts
 * import { Distribution } from "@breakwater/simulation"
 *
 * console.log(Distribution.counts([18, 19, 18])) // [ { value: 18, count: 2 }, { value: 19, count: 1 } ]
 * ```
 * @category getters
 * @since 0.1.0
 */
export const counts = (values: ReadonlyArray<number>): ReadonlyArray<{ readonly value: number; readonly count: number }> => {
  const byValue = new Map<number, number>()
  for (const value of values) byValue.set(value, (byValue.get(value) ?? 0) + 1)
  return Array.from(byValue, ([value, count]) => ({ value, count })).sort((a, b) => a.value - b.value)
}
