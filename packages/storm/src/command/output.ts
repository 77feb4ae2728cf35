/** What all commands print, and how: text for people, or JSON for programs. */
import { Options } from "@effect/cli"
import * as Console from "effect/Console"
import type * as Effect from "effect/Effect"

export const json = Options.boolean("json").pipe(
  Options.withDescription("Print JSON for programs instead of text, and no progress.")
)

/** Only where somebody sees them, and has not said that they are unwanted (no-color.org). */
export const colours: boolean = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined

export const printJson = (value: unknown): Effect.Effect<void> => Console.log(JSON.stringify(value, undefined, 2))
