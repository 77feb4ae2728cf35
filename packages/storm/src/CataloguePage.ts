/**
 * The catalogue as a page to read: what each storm teaches, what it must give, and who says so.
 *
 * @since 0.1.0
 */
import type { Storm } from "./Storm.js"

// -----------------------------------------------------------------------------
// page
// -----------------------------------------------------------------------------

/**
 * As Markdown, from the storms alone: nothing is run.
 *
 * @example
 * ```ts
 * import { Catalogue, CataloguePage } from "@breakwater/storm"
 *
 * const page = CataloguePage.markdown({ everyDay: Catalogue.storms, thorough: Catalogue.thorough })
 * console.log(page.split("\n")[0]) // # The catalogue of storms
 * ```
 * @category page
 * @since 0.1.0
 */
export const markdown = (catalogue: {
  readonly everyDay: ReadonlyArray<Storm>
  /** What runs with `--all`. */
  readonly thorough: ReadonlyArray<Storm>
}): string => {
  const ids = new Set(catalogue.everyDay.map(({ id }) => id))
  const longer = catalogue.thorough.filter(({ id }) => !ids.has(id))
  return [
    "# The catalogue of storms",
    "Each storm has a model, a policy and figures that it must give, with the source that says so. `npm start` runs those for every day;\n`npm start -- --all` runs all of them, every distribution from 20,000 runs. `npm start -- A4 S1` runs some. A storm that does not give its\nfigures makes the command fail.\n\nMade by `npx breakwater list --markdown`.",
    "## For every day",
    ...catalogue.everyDay.map(section),
    ...(longer.length === 0 ? [] : ["## With `--all`", ...longer.map(section)])
  ]
    .join("\n\n")
    .concat("\n")
}

const section = ({ figures, id, lesson, policy, replicas, scenario, source, title }: Storm): string =>
  [
    `### ${id} ${escape(title)}`,
    escape(lesson),
    [
      `- **Policy:** ${escape(policy)}`,
      `- **Service:** ${escape(scenario.service.description)}`,
      `- **Clients:** ${escape(scenario.clients.description)}`,
      `- **Runs:** ${Math.max(1, replicas)}`,
      `- **Source:** ${escape(source)}`
    ].join("\n"),
    [
      "| figure | must be |",
      "| --- | --- |",
      ...figures.map(({ expected, name }) => `| ${escape(name)} | ${escape(expected)} |`)
    ].join("\n")
  ].join("\n\n")

/** What Markdown would take for more than text. */
const escape = (text: string): string => text.replace(/[\\*_<>|[\]]/g, (character) => `\\${character}`)
