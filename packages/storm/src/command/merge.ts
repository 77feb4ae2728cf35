import { Args, Command, Options } from "@effect/cli"
import { FileSystem } from "@effect/platform"
import type * as Array from "effect/Array"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Comparison from "../Comparison.js"
import * as Part from "../Part.js"
import { WrongUsage } from "./named.js"
import { colours, json, printJson } from "./output.js"

const files = Args.text({ name: "part" }).pipe(
  Args.withDescription("A part that `breakwater run --seeds ... --out` has written."),
  Args.atLeast(1)
)

const allowGaps = Options.boolean("allow-gaps").pipe(
  Options.withDescription("Take what there is, though seeds between the parts are missing.")
)

const out = Options.text("out").pipe(Options.withDescription("Write the merged part to this file."), Options.optional)

/** Parts of a sweep over seeds, run wherever, as one. */
export const merge = Command.make("merge", { files, out, allowGaps, json }, ({ allowGaps, files, json, out }) =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const parts = yield* Effect.forEach(files, (file) =>
      Effect.flatMap(fileSystem.readFileString(file), Part.read).pipe(
        Effect.mapError(({ message }) => new WrongUsage({ reason: `${file}: ${message}` }))
      )
    )
    const merged = yield* Part.merge(parts as Array.NonEmptyReadonlyArray<Part.Part>, { allowGaps })
    if (Option.isSome(out)) yield* fileSystem.writeFileString(out.value, Part.toText(merged))
    const comparison = Comparison.of({ [merged.scenario]: merged.summaries })
    yield* json ? printJson(comparison) : Console.log(Comparison.table(comparison, { colours }))
  })
).pipe(Command.withDescription("Put the parts of a sweep together, which machines have run side by side."))
