/**
 * A report on storms as one HTML page that needs nothing else: no script, no request. It reads on a phone and on a wide screen, in
 * light and in dark, by keyboard and by screen reader; every picture can be read as a table.
 *
 * @since 0.1.0
 */
import { Distribution, type Summary } from "@breakwater/simulation"
import * as Duration from "effect/Duration"
import { createHash } from "node:crypto"
import { createRequire } from "node:module"
import * as Charts from "./Charts.js"
import * as ChartText from "./ChartText.js"
import type { Decision } from "./Decisions.js"
import type { Checked, Outcome, Storm } from "./Storm.js"
import * as TextReport from "./TextReport.js"

// -----------------------------------------------------------------------------
// options
// -----------------------------------------------------------------------------

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /**
   * What the policies decided in the run of each storm that is shown, by the id of the storm; see `Decisions.record`. Default:
   * not known, then the pictures show the waits as they were and no reasons.
   */
  readonly decisions?: Readonly<Record<string, ReadonlyArray<Decision>>> | undefined
}

// -----------------------------------------------------------------------------
// page
// -----------------------------------------------------------------------------

/**
 * @example
 * ```ts
 * import { Decisions, HtmlReport, SixClients, Storm } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const { fullJitter } = SixClients
 * const checked = Effect.runSync(Storm.check(fullJitter))
 * const { decisions } = Effect.runSync(Decisions.record(fullJitter.scenario, { seed: fullJitter.seed }))
 *
 * const page = HtmlReport.render([checked], { decisions: { A4: decisions } })
 * ```
 * @category page
 * @since 0.1.0
 */
export const render = (checked: ReadonlyArray<Checked>, options: Options = {}): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Breakwater: storms</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body id="top">
<a class="skip" href="#storms">Skip to the storms</a>
<header>
<h1>Storms</h1>
<p class="lead">Real retry policies, run by the simulator of Breakwater. Each storm must give the figures of its source: ${verdictInWords(checked)}</p>
${contents(checked)}
</header>
<main id="storms" tabindex="-1">
${overview(checked)}
${checked.map((storm) => section(storm, options.decisions?.[storm.storm.id])).join("\n")}
</main>
<footer>
<p>Written by @breakwater/storm ${version()}. All of it is in this file; it loads nothing. Every picture has its numbers below it.</p>
</footer>
</body>
</html>
`

const verdictInWords = (checked: ReadonlyArray<Checked>): string => {
  const missed = checked.filter(({ holds }) => !holds)
  if (missed.length === 0) return checked.length === 1 ? "it does." : `all ${checked.length} do.`
  return `<strong class="wrong">${missed.map(({ storm }) => link(storm, storm.id)).join(", ")} ${missed.length === 1 ? "does" : "do"} not.</strong>`
}

/** More storms than this are listed when asked for. */
const mostOpen = 15

const contents = (checked: ReadonlyArray<Checked>): string =>
  checked.length < 2
    ? ""
    : `<nav aria-label="Contents"><details${checked.length > mostOpen ? "" : " open"}>
<summary>Contents: ${checked.length} storms</summary>
<ol>
${checked.map(({ storm }) => `<li>${link(storm, `<b>${escape(storm.id)}</b> <span>${escape(storm.title)}</span>`)}`).join("\n")}
</ol>
</details></nav>`

const link = ({ id }: Storm, html: string): string => `<a href="#${escape(id)}">${html}</a>`

const overview = (checked: ReadonlyArray<Checked>): string => {
  if (checked.length < 2) return ""
  const rows = checked.map(({ holds, outcome, storm }) => {
    const { attempts, recovery, succeeded } = TextReport.overview(outcome)
    const cells = [attempts, succeeded, recovery].map((cell) => `<td>${escape(cell)}`).join("")
    return `<tr><th scope="row">${link(storm, escape(`${storm.id} ${storm.title}`))}${cells}${verdict(holds)}`
  })
  return `<section aria-labelledby="overview">
<h2 id="overview">Overview</h2>
${scrolling("Overview", tableOf("What each storm gave", ["storm", "attempts", "succeeded", "recovery", "verdict"], rows))}
</section>`
}

// -----------------------------------------------------------------------------
// storm
// -----------------------------------------------------------------------------

const section = (checked: Checked, decisions: ReadonlyArray<Decision> | undefined): string => {
  const { outcome, storm } = checked
  const id = escape(storm.id)
  return `<section class="storm" id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title"><span class="id">${id}</span> ${escape(storm.title)}</h2>
<p class="lesson">${escape(storm.lesson)}</p>
<dl class="card">
<div><dt>Policy<dd>${escape(storm.policy)}</div>
<div><dt>Service<dd>${escape(storm.scenario.service.description)}</div>
<div><dt>Clients<dd>${escape(storm.scenario.clients.description)}</div>
</dl>
<div class="tables">
${mustGive(checked)}
${facts(storm, outcome)}
</div>
${pictures(storm, outcome, decisions)}
${provenance(storm, outcome)}
</section>`
}

const part = (heading: string, ...content: ReadonlyArray<string>): string => `<div class="part">
<h3>${escape(heading)}</h3>
${content.join("\n")}
</div>`

const mustGive = ({ figures, storm }: Checked): string => {
  const rows = figures.map(
    ({ figure, holds, measured }) =>
      `<tr><th scope="row">${escape(figure.name)}<td>${escape(figure.expected)}<td>${escape(TextReport.measured(figure, measured))}${verdict(holds)}`
  )
  const table = tableOf("Figures of the source", ["figure", "must be", "measured", "verdict"], rows)
  return part("What it must give", scrolling(`${storm.id}: what it must give`, table))
}

const verdict = (holds: boolean): string => (holds ? `<td class="ok">ok` : `<td class="wrong">wrong`)

// -----------------------------------------------------------------------------
// facts
// -----------------------------------------------------------------------------

interface Fact {
  readonly name: string
  /** `undefined`: it did not come to that. */
  readonly of: (run: Summary.Summary) => number | undefined
  readonly print: (value: number, run: Summary.Summary) => string
  readonly otherwise?: string
}

const factsOf = ({ summary, trace }: Outcome): ReadonlyArray<Fact> => [
  { name: "attempts", of: (run) => run.attempts, print: ChartText.number },
  { name: "amplification", of: (run) => run.amplification, print: (value) => `× ${value.toFixed(2)}` },
  {
    name: "succeeded",
    of: (run) => run.succeeded,
    print: (value, run) => `${ChartText.number(value)} of ${ChartText.number(run.operations)}`
  },
  { name: "gave up", of: (run) => run.gaveUp, print: ChartText.number },
  ...(summary.unfinished === 0
    ? []
    : [{ name: "not ended", of: (run: Summary.Summary) => run.unfinished, print: ChartText.number }]),
  { name: "peak in flight", of: (run) => run.peakInFlight, print: ChartText.number },
  {
    name: "time over capacity",
    of: (run) => (trace.slots === null ? undefined : run.timeOverCapacity),
    print: ChartText.time,
    otherwise: "no limit"
  },
  {
    name: summary.recovery === undefined ? "all had succeeded after" : "well again after the disturbance",
    of: ChartText.recoveredAfter,
    print: ChartText.time,
    otherwise: summary.recovery === undefined ? "not all did" : "not recovered"
  },
  { name: "wasted work", of: (run) => run.wastedWork, print: ChartText.time },
  {
    name: "wasted share of all work",
    of: (run) => (run.work === 0 ? undefined : (100 * run.wastedWork) / run.work),
    print: (percent) => `${Math.round(percent)} %`,
    otherwise: "no work"
  },
  ...trace.layers.slice(1).map((layer) => ({
    name: `calls that reached ${layer}`,
    of: (run: Summary.Summary) => run.calls[layer],
    print: ChartText.number
  }))
]

const facts = (storm: Storm, outcome: Outcome): string => {
  const { replicas, summary, trace } = outcome
  const head = ["", `seed ${trace.seed}`, ...(replicas.length === 0 ? [] : ["median", "5 to 95 % of the runs"])]
  const rows = factsOf(outcome).map((fact) => {
    const cells = [
      printed(fact, summary),
      ...(replicas.length === 0 ? [] : [quantiles(fact, replicas, 0.5), quantiles(fact, replicas, 0.05, 0.95)])
    ]
    return `<tr><th scope="row">${escape(fact.name)}${cells.map((cell) => `<td>${escape(unbroken(cell))}`).join("")}`
  })
  return part("What happened", scrolling(`${storm.id}: what happened`, tableOf(runsInWords(outcome), head, rows)))
}

/** A number stays in one line with its unit. */
const unbroken = (text: string): string => text.replace(/(\d) (ms|s|%)/g, "$1\u00a0$2").replace(/× /g, "×\u00a0")

const runsInWords = ({ replicas }: Outcome): string =>
  replicas.length === 0 ? "The run that is shown" : `The run that is shown, and ${ChartText.number(replicas.length)} runs`

const printed = ({ of, otherwise = "none", print }: Fact, run: Summary.Summary): string => {
  const value = of(run)
  return value === undefined ? otherwise : print(value, run)
}

/** The runs at these shares of all, in order of the figure; runs without it come last. */
const quantiles = (fact: Fact, replicas: ReadonlyArray<Summary.Summary>, ...shares: ReadonlyArray<number>): string => {
  const sorted = [...replicas].sort((one, other) => (fact.of(one) ?? Infinity) - (fact.of(other) ?? Infinity) || 0)
  const texts = shares.map((share) => printed(fact, sorted[Math.ceil(share * replicas.length) - 1]!))
  return [...new Set(texts)].join(" to ")
}

// -----------------------------------------------------------------------------
// pictures
// -----------------------------------------------------------------------------

const pictures = (storm: Storm, { replicas, summary, trace }: Outcome, decisions?: ReadonlyArray<Decision>): string => {
  const run = part(
    `The run of seed ${trace.seed}`,
    figure(storm, "What the clients do", Charts.clients(trace, decisions), "broad"),
    `<div class="grid">`,
    figure(storm, "Calls in flight", Charts.inFlight(trace)),
    figure(storm, "Attempts over time", Charts.attemptsOverTime(trace)),
    figure(storm, "Attempts and successes so far", Charts.progress(trace)),
    figure(storm, "Attempts of an operation", Charts.attemptsOfOperations(trace, decisions)),
    `</div>`
  )
  if (replicas.length === 0) return run
  const rank = ChartText.percentile(replicas, summary.attempts, ({ attempts }) => attempts)
  return (
    run +
    part(
      `${ChartText.number(replicas.length)} runs`,
      `<div class="grid">`,
      figure(
        storm,
        `Attempts in a run; seed ${trace.seed} is at the ${ordinal(rank)} percentile`,
        Charts.attemptsOfRuns(replicas, summary)
      ),
      ...recovery(storm, replicas, summary),
      `</div>`
    )
  )
}

const recovery = (storm: Storm, replicas: ReadonlyArray<Summary.Summary>, shown: Summary.Summary): ReadonlyArray<string> => {
  if (replicas.every((run) => ChartText.recoveredAfter(run) === undefined)) return [`<p>No run recovered.</p>`]
  const after = ChartText.recoveredAfter(shown)
  const standing =
    after === undefined
      ? "did not recover"
      : `is at the ${ordinal(ChartText.percentile(replicas, after, (run) => ChartText.recoveredAfter(run) ?? Infinity))} percentile`
  return [figure(storm, `Recovery; seed ${shown.seed} ${standing}`, Charts.recoveryOfRuns(replicas, shown))]
}

const plural = new Intl.PluralRules("en", { type: "ordinal" })

const endings: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" }

const ordinal = (value: number): string => `${value}${endings[plural.select(value)] ?? "th"}`

const figure = ({ id }: Storm, caption: string, { legend, svg, table }: Charts.Chart, kind?: "broad"): string => {
  const name = escape(`${id}, ${caption}`)
  return `<figure${kind === undefined ? "" : ` class="${kind}"`}>
<figcaption>${escape(caption)}</figcaption>
${kind === undefined ? svg : `<div class="scroll" role="region" tabindex="0" aria-label="${name}">${svg}</div>`}
${legend.length === 0 ? "" : `<ul class="legend">${legend.map(legendItem).join("")}</ul>`}
<details><summary>Numbers<span class="hidden"> of ${name}</span></summary>
${scrolling(`Numbers of ${id}, ${caption}`, twin(`${id}, ${caption}`, table))}
</details>
</figure>`
}

const legendItem = ({ colour, name, shape }: Charts.LegendItem): string =>
  `<li><i class="${shape}" style="--c:${colour}"></i>${escape(name)}`

/** What a picture shows, as a table. */
const twin = (caption: string, { head, leftOut, rows }: ChartText.Table): string => {
  const html = rows.map(
    ([name, ...cells]) => `<tr><th scope="row">${escape(name!)}${cells.map((cell) => `<td>${escape(cell)}`).join("")}`
  )
  return (
    tableOf(caption, head, html, "numbers") +
    (leftOut === 0 ? "" : `<p>${ChartText.number(leftOut)} more rows are left out.</p>`)
  )
}

// -----------------------------------------------------------------------------
// provenance
// -----------------------------------------------------------------------------

const provenance = (storm: Storm, outcome: Outcome): string => {
  const { trace } = outcome
  const facts = [
    `scenario ${scenarioHash(storm)}`,
    `seed ${trace.seed}`,
    `generator ${trace.generator}`,
    `engine ${trace.engine}`,
    `@breakwater/storm ${version()}`,
    "times in milliseconds of virtual time unless they say otherwise"
  ]
  return `<footer class="provenance">
<p>Source: ${escape(storm.source)}.
<p>${escape(standing(outcome))}
<p>${facts.map(escape).join(" · ")}
<p><a href="#top">Back to the top</a>
</footer>`
}

/** Where the run that is shown stands among all. */
const standing = ({ replicas, summary, trace }: Outcome): string => {
  if (replicas.length === 0) return `One run. Seed ${trace.seed}.`
  const median = Distribution.quantile(
    replicas.map((run) => run.attempts),
    0.5
  )
  const rank = ordinal(ChartText.percentile(replicas, summary.attempts, ({ attempts }) => attempts))
  return `Median of ${ChartText.number(replicas.length)} seeds: ${ChartText.number(median)} attempts; this run is seed ${trace.seed}, with ${ChartText.number(summary.attempts)} attempts (${rank} percentile).`
}

/**
 * Stands for what was run: two reports with the same hash, seed, generator and engine show the same run.
 *
 * @internal
 */
export const scenarioHash = ({ policy, scenario }: Storm): string => {
  const { clients, name, service, until } = scenario
  const described = [name, service.description, clients.description, policy, Duration.toMillis(until)]
  return createHash("sha256").update(JSON.stringify(described)).digest("hex").slice(0, 12)
}

const version = (): string => (createRequire(import.meta.url)("../package.json") as { readonly version: string }).version

// -----------------------------------------------------------------------------
// tables
// -----------------------------------------------------------------------------

const tableOf = (
  caption: string,
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<string>,
  kind?: string
): string => `<table${kind === undefined ? "" : ` class="${kind}"`}>
<caption>${escape(caption)}</caption>
<thead><tr>${head.map((cell) => (cell === "" ? "<td>" : `<th scope="col">${escape(cell)}`)).join("")}</thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>`

/** What may be wider than a phone scrolls by itself, by keyboard too. */
const scrolling = (name: string, html: string): string =>
  `<div class="scroll" role="region" tabindex="0" aria-label="${escape(name)}">${html}</div>`

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

const escape = (text: string | number): string => String(text).replace(/[&<>"]/g, (character) => entities[character]!)

// -----------------------------------------------------------------------------
// style
// -----------------------------------------------------------------------------

const style = `
${Charts.palette}
:root { color-scheme: light dark; scroll-padding-top: 1rem }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word }
body > header, main, body > footer { max-width: 62rem; margin: 0 auto; padding: 0 1rem }
body > header { padding-top: 2.5rem }
main:focus { outline: none }
h1, h2, h3 { line-height: 1.2; text-wrap: balance }
h1 { font-size: 2.25rem; letter-spacing: -.02em; margin: 0 0 .5rem }
h2 { font-size: 1.6rem; letter-spacing: -.01em; margin: 0 0 .5rem }
h3 { font-size: 1.05rem; margin: 0 0 .35rem }
p { max-width: 44rem; margin: 0 0 .5rem }
.lead, .lesson { font-size: 1.125rem }
.lesson { margin-bottom: 1rem }
a { color: var(--accent); text-underline-offset: .15em }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px }
.skip { position: absolute; left: .5rem; top: .5rem; padding: .5rem 1rem; background: var(--card); border-radius: 4px }
.skip:not(:focus) { transform: translateY(-5rem) }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
section { margin-top: 2.5rem }
.storm { border-top: 1px solid var(--line); margin-top: 4rem; padding-top: 2rem }
.id { color: var(--faint); font-weight: 400; margin-right: .3em }
nav ol { list-style: none; margin: .75rem 0 0; padding: 0; columns: 17rem; column-gap: 2rem }
nav li { break-inside: avoid; padding: .15rem 0 }
nav a { display: grid; grid-template-columns: 3.6rem 1fr; text-decoration: none }
nav b { font-weight: 600 }
nav a:hover { text-decoration: underline }
summary { cursor: pointer; color: var(--accent); width: fit-content; padding: .25rem 0 }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1.1rem; margin: 0 0 1.5rem; display: grid; gap: .5rem }
.card div { display: grid; grid-template-columns: 5rem 1fr; gap: 0 .75rem }
dt { color: var(--faint) }
dd { margin: 0 }
.part { margin-bottom: 2rem; min-width: 0 }
.tables { display: grid; gap: 0 2.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)) }
.grid { display: grid; gap: 1.75rem 1.75rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); align-items: start }
figure { margin: 0; min-width: 0 }
.broad { margin-bottom: 1.75rem }
figcaption { font-weight: 600; font-size: .95rem; padding: .25rem 0 }
figure > svg { display: block; width: 100%; height: auto; max-width: 32rem }
svg { overflow: visible }
.broad svg { display: block; width: 100%; min-width: 42rem; height: auto }
.scroll { overflow-x: auto; position: relative }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; padding: 0; margin: .35rem 0 0; font-size: .875rem; color: var(--faint) }
.legend i { display: inline-block; width: 1.1rem; height: .7rem; border-radius: 2px; margin-right: .45rem; background: var(--c) }
.legend .line, .legend .dashes { height: 0; background: none; border-radius: 0; vertical-align: .25em; border-top: 2.5px solid var(--c) }
.legend .dashes { border-top-style: dashed; border-top-width: 2px }
.legend .band { opacity: .4 }
details { font-size: .9rem }
details[open] > .scroll { max-height: 24rem; overflow-y: auto; border: 1px solid var(--line); border-radius: 6px; padding: 0 .75rem .5rem; background: var(--card) }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .94rem }
caption { color: var(--faint); text-align: left; font-size: .875rem; padding: .25rem 0 }
th, td { text-align: left; padding: .3rem 1.25rem .3rem 0; border-bottom: 1px solid var(--line); font-weight: 400; vertical-align: top }
thead th { color: var(--faint); font-size: .875rem; vertical-align: bottom }
tr > :last-child { padding-right: 0 }
.numbers { font-size: .85rem }
.numbers th, .numbers td { padding-top: .1rem; padding-bottom: .1rem }
.numbers thead th { white-space: nowrap }
.ok { color: var(--good) }
.wrong { color: var(--bad); font-weight: 700 }
.wrong a { color: inherit }
.provenance, body > footer { color: var(--faint); font-size: .875rem }
.provenance p { margin: 0 0 .25rem; max-width: none }
body > footer { padding: 3rem 1rem }
@media (max-width: 30rem) {
  h1 { font-size: 1.9rem }
  h2 { font-size: 1.4rem }
  .card div { grid-template-columns: 1fr }
  th, td { padding-right: .75rem }
}
@media print { nav, .skip { display: none } .storm { break-before: page } }
`
