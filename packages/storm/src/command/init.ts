import { Args, Command, Options } from "@effect/cli"
import { FileSystem } from "@effect/platform"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as StormFile from "../StormFile.js"
import { WrongUsage } from "./named.js"

const kind = Options.choice("kind", ["yaml", "typescript"]).pipe(
  Options.withDescription("Data, or a module that can use policies of your own. Default: yaml."),
  Options.withDefault("yaml" as const)
)

const file = Args.text({ name: "file" }).pipe(
  Args.withDescription("The file to write. Default: storm.yaml, or storm.ts."),
  Args.optional
)

/** A file to begin with. */
export const init = Command.make("init", { kind, file }, ({ file, kind }) =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const name = Option.getOrElse(file, () => (kind === "yaml" ? "storm.yaml" : "storm.ts"))
    if (yield* fileSystem.exists(name)) {
      return yield* new WrongUsage({ reason: `${name} is there already; name another file, or remove it` })
    }
    yield* fileSystem.writeFileString(name, StormFile.template(kind))
    yield* Console.log(`Wrote ${name}. Next: breakwater compare ${name}`)
  })
).pipe(Command.withDescription("Write a commented file that describes a storm, to begin with."))
