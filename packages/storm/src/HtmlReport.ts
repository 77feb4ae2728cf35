/**
 * A report on storms as one HTML page that needs nothing else: no script, no request.
 *
 * @since 0.1.0
 */
import * as Charts from "./Charts.js"
import type { Checked } from "./Storm.js"
import * as TextReport from "./TextReport.js"

// -----------------------------------------------------------------------------
// page
// -----------------------------------------------------------------------------

/**
 * @example
 * ```ts
 * import { HtmlReport, SixClients, Storm } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const page = HtmlReport.render([Effect.runSync(Storm.check(SixClients.retryAtOnce))])
 * ```
 * @category page
 * @since 0.1.0
 */
export const render = (checked: ReadonlyArray<Checked>): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Breakwater: storms</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Breakwater: storms</h1>
<p>Real policies, run by the simulator. Each storm must give the figures of its source.</p>
${overviewTable(checked)}
${legend}
${checked.map(section).join("\n")}
</main>
<footer>${footer(checked)}</footer>
</body>
</html>
`

const overviewTable = (checked: ReadonlyArray<Checked>): string => `<div class="wide"><table>
<caption>Overview</caption>
<thead><tr><th scope="col">storm<th scope="col">attempts<th scope="col">succeeded<th scope="col">recovery<th scope="col">verdict</thead>
<tbody>
${checked
  .map(({ holds, outcome, storm }) => {
    const { attempts, recovery, succeeded } = TextReport.overview(outcome)
    return `<tr><th scope="row"><a href="#${storm.id}">${escape(`${storm.id} ${storm.title}`)}</a><td>${escape(attempts)}<td>${escape(succeeded)}<td>${escape(recovery)}${verdict(holds)}`
  })
  .join("\n")}
</tbody>
</table></div>`

const section = ({
  figures,
  outcome,
  storm
}: Checked): string => `<section id="${storm.id}" aria-labelledby="${storm.id}-title">
<h2 id="${storm.id}-title">${escape(`${storm.id} ${storm.title}`)}</h2>
<p class="lesson">${escape(storm.lesson)}</p>
<dl>
<dt>Policy<dd>${escape(storm.policy)}
<dt>Service<dd>${escape(storm.scenario.service.description)}
<dt>Clients<dd>${escape(storm.scenario.clients.description)}
</dl>
${pictures(outcome)}
<div class="wide"><table>
<caption>What it must give</caption>
<thead><tr><th scope="col">figure<th scope="col">must be<th scope="col">measured<th scope="col">verdict</thead>
<tbody>
${figures
  .map(
    ({ figure, holds, measured }) =>
      `<tr><th scope="row">${escape(figure.name)}<td>${escape(figure.expected)}<td>${escape(TextReport.measured(figure, measured))}${verdict(holds)}`
  )
  .join("\n")}
</tbody>
</table></div>
<p class="source">Source: ${escape(storm.source)}. ${escape(run(outcome))}</p>
</section>`

/** More lanes than this are a wall. */
const mostLanes = 50

const pictures = ({ replicas, summary, trace }: Checked["outcome"]): string => {
  if (trace.clients > mostLanes) {
    return figure("Attempts over time: first ones, second ones (yellow), later ones (red)", Charts.attemptsOverTime(trace))
  }
  const lanes = figure(`Attempts and waits of each client, seed ${trace.seed}`, Charts.lanes(trace))
  if (replicas.length === 0) return lanes + figure("Calls in flight", Charts.inFlight(trace))
  const histogram = Charts.attemptsHistogram(replicas, summary.attempts)
  return (
    lanes +
    figure("Attempts in each run; the run of the picture above in green", histogram) +
    figure("Runs recovered over time", Charts.recoveryCurve(replicas, summary.allSucceededAt, trace.until))
  )
}

const run = ({ replicas, trace }: Checked["outcome"]): string =>
  replicas.length === 0 ? `Seed ${trace.seed}.` : `${replicas.length} runs, seeds 1 to ${replicas.length}.`

const figure = (caption: string, svg: string): string =>
  `<figure><figcaption>${escape(caption)}</figcaption><div class="wide">${svg}</div></figure>`

const legend = `<ul class="legend" aria-label="Colours of attempts">
${Charts.outcomes.map(({ colour, name }) => `<li><span style="background:${colour}"></span>${name}`).join("\n")}
<li><span class="wait"></span>waiting
</ul>`

const footer = (checked: ReadonlyArray<Checked>): string => {
  const trace = checked[0]?.outcome.trace
  return trace === undefined ? "" : escape(`Generator ${trace.generator}, engine ${trace.engine}, times in milliseconds.`)
}

const verdict = (holds: boolean): string => (holds ? `<td class="ok">ok` : `<td class="wrong">wrong`)

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character]!)

// -----------------------------------------------------------------------------
// style
// -----------------------------------------------------------------------------

const style = `
${Charts.palette}
:root { color-scheme: light dark }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main, footer { max-width: 60rem; margin: 0 auto; padding: 1rem }
h1 { margin: 1rem 0 0 }
h2 { margin: 0 0 .25rem }
section { border-top: 1px solid var(--line); padding-top: 1.5rem; margin-top: 2rem }
.lesson { font-size: 1.1rem; margin: 0 0 1rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 1rem }
dt { color: var(--faint) }
dd { margin: 0 }
figure { margin: 0 0 1rem }
figcaption, caption { color: var(--faint); text-align: left; font-size: .9rem; padding: .25rem 0 }
.wide { overflow-x: auto }
svg { min-width: 40rem; background: none; --plot-background: var(--paper) }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem 1.25rem .25rem 0; border-bottom: 1px solid var(--line); font-weight: normal; vertical-align: top }
thead th { color: var(--faint) }
.ok { color: var(--succeeded) }
.wrong { color: var(--timed-out); font-weight: bold }
a { color: inherit }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0 }
.legend span { display: inline-block; width: 1.6rem; height: .8rem; border-radius: 2px; margin-right: .4rem; vertical-align: -.05rem }
.legend .wait { height: 2px; background: var(--wait); vertical-align: .3rem }
.source, footer { color: var(--faint); font-size: .9rem }
`
