import { Args, Command } from "@effect/cli"
import { Simulation } from "@breakwater/simulation"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as TraceText from "../TraceText.js"
import { json, printJson } from "./output.js"
import * as Named from "./named.js"

const seed = Args.integer({ name: "seed" }).pipe(Args.withDescription("The run to be told: the same seed gives the same run."))

/** One run, all of it. */
export const replay = Command.make(
  "replay",
  { storm: Named.storm, seed, policy: Named.policy, set: Named.set, json },
  (options) =>
    Effect.gen(function* () {
      const { scenario } = yield* Named.scenario(options.storm, options)
      const trace = yield* Simulation.run(scenario, { seed: options.seed })
      yield* options.json ? printJson(trace) : Console.log(TraceText.of(trace))
    })
).pipe(Command.withDescription("Tell everything that happens in one run of a storm, by its seed."))
