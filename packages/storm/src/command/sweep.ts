import { Command, HelpDoc, Options } from "@effect/cli"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Sweep from "../Sweep.js"
import * as Named from "./named.js"
import { colours, json, printJson } from "./output.js"
import { replicated } from "./replicated.js"

const parameter = Options.text("parameter").pipe(
  Options.withDescription("The field of the file that is varied: clients.together, policies.patient.attempts")
)

const range = /^(\d+)\.\.(\d+)$/

const values = Options.text("values").pipe(
  Options.withDescription("What it is varied over: 4,6,8,12 or 4..12"),
  Options.mapTryCatch(
    (text): ReadonlyArray<string | number | boolean> => {
      const [, from, to] = range.exec(text) ?? []
      if (from === undefined || to === undefined) return text.split(",").map((value) => Named.plain(value.trim()))
      if (Number(from) > Number(to)) throw new Error(text)
      return Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => Number(from) + index)
    },
    () =>
      HelpDoc.p('--values must be a list such as "4,6,8" or two whole numbers such as "4..12", the first not above the second')
  )
)

const condition = Options.choice("holds-if", ["all-succeeded", "recovered"]).pipe(
  Options.withDescription("What a run must do for the policy to hold in it. Default: all-succeeded."),
  Options.withDefault("all-succeeded" as const)
)

const share = Options.float("share").pipe(
  Options.withDescription("In what share of the runs it must, 0 to 1. Default: 0.95."),
  Options.withDefault(0.95)
)

const seeds = Named.seeds.pipe(Options.withDefault({ from: 1, to: 300 }))

/** One parameter varied, to see where a policy stops holding. */
export const sweep = Command.make(
  "sweep",
  {
    storm: Named.file,
    policy: Named.policy,
    set: Named.set,
    parameter,
    values,
    condition,
    share,
    seeds,
    workers: Named.workers,
    json
  },
  ({ condition, json, parameter, policy, seeds, set, share, storm, values, workers }) =>
    Effect.gen(function* () {
      if (!(share >= 0 && share <= 1))
        return yield* new Named.WrongUsage({ reason: `--share must be from 0 to 1, got ${share}` })
      const points = yield* Effect.forEach(values, (value) =>
        Effect.gen(function* () {
          const named = yield* Named.scenario(storm, { policy, set: { ...set, [parameter]: value } })
          const { part } = yield* replicated({ ...named, name: `${parameter} = ${value}` }, { seeds, workers, progress: !json })
          return { value, summaries: part.summaries }
        })
      )
      const run = condition === "recovered" ? "recovered" : "all succeeded"
      const sweep = Sweep.of(points, { run, share })
      yield* json ? printJson(sweep) : Console.log(Sweep.table(sweep, { colours, parameter }))
    })
).pipe(Command.withDescription("Vary one parameter of a file, and see from where on a policy no longer holds."))
