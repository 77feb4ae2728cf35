/**
 * A configured time as the rules of `@breakwater/core` take it: a number of milliseconds that can still be refused.
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import * as Duration from "effect/Duration"

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * The milliseconds of a configured time. `Duration.decode` turns NaN and negative times into zero; here they stay what they
 * are, so that the rule that gets them can refuse them. What is no time at all throws `InvalidOption`, in the name of the
 * function and the field.
 *
 * @example
 * ```ts
 * import { DurationOption } from "@breakwater/schedule"
 *
 * console.log(DurationOption.toMillis("Shop.make", "patience", "2 seconds")) // 2000
 * ```
 * @category getters
 * @since 0.1.0
 */
export const toMillis = (where: string, field: string, input: Duration.DurationInput): number => {
  if (typeof input === "number") return input
  if (typeof input === "bigint") return Number(input) / 1e6
  if (Array.isArray(input)) return input[0] * 1e3 + input[1] / 1e6
  try {
    const negative = typeof input === "string" && input.startsWith("-")
    return negative
      ? -Duration.toMillis(input.slice(1) as Duration.DurationInput)
      : Duration.toMillis(input as Duration.DurationInput)
  } catch {
    throw new InvalidOption.InvalidOption(where, field, `a duration, for example "100 millis"`, input)
  }
}

/**
 * As {@link toMillis}, for an option that may be absent.
 *
 * @category getters
 * @since 0.1.0
 */
export const toMillisOrUndefined = (
  where: string,
  field: string,
  input: Duration.DurationInput | undefined
): number | undefined => (input === undefined ? undefined : toMillis(where, field, input))
