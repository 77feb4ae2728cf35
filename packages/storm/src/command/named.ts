/** Storms by what somebody types: a name of the catalogue, or a file. */
import { Args, HelpDoc, Options } from "@effect/cli"
import type { FileSystem, Path } from "@effect/platform"
import type { Scenario } from "@breakwater/simulation"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Catalogue from "../Catalogue.js"
import * as OwnStorm from "../OwnStorm.js"
import type { Seeds } from "../Part.js"
import type { Source } from "../Source.js"
import * as StormFile from "../StormFile.js"

// -----------------------------------------------------------------------------
// options
// -----------------------------------------------------------------------------

export const storm = Args.text({ name: "storm" }).pipe(
  Args.withDescription("A storm of the catalogue, or a file that describes one (.yaml, .json, .ts, .js).")
)

export const file = Args.text({ name: "file" }).pipe(
  Args.withDescription("A file that describes a storm (.yaml, .json, .ts, .js); `breakwater init` writes one to begin with.")
)

export const policy = Options.text("policy").pipe(
  Options.withDescription("Which policy of the file; may be left out where it has one."),
  Options.optional
)

export const policies = Options.text("policy").pipe(
  Options.withDescription("A policy of the file, once for each. Default: all of them."),
  Options.repeated
)

export const set = Options.keyValueMap("set").pipe(
  Options.withDescription("Takes the place of a value in the file: --set clients.together=8"),
  Options.map((values) => Object.fromEntries([...values].map(([path, value]) => [path, plain(value)]))),
  Options.withDefault({} as StormFile.Parameters)
)

export const workers = Options.integer("workers").pipe(
  Options.withDescription("How many threads. Default: as many as the machine runs at the same time."),
  Options.optional
)

const range = /^(\d+)\.\.(\d+)$/

export const seeds = Options.text("seeds").pipe(
  Options.withDescription("The seeds of the runs, both ends included: 1..1000"),
  Options.mapTryCatch(
    (text): Seeds => {
      const [, from, to] = range.exec(text) ?? []
      if (from === undefined || to === undefined || Number(from) > Number(to)) throw new Error(text)
      return { from: Number(from), to: Number(to) }
    },
    () => HelpDoc.p('--seeds must be two whole numbers such as "1..1000", the first not above the second')
  )
)

/** A number or a word, as it would stand in a file. */
export const plain = (text: string): string | number | boolean =>
  text === "true" || text === "false" ? text === "true" : text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text)

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/** What was typed fits, and yet is not enough, or too much. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}

// -----------------------------------------------------------------------------
// scenarios
// -----------------------------------------------------------------------------

const isFile = (name: string): boolean => /[/\\]|\.[a-z]+$/i.test(name)

export interface Named {
  readonly name: string
  readonly scenario: Scenario.Scenario
  /** How a thread, or another machine, finds it. */
  readonly source: Source
}

export const scenario = (
  name: string,
  options: { readonly policy: Option.Option<string>; readonly set?: StormFile.Parameters }
): Effect.Effect<
  Named,
  Catalogue.UnknownStorm | StormFile.StormFileError | OwnStorm.UnknownPolicy | WrongUsage,
  FileSystem.FileSystem | Path.Path
> =>
  Effect.gen(function* () {
    if (isFile(name)) {
      const storm = yield* StormFile.load(name, { set: options.set })
      return yield* ofFile(name, storm, yield* policyOf(storm, options.policy), options.set)
    }
    if (Option.isSome(options.policy))
      return yield* new WrongUsage({ reason: "--policy is for files: a storm of the catalogue has one" })
    const { id, scenario, title } = yield* Catalogue.find(name)
    return { name: `${id} ${title}`, scenario, source: { _tag: "Catalogue", id } as const }
  })

export const ofFile = (
  file: string,
  storm: OwnStorm.OwnStorm,
  policy: string,
  set: StormFile.Parameters = {}
): Effect.Effect<Named, OwnStorm.UnknownPolicy> =>
  Effect.map(OwnStorm.scenario(storm, policy), (scenario) => ({
    name: scenario.name,
    scenario,
    source: { _tag: "File", file, policy, set } as const
  }))

const policyOf = (storm: OwnStorm.OwnStorm, policy: Option.Option<string>): Effect.Effect<string, WrongUsage> => {
  if (Option.isSome(policy)) return Effect.succeed(policy.value)
  const [first, ...others] = Object.keys(storm.policies)
  return others.length === 0
    ? Effect.succeed(first!)
    : new WrongUsage({
        reason: `${storm.name} has several policies: name one with --policy (${Object.keys(storm.policies).join(", ")})`
      })
}
