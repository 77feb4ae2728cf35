import { InvalidOption } from "@breakwater/core"
import { DurationOption } from "@breakwater/schedule"
import type * as Duration from "effect/Duration"

/** The milliseconds of a configured limit, `Infinity` for none. */
export const limitOption = (where: string, field: string, input: Duration.DurationInput, least = 0): number =>
  InvalidOption.wholeMillisOrInfinity(where, field, DurationOption.toMillis(where, field, input), least)
