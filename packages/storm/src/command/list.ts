import { Command, Options } from "@effect/cli"
import Table from "cli-table3"
import * as Console from "effect/Console"
import * as Catalogue from "../Catalogue.js"
import * as CataloguePage from "../CataloguePage.js"
import { colours, json, printJson } from "./output.js"

const markdown = Options.boolean("markdown").pipe(Options.withDescription("As a page, with all figures and sources."))

/** What the catalogue holds. */
export const list = Command.make("list", { json, markdown }, ({ json, markdown }) => {
  if (markdown)
    return Console.log(CataloguePage.markdown({ everyDay: Catalogue.storms, thorough: Catalogue.thorough }).trimEnd())
  const everyDay = new Set(Catalogue.storms.map(({ id }) => id))
  const storms = [
    ...Catalogue.storms.map((storm) => ({ storm, everyDay: true })),
    ...Catalogue.thorough.filter(({ id }) => !everyDay.has(id)).map((storm) => ({ storm, everyDay: false }))
  ]
  if (json) {
    return printJson(
      storms.map(({ everyDay, storm: { id, lesson, policy, replicas, source, title } }) => ({
        id,
        title,
        lesson,
        policy,
        runs: Math.max(1, replicas),
        everyDay,
        source
      }))
    )
  }
  const table = new Table({
    head: ["storm", "what it teaches", "runs"],
    wordWrap: true,
    colWidths: [30, 76, 10],
    style: colours ? { head: ["bold"], border: ["gray"] } : { head: [], border: [] }
  })
  for (const { everyDay, storm } of storms) {
    table.push([`${storm.id} ${storm.title}`, storm.lesson, `${Math.max(1, storm.replicas)}${everyDay ? "" : ", --all"}`])
  }
  return Console.log(table.toString())
}).pipe(Command.withDescription("Name the storms of the catalogue. Those marked --all run only with that option."))
