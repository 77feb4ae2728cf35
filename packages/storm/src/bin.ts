#!/usr/bin/env node
/**
 * Runs the storms of the catalogue, prints what they give and writes the report. Exits with 1 if a figure does not come out.
 * With `--full` every distribution is taken from 20,000 runs, in bands as narrow as that: `npm start -- --full`.
 */
import { FileSystem, Path } from "@effect/platform"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { SingleBar } from "cli-progress"
import * as Array from "effect/Array"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { pathToFileURL } from "node:url"
import * as Catalogue from "./Catalogue.js"
import * as HtmlReport from "./HtmlReport.js"
import * as Storm from "./Storm.js"
import * as TextReport from "./TextReport.js"

class FigureMissed extends Data.TaggedError("FigureMissed")<{ readonly storms: ReadonlyArray<string> }> {
  override get message(): string {
    return `These storms did not give their figures: ${this.storms.join(", ")}`
  }
}

const storms = process.argv.includes("--full") ? Catalogue.make({ replicas: 20_000 }) : Catalogue.storms

const reportFile = "storm-report.html"

const colours = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined

const progressBar = (storm: Storm.Storm) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const bar = new SingleBar({
        format: `${storm.id} ${storm.title} [{bar}] {percentage} %, {value} of {total} runs, {eta_formatted} left`,
        stream: process.stdout,
        noTTYOutput: true,
        notTTYSchedule: 5000,
        hideCursor: true
      })
      bar.start(storm.replicas, 0)
      return bar
    }),
    (bar) => Effect.sync(() => bar.stop())
  )

const checkWithProgress = (storm: Storm.Storm) =>
  progressBar(storm).pipe(
    Effect.flatMap((bar) => Storm.check(storm, (done) => Effect.sync(() => bar.update(done)))),
    Effect.scoped
  )

/** What every run of it gives the same comes first, at once; what takes many runs follows with its distribution. */
const program = Effect.gen(function* () {
  const [many, one] = Array.partition(storms, (storm) => storm.replicas === 0)
  const checked = yield* Effect.forEach(one, (storm) => Storm.check(storm))
  yield* Console.log(TextReport.table(checked, { colours }))
  for (const storm of many) {
    yield* Console.log("")
    const replicated = yield* checkWithProgress(storm)
    yield* Console.log(`\n${TextReport.table([replicated], { colours })}`)
    yield* Console.log(`\nRuns by number of attempts:\n`)
    yield* Console.log(TextReport.histogram(replicated.outcome.replicas.map((run) => run.attempts)))
    checked.push(replicated)
  }
  const file = (yield* Path.Path).resolve(reportFile)
  yield* (yield* FileSystem.FileSystem).writeFileString(file, HtmlReport.render(checked))
  yield* Console.log(`\nThe report with the pictures: ${pathToFileURL(file).href}`)
  const missed = checked.filter(({ holds }) => !holds)
  if (missed.length > 0) return yield* new FigureMissed({ storms: missed.map(({ storm }) => storm.id) })
})

program.pipe(Effect.provide(NodeContext.layer), NodeRuntime.runMain)
