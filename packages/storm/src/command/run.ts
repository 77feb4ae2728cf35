import { Args, Command, Options } from "@effect/cli"
import { FileSystem, Path } from "@effect/platform"
import * as Array from "effect/Array"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { pathToFileURL } from "node:url"
import * as Catalogue from "../Catalogue.js"
import * as Charts from "../Charts.js"
import * as Comparison from "../Comparison.js"
import * as Decisions from "../Decisions.js"
import * as HtmlReport from "../HtmlReport.js"
import { didYouMean } from "../internal/nearest.js"
import * as Part from "../Part.js"
import * as Storm from "../Storm.js"
import * as TextReport from "../TextReport.js"
import * as Named from "./named.js"
import { colours, json, printJson } from "./output.js"
import { replicated } from "./replicated.js"

// -----------------------------------------------------------------------------
// options
// -----------------------------------------------------------------------------

const names = Args.text({ name: "storm" }).pipe(
  Args.withDescription("Storms of the catalogue. Default: all for every day. With --seeds one, or a file."),
  Args.repeated
)

const all = Options.boolean("all").pipe(
  Options.withDescription("The whole catalogue, with its long tables and 20,000 runs for every distribution.")
)

const report = Options.text("report").pipe(
  Options.withDescription("Where the HTML report goes. Default: storm-report.html"),
  Options.withDefault("storm-report.html")
)

const seeds = Named.seeds.pipe(Options.optional)

const out = Options.text("out").pipe(
  Options.withDescription("With --seeds: write what was run to this file, for `breakwater merge`."),
  Options.optional
)

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/** Not a mistake of who typed it: the figures did not come out. */
export class FiguresMissed extends Data.TaggedError("FiguresMissed")<{ readonly storms: ReadonlyArray<string> }> {
  override get message(): string {
    return `These storms did not give their figures: ${this.storms.join(", ")}`
  }
}

// -----------------------------------------------------------------------------
// storms
// -----------------------------------------------------------------------------

interface RunOptions {
  readonly workers: Option.Option<number>
  readonly json: boolean
}

/** To start a thread takes about as long as so many short runs. */
const worthThreads = 500

const checked = (storm: Storm.Storm, { json, workers }: RunOptions) => {
  if (storm.replicas < worthThreads && Option.isNone(workers)) return Storm.check(storm)
  const named = { name: `${storm.id} ${storm.title}`, source: { _tag: "Catalogue", id: storm.id } as const }
  return Storm.check(storm, ({ replicas }) =>
    Effect.map(replicated(named, { seeds: { from: 1, to: replicas }, workers, progress: !json }), ({ part }) => part.summaries)
  )
}

/** Of those whose picture shows single clients. */
const decisionsOf = (checked: ReadonlyArray<Storm.Checked>) =>
  Effect.map(
    Effect.forEach(
      checked.filter(({ outcome }) => outcome.trace.clients <= Charts.mostLanes),
      ({ storm }) =>
        Effect.map(Decisions.record(storm.scenario, { seed: storm.seed }), ({ decisions }) => [storm.id, decisions] as const)
    ),
    Object.fromEntries<ReadonlyArray<Decisions.Decision>>
  )

/** What one run says comes first, at once; what takes many runs follows with its distribution. */
const runStorms = (storms: ReadonlyArray<Storm.Storm>, options: RunOptions & { readonly report: string }) =>
  Effect.gen(function* () {
    const say = options.json ? () => Effect.void : Console.log
    const [many, one] = Array.partition(storms, (storm) => storm.replicas === 0)
    const results = yield* Effect.forEach(one, (storm) => checked(storm, options))
    if (one.length > 0) yield* say(TextReport.table(results, { colours }))
    for (const storm of many) {
      const result = yield* checked(storm, options)
      yield* say(`\n${TextReport.table([result], { colours })}`)
      yield* say(`\nRuns by number of attempts:\n`)
      yield* say(TextReport.histogram(result.outcome.replicas.map((run) => run.attempts)))
      results.push(result)
    }
    const file = (yield* Path.Path).resolve(options.report)
    const page = HtmlReport.render(results, { decisions: yield* decisionsOf(results) })
    yield* (yield* FileSystem.FileSystem).writeFileString(file, page)
    yield* say(`\nThe report with the pictures: ${pathToFileURL(file).href}`)
    if (options.json) yield* printJson(results.map(asData))
    const missed = results.filter(({ holds }) => !holds)
    if (missed.length > 0) return yield* new FiguresMissed({ storms: missed.map(({ storm }) => storm.id) })
  })

const asData = ({ figures, holds, outcome, storm }: Storm.Checked) => ({
  id: storm.id,
  title: storm.title,
  policy: storm.policy,
  source: storm.source,
  holds,
  figures: figures.map(({ figure, holds, measured }) => ({
    name: figure.name,
    expected: figure.expected,
    measured: Number.isNaN(measured) ? null : measured,
    holds
  })),
  seed: storm.seed,
  runs: Math.max(1, outcome.replicas.length),
  summary: outcome.summary
})

// -----------------------------------------------------------------------------
// a share of a sweep
// -----------------------------------------------------------------------------

interface SeedOptions extends RunOptions {
  readonly out: Option.Option<string>
}

const runSeeds = (named: Named.Named, seeds: Part.Seeds, { json, out, workers }: SeedOptions) =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const give = (part: Part.Part) =>
      Effect.gen(function* () {
        if (Option.isSome(out)) yield* Effect.orDie(fileSystem.writeFileString(out.value, Part.toText(part)))
        const comparison = Comparison.of({ [named.name]: part.summaries })
        yield* json ? printJson(comparison) : Console.log(Comparison.table(comparison, { colours }))
      })
    const { part } = yield* replicated(named, {
      seeds,
      workers,
      progress: !json,
      onUnfinished: ({ part }) =>
        Effect.zipRight(
          Console.error(`\nEnded early: this is what seeds ${part.seeds.from} to ${part.seeds.to} gave.`),
          give(part)
        )
    })
    yield* give(part)
  })

/** What follows the names of storms is a name to the parser, and so is a mistyped option. */
const knownOptions = ["--all", "--seeds", "--out", "--report", "--policy", "--set", "--workers", "--json"]

// -----------------------------------------------------------------------------
// command
// -----------------------------------------------------------------------------

/** The catalogue, or some of it, against its figures. */
export const run = Command.make(
  "run",
  { names, all, seeds, out, report, policy: Named.policy, set: Named.set, workers: Named.workers, json },
  ({ all, names, seeds, ...options }) =>
    Effect.gen(function* () {
      const option = names.find((name) => name.startsWith("-"))
      if (option !== undefined)
        return yield* new Named.WrongUsage({ reason: `There is no option ${option}.${didYouMean(option, knownOptions)}` })
      if (Option.isSome(seeds)) {
        const [name, ...others] = names
        if (name === undefined || others.length > 0) {
          return yield* new Named.WrongUsage({ reason: "--seeds is for one storm: name it, or a file" })
        }
        return yield* runSeeds(yield* Named.scenario(name, options), seeds.value, options)
      }
      if (Option.isSome(options.out))
        return yield* new Named.WrongUsage({ reason: "--out needs --seeds: which runs it is about" })
      const everything = all ? Catalogue.thorough : Catalogue.storms
      const storms =
        names.length === 0 ? everything : yield* Effect.forEach(names, (name) => Catalogue.find(name, { in: everything }))
      yield* runStorms(storms, options)
    })
).pipe(
  Command.withDescription(
    "Run storms of the catalogue, print what they give and write a report with pictures. With --seeds: run one storm, or a file, under these seeds."
  )
)
