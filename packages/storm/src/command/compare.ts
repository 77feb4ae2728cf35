import { Command, Options } from "@effect/cli"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Comparison from "../Comparison.js"
import * as StormFile from "../StormFile.js"
import * as Named from "./named.js"
import { colours, json, printJson } from "./output.js"
import { replicated } from "./replicated.js"

const seeds = Named.seeds.pipe(Options.withDefault({ from: 1, to: 1000 }))

/** Several policies in the same storm, under the same seeds. */
export const compare = Command.make(
  "compare",
  { file: Named.file, policies: Named.policies, set: Named.set, seeds, workers: Named.workers, json },
  ({ file, json, policies, seeds, set, workers }) =>
    Effect.gen(function* () {
      const storm = yield* StormFile.load(file, { set })
      const names = policies.length === 0 ? Object.keys(storm.policies) : policies
      const runs = yield* Effect.forEach(names, (policy) =>
        Effect.gen(function* () {
          const named = yield* Named.ofFile(file, storm, policy, set)
          const { part } = yield* replicated(named, { seeds, workers, progress: !json })
          return [policy, part.summaries] as const
        })
      )
      const comparison = Comparison.of(Object.fromEntries(runs))
      yield* json ? printJson(comparison) : Console.log(Comparison.table(comparison, { colours }))
    })
).pipe(Command.withDescription("Run the policies of a file under the same seeds, and say which is best in what."))
