import { InvalidOption } from "@breakwater/core"
import * as Duration from "effect/Duration"

/** A configured time that ends, in whole microseconds: rounded once, half up. */
export const micros = (where: string, field: string, input: Duration.DurationInput): number => {
  const value = Math.round(millis(input) * 1000)
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new InvalidOption.InvalidOption(where, field, "a finite time, at least 0", show(input))
}

/** The same, for what cannot be over at once. */
export const microsAboveZero = (where: string, field: string, input: Duration.DurationInput): number => {
  const value = micros(where, field, input)
  if (value > 0) return value
  throw new InvalidOption.InvalidOption(where, field, "above 0", show(input))
}

/** The same, for what comes after another time, or at it. */
export const microsFrom = (where: string, field: string, input: Duration.DurationInput, least: number): number => {
  const value = micros(where, field, input)
  if (value >= least) return value
  throw new InvalidOption.InvalidOption(where, field, `at least ${format(least)}`, show(input))
}

/** `Duration.decode` turns NaN and negative times into zero; here they stay what they are and are refused. */
const millis = (input: Duration.DurationInput): number => {
  if (typeof input === "number") return input
  if (typeof input === "bigint") return Number(input) / 1e6
  if (typeof input === "string" && input.startsWith("-")) return NaN
  try {
    return Duration.toMillis(input)
  } catch {
    return NaN
  }
}

const show = (input: Duration.DurationInput): unknown => (Duration.isDuration(input) ? Duration.format(input) : input)

/** For descriptions. */
export const format = (micros: number): string => Duration.format(Duration.millis(micros / 1000))

/** A span of time from the first instant to just before the second, in whole microseconds. */
export const interval = (
  where: string,
  { from, to }: { readonly from: Duration.DurationInput; readonly to: Duration.DurationInput }
): { readonly from: number; readonly to: number } => {
  const start = micros(where, "from", from)
  const end = micros(where, "to", to)
  if (end > start) return { from: start, to: end }
  throw new InvalidOption.InvalidOption(where, "to", "after from", show(to))
}
