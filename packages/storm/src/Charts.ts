/**
 * The pictures of a report, as SVG text. Colours are CSS variables of the page, so one picture serves light and dark.
 *
 * @since 0.1.0
 */
import { Distribution, type Summary, Trace } from "@breakwater/simulation"
import * as Plot from "@observablehq/plot"
import { parseHTML } from "linkedom"

// -----------------------------------------------------------------------------
// page
// -----------------------------------------------------------------------------

/**
 * The colours that the pictures name, for a light page and a dark one.
 *
 * @category page
 * @since 0.1.0
 */
export const palette = `:root { --paper: #fbfaf7; --ink: #1d2733; --faint: #64707d; --line: #d9d5cb;
  --succeeded: #16835f; --timed-out: #c8452f; --refused: #b7791f; --unfinished: #8b95a1; --wait: #9aa5b1; --capacity: #2b6cb0; --bar: #7b93ad }
@media (prefers-color-scheme: dark) { :root { --paper: #12181f; --ink: #e6e9ed; --faint: #97a3b0; --line: #2c3742;
  --succeeded: #3fbf91; --timed-out: #ee7560; --refused: #e0a94a; --unfinished: #6f7b88; --wait: #5b6875; --capacity: #6cabea; --bar: #6d89a6 } }`

/**
 * A picture as a file of its own, with its colours in it.
 *
 * @category page
 * @since 0.1.0
 */
export const standalone = (svg: string): string =>
  svg.replace(
    /^<svg([^>]*)>/,
    `<svg xmlns="http://www.w3.org/2000/svg"$1><style>${palette} svg { background: var(--paper); color: var(--ink) }</style>`
  )

const millis = (micros: number): number => micros / 1000

const { document } = parseHTML("<!doctype html><html><body></body></html>")

const width = 900
const margins = { marginLeft: 70, marginRight: 20 }

const draw = (label: string, options: Plot.PlotOptions): string => {
  const svg = Plot.plot({ document, width, ...margins, ...options })
  svg.setAttribute("role", "img")
  svg.setAttribute("aria-label", label)
  return svg.outerHTML
}

// -----------------------------------------------------------------------------
// one run
// -----------------------------------------------------------------------------

/**
 * The outcomes an attempt is coloured by.
 *
 * @category one run
 * @since 0.1.0
 */
export const outcomes = [
  { name: "succeeded", colour: "var(--succeeded)" },
  { name: "timed out", colour: "var(--timed-out)" },
  { name: "refused", colour: "var(--refused)" },
  { name: "unfinished", colour: "var(--unfinished)" }
] as const

type OutcomeName = (typeof outcomes)[number]["name"]

const outcomeName = (outcome: Trace.AttemptOutcome | undefined): OutcomeName => {
  if (outcome === undefined || outcome === "interrupted") return "unfinished"
  if (outcome === "succeeded" || outcome === "timed out") return outcome
  return "refused"
}

/**
 * A lane per client: attempts as bars, coloured by outcome, waits as thin lines, and how the operation ended.
 *
 * @category one run
 * @since 0.1.0
 */
export const lanes = (trace: Trace.Trace): string => {
  const operations = Trace.operations(trace)
  const lane = (client: number): string => `client ${client + 1}`
  const attempts = operations.flatMap(({ attempts, client }) =>
    attempts.map(({ endedAt, outcome, startedAt }, index) => ({
      lane: lane(client),
      from: millis(startedAt),
      to: millis(endedAt ?? trace.until),
      outcome: outcomeName(outcome),
      title: `${lane(client)}, attempt ${index + 1}: ${outcome ?? "unfinished"}, ${millis(startedAt)} to ${millis(endedAt ?? trace.until)} ms`
    }))
  )
  const waits = operations.flatMap(({ attempts, client, outcome }) =>
    attempts.flatMap(({ endedAt }, index) => {
      const next = attempts[index + 1]?.startedAt ?? (outcome === undefined ? trace.until : undefined)
      return endedAt === undefined || next === undefined
        ? []
        : [{ lane: lane(client), from: millis(endedAt), to: millis(next), title: `waits ${millis(next - endedAt)} ms` }]
    })
  )
  const ends = operations.flatMap(({ client, endedAt, outcome }) =>
    endedAt === undefined
      ? []
      : [{ lane: lane(client), at: millis(endedAt), mark: outcome === "succeeded" ? "✓" : "✗ gave up", outcome }]
  )
  const clients = [...new Set(operations.map(({ client }) => client))]
  return draw(`A lane for each of ${clients.length} clients`, {
    height: 50 + 30 * clients.length,
    x: { label: "ms", domain: [0, millis(trace.until)], grid: true },
    y: { label: null, domain: clients.map(lane), padding: 0.35 },
    color: { domain: outcomes.map(({ name }) => name), range: outcomes.map(({ colour }) => colour) },
    marks: [
      Plot.ruleY(waits, { y: "lane", x1: "from", x2: "to", stroke: "var(--wait)", strokeWidth: 1.5, title: "title" }),
      Plot.barX(attempts, { y: "lane", x1: "from", x2: "to", fill: "outcome", rx: 2, insetRight: 1, title: "title" }),
      Plot.text(ends, {
        y: "lane",
        x: "at",
        text: "mark",
        dx: 5,
        textAnchor: "start",
        fill: (end: (typeof ends)[number]) => (end.outcome === "succeeded" ? "var(--succeeded)" : "var(--timed-out)"),
        fontWeight: "bold"
      })
    ]
  })
}

/**
 * Calls in flight over time against what the service can carry; what is above is filled.
 *
 * @category one run
 * @since 0.1.0
 */
export const inFlight = (trace: Trace.Trace): string => {
  const steps = [{ at: 0, count: 0 }, ...Trace.inFlight(trace)].map(({ at, count }) => ({ at: millis(at), count }))
  const line = [...steps, { at: millis(trace.until), count: steps[steps.length - 1]!.count }]
  const peak = Math.max(trace.slots ?? 0, ...line.map(({ count }) => count))
  return draw(`Calls in flight over time${trace.slots === null ? "" : `, capacity ${trace.slots}`}`, {
    height: 150,
    x: { label: "ms", domain: [0, millis(trace.until)], grid: true },
    y: { label: "in flight", domain: [0, peak + 1], ticks: 4 },
    marks: [
      Plot.lineY(line, { x: "at", y: "count", curve: "step-after", stroke: "currentColor" }),
      ...(trace.slots === null ? [] : capacity(trace.slots, line))
    ]
  })
}

/** What an attempt is the how-many-th of. */
const attemptNames = ["first attempts", "second attempts", "later attempts"] as const

const attemptColours = ["var(--bar)", "var(--refused)", "var(--timed-out)"]

/**
 * How many attempts begin in each sixtieth of the time, by their number: what retries add stands on top of what the clients ask for.
 *
 * @category one run
 * @since 0.1.0
 */
export const attemptsOverTime = (trace: Trace.Trace): string => {
  const begun = trace.events.filter((event) => event._tag === "AttemptStarted")
  const last = begun[begun.length - 1]?.at ?? 0
  // A crowd that comes at once is gone long before the run is over.
  const width = Math.max(1000, Math.min(trace.until, last * 1.05)) / 60
  const bins = attemptNames.map(() => new Array<number>(60).fill(0))
  for (const { at, attempt } of begun) bins[Math.min(attempt, 3) - 1]![Math.min(59, Math.floor(at / width))]!++
  const bars = bins.flatMap((counts, number) =>
    counts.flatMap((count, bin) =>
      count === 0 ? [] : [{ from: millis(bin * width), to: millis((bin + 1) * width), count, name: attemptNames[number]! }]
    )
  )
  return draw("Attempts over time, by their number", {
    height: 200,
    x: { label: "ms", grid: true },
    y: { label: "attempts", grid: true },
    color: { domain: attemptNames, range: attemptColours, legend: false },
    marks: [
      Plot.rectY(bars, {
        x1: "from",
        x2: "to",
        y: "count",
        fill: "name",
        title: (bar: (typeof bars)[number]) =>
          `${bar.count} ${bar.name} from ${Math.round(bar.from)} to ${Math.round(bar.to)} ms`
      })
    ]
  })
}

const capacity = (slots: number, line: ReadonlyArray<{ readonly at: number; readonly count: number }>): Array<Plot.Markish> => [
  Plot.areaY(line, {
    x: "at",
    y1: slots,
    y2: (step: { readonly count: number }) => Math.max(step.count, slots),
    curve: "step-after",
    fill: "var(--timed-out)",
    fillOpacity: 0.35
  }),
  Plot.ruleY([slots], { stroke: "var(--capacity)", strokeDasharray: "6 4", strokeWidth: 1.5 }),
  Plot.text([`capacity ${slots}`], {
    frameAnchor: "top-right",
    y: slots,
    dy: -7,
    fill: "var(--capacity)",
    stroke: "var(--paper)",
    strokeWidth: 4
  })
]

// -----------------------------------------------------------------------------
// many runs
// -----------------------------------------------------------------------------

/**
 * How many runs took how many attempts, with the run that is shown marked.
 *
 * @category many runs
 * @since 0.1.0
 */
export const attemptsHistogram = (replicas: ReadonlyArray<Summary.Summary>, shown: number): string => {
  const counts = Distribution.counts(replicas.map((run) => run.attempts)).map(({ count, value }) => ({
    attempts: value,
    percent: (100 * count) / replicas.length
  }))
  return draw(`Share of ${replicas.length} runs by number of attempts`, {
    height: 240,
    x: { label: "attempts in a run", type: "band", tickSize: 0 },
    y: { label: "% of runs", grid: true },
    marks: [
      Plot.barY(counts, {
        x: "attempts",
        y: "percent",
        fill: (bar: (typeof counts)[number]) => (bar.attempts === shown ? "var(--succeeded)" : "var(--bar)"),
        rx: 2,
        title: (bar: (typeof counts)[number]) => `${bar.attempts} attempts: ${bar.percent.toFixed(2)} % of runs`
      }),
      Plot.text(counts, {
        x: "attempts",
        y: "percent",
        text: (bar: (typeof counts)[number]) => (bar.percent >= 1 ? bar.percent.toFixed(1) : ""),
        dy: -7
      }),
      Plot.ruleY([0])
    ]
  })
}

/**
 * By when which share of the runs had recovered.
 *
 * @category many runs
 * @since 0.1.0
 */
export const recoveryCurve = (replicas: ReadonlyArray<Summary.Summary>, shown: number | undefined, until: number): string => {
  const recoveries = replicas.flatMap((run) => run.allSucceededAt ?? []).sort((a, b) => a - b)
  // A point per percent: the curve of every run would make the page several megabytes.
  const curve = Array.from({ length: 101 }, (_, percent) => ({
    percent: (percent * recoveries.length) / replicas.length,
    at: recoveries[Math.max(0, Math.ceil((percent / 100) * recoveries.length) - 1)] ?? NaN
  }))
  return draw(`Share of ${replicas.length} runs recovered by each instant`, {
    height: 200,
    x: { label: "ms", domain: [0, millis(until)], grid: true },
    y: { label: "% of runs recovered", domain: [0, 100], grid: true },
    marks: [
      Plot.lineY(curve, { x: "at", y: "percent", stroke: "var(--bar)", strokeWidth: 2, curve: "step-after" }),
      ...(shown === undefined
        ? []
        : [
            Plot.ruleX([shown], { stroke: "var(--succeeded)", strokeWidth: 1.5 }),
            Plot.text(["the run above"], { x: shown, y: 6, dx: 6, textAnchor: "start", fill: "var(--succeeded)" })
          ])
    ]
  })
}

// -----------------------------------------------------------------------------
// waits
// -----------------------------------------------------------------------------

/** Share of the waits, in percent, at which a bar is cut off and labelled, so that a spread stays readable beside a spike. */
const tallest = 20

const binWidth = 20

/** A bin ends with its last wait: one of exactly the cap lies below the cap. */
const binOf = (wait: number): number => Math.max(0, Math.ceil(wait / binWidth) - 1) * binWidth

/**
 * How the waits of policies are spread: a row for each policy, a column for each moment, bars for the share of the waits in each
 * 20 ms. What lies above the cap has the colour of a failure. Times in milliseconds.
 *
 * @category waits
 * @since 0.1.0
 */
export const distribution = (
  cells: ReadonlyArray<{ readonly policy: string; readonly moment: string; readonly waits: ReadonlyArray<number> }>,
  cap: number
): string => {
  const bars = cells.flatMap(({ moment, policy, waits }) =>
    Distribution.counts(waits.map(binOf)).map(({ count, value }) => {
      const percent = (100 * count) / waits.length
      return {
        policy,
        moment,
        from: value,
        to: value + binWidth,
        percent: Math.min(tallest, percent),
        label: percent > tallest ? `${percent.toFixed(0)} %` : "",
        title: `${policy}, ${moment}: ${percent.toFixed(1)} % of the waits from ${value} to ${value + binWidth} ms`
      }
    })
  )
  const means = cells.map(({ moment, policy, waits }) => ({ moment, policy, mean: Distribution.mean(waits) }))
  const policies = [...new Set(cells.map(({ policy }) => policy))]
  const cell = { fx: "moment", fy: "policy" }
  return draw(`How the waits of ${policies.length} policies are spread below a cap of ${cap} ms`, {
    height: 60 + 66 * policies.length,
    marginLeft: 180,
    marginTop: 40,
    x: { label: "wait, ms", domain: [0, 1.25 * cap], ticks: 5, grid: true },
    y: { domain: [0, 1.25 * tallest], axis: null },
    fx: { padding: 0.08 },
    fy: { domain: policies, padding: 0.12 },
    marks: [
      Plot.axisFx({ anchor: "top", label: null }),
      Plot.axisFy({ anchor: "left", frameAnchor: "left", textAnchor: "end", dx: -12, label: null }),
      Plot.rectY(bars, {
        ...cell,
        x1: "from",
        x2: "to",
        y: "percent",
        fill: (bar: (typeof bars)[number]) => (bar.from >= cap ? "var(--timed-out)" : "var(--bar)"),
        inset: 0.5,
        title: "title"
      }),
      Plot.ruleX([cap], { stroke: "var(--capacity)", strokeDasharray: "6 4", strokeWidth: 1.5 }),
      Plot.ruleX(means, { ...cell, x: "mean", stroke: "currentColor", strokeDasharray: "2 2", strokeWidth: 1.5 }),
      Plot.text(bars, {
        ...cell,
        x: "to",
        y: "percent",
        text: "label",
        dx: -10,
        dy: -7,
        fill: "currentColor",
        stroke: "var(--paper)",
        strokeWidth: 4
      }),
      Plot.text(means, {
        ...cell,
        frameAnchor: "top-left",
        text: ({ mean }: (typeof means)[number]) => `mean ${mean.toFixed(0)}`,
        dx: 4,
        dy: 2,
        fill: "var(--faint)"
      }),
      Plot.ruleY([0])
    ]
  })
}
