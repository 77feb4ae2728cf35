/**
 * | exit code | means                                                        |
 * | --------- | ------------------------------------------------------------ |
 * | 0         | done, and every figure came out                              |
 * | 1         | a storm did not give its figures                             |
 * | 2         | what was typed, or a file that it names, is not right        |
 * | 3         | a run failed: its scenario never ends, or its thread crashed |
 * | 130       | interrupted, with what was done by then                      |
 */
import { CliConfig, Command, ValidationError } from "@effect/cli"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { readFileSync } from "node:fs"
import { compare } from "./compare.js"
import { init } from "./init.js"
import { list } from "./list.js"
import { merge } from "./merge.js"
import { replay } from "./replay.js"
import { run } from "./run.js"
import { sweep } from "./sweep.js"

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}

const command = Command.make("breakwater").pipe(
  Command.withDescription("Runs retry policies through storms, in virtual time, before production does."),
  Command.withSubcommands([list, run, compare, sweep, replay, init, merge])
)

const cli = Command.run(command, { name: "Breakwater", version, executable: "breakwater" })

const say = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterruptedOnly(cause) ? Effect.void : Console.error(Cause.pretty(cause))),
    // Who parses what was typed has said it.
    onSome: (error) =>
      ValidationError.isValidationError(error)
        ? Effect.void
        : Console.error(error instanceof Error ? error.message : String(error))
  })

/** As it was typed, the program's own name first. What goes wrong is said. */
export const breakwater = (args: ReadonlyArray<string>) =>
  cli(args).pipe(Effect.tapErrorCause(say), Effect.provide(CliConfig.layer({ showBuiltIns: false })))

const ofRuns = new Set(["RunFailed", "WorkerCrashed", "Deadlock", "Livelock", "RealAsynchrony", "TooManySteps"])

export const exitCode = (cause: Cause.Cause<unknown>): number => {
  if (Cause.isInterruptedOnly(cause)) return 130
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  const tag = Predicate.hasProperty(error, "_tag") ? String(error._tag) : undefined
  if (tag === "FiguresMissed") return 1
  return tag === undefined || ofRuns.has(tag) ? 3 : 2
}
