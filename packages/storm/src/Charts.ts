/**
 * The pictures of a report, as SVG text, each with the table that says the same. Colours are CSS variables of the page, so one
 * picture serves light and dark.
 *
 * @since 0.1.0
 */
import { Distribution, type Summary, type Trace } from "@breakwater/simulation"
import * as Plot from "@observablehq/plot"
import { parseHTML } from "linkedom"
import * as ChartText from "./ChartText.js"
import type { Decision } from "./Decisions.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Chart {
  /** One `svg` element, with a label for those who cannot see it. */
  readonly svg: string
  /** What the colours mean that occur in it. */
  readonly legend: ReadonlyArray<LegendItem>
  /** The same as numbers. */
  readonly table: ChartText.Table
}

/**
 * @category models
 * @since 0.1.0
 */
export interface LegendItem {
  readonly name: string
  /** A CSS colour. */
  readonly colour: string
  readonly shape: "bar" | "line" | "dashes" | "band"
}

// -----------------------------------------------------------------------------
// page
// -----------------------------------------------------------------------------

const light = `--paper: #fbfaf7; --card: #ffffff; --ink: #1b2530; --faint: #5a6673; --line: #dcd8ce; --accent: #1c5fa8;
  --good: #00704f; --bad: #b03a00; --succeeded: #00805c; --refused: #b57400; --timed-out: #a84f8c; --doomed: #cf4a00;
  --client-gone: #5d6874; --unfinished: #87919b; --wait: #76818c; --disturbance: #7a5cc2; --capacity: #1c5fa8; --bar: #5a8cb8`

const dark = `--paper: #10161d; --card: #171f28; --ink: #e7eaee; --faint: #9ba7b3; --line: #2b3540; --accent: #7ab8f5;
  --good: #45c99f; --bad: #ff8f5a; --succeeded: #35bd93; --refused: #e3a83c; --timed-out: #dd8cc2; --doomed: #f0743a;
  --client-gone: #a5b0bb; --unfinished: #6b7782; --wait: #7d8994; --disturbance: #a48be8; --capacity: #7ab8f5; --bar: #6b9bc6`

/**
 * The colours that the pictures name, for a light page and a dark one: told apart by those who do not see red and green as others
 * do, text at a contrast of at least 4.5 : 1, shapes of 3 : 1.
 *
 * @category page
 * @since 0.1.0
 */
export const palette = `:root { ${light} }
@media (prefers-color-scheme: dark) { :root { ${dark} } }`

/**
 * A picture as a file of its own, with its colours in it.
 *
 * @category page
 * @since 0.1.0
 */
export const standalone = ({ svg }: Chart): string =>
  svg.replace(
    /^<svg([^>]*)>/,
    `<svg xmlns="http://www.w3.org/2000/svg"$1><style>${palette} svg { background: var(--paper); color: var(--ink) }</style>`
  )

const { document } = parseHTML("<!doctype html><html><body></body></html>")

const wide = { width: 800, marginLeft: 76, marginRight: 16, marginTop: 6, marginBottom: 36 }

/** For pictures that stand side by side. */
const narrow = { width: 380, height: 220, marginLeft: 44, marginRight: 14, marginTop: 24, marginBottom: 36 }

/** More digits than a screen has pixels, and names of axes that an image hides, are a third of the file. */
const compact = (svg: string): string =>
  svg
    .replace(/(\d\.\d)\d+/g, "$1")
    .replace(/\.0(?=[",LZ])/g, "")
    .replace(/ (aria-label="[xy]-[^"]*"|aria-hidden="true"|class="plot-[^"]*")/g, "")
    .replaceAll(" />", "/>")

const draw = (label: string, options: Plot.PlotOptions): string => {
  const svg = Plot.plot({ document, ...options })
  // What it would set is the page's to set.
  svg.querySelector("style")?.remove()
  svg.setAttribute("role", "img")
  svg.setAttribute("aria-label", label)
  svg.setAttribute("font-size", "11")
  return compact(svg.outerHTML)
}

// -----------------------------------------------------------------------------
// time
// -----------------------------------------------------------------------------

/** The grid says where a number stands. */
const axis = { grid: true, tickSize: 0, ticks: 6 }

/** Counts are whole: no grid between 0 and 1. */
const countAxis = (label: string, highest: number): Plot.ScaleOptions => ({
  label,
  domain: [0, 1.15 * Math.max(1, highest)],
  ...axis,
  ticks: Math.max(1, Math.min(4, highest))
})

/** The time that is shown, in seconds where it is long. */
const timeAxis = (trace: Trace.Trace): Plot.ScaleOptions => {
  const end = ChartText.shownUntil(trace)
  return end >= 10_000
    ? { label: "s", domain: [0, end / 1000], transform: (millis: number) => millis / 1000, ...axis }
    : { label: "ms", domain: [0, end], ...axis }
}

const disturbed = (trace: Trace.Trace): Plot.Markish =>
  Plot.rect(ChartText.disturbances(trace), {
    x1: "from",
    x2: "to",
    fill: "var(--disturbance)",
    fillOpacity: 0.14
  })

const disturbedItem = (trace: Trace.Trace): ReadonlyArray<LegendItem> =>
  ChartText.disturbances(trace).length === 0 ? [] : [{ name: "disturbed", colour: "var(--disturbance)", shape: "band" }]

// -----------------------------------------------------------------------------
// clients
// -----------------------------------------------------------------------------

/**
 * The outcomes an attempt is coloured by. A doomed one timed out while more calls were in flight than the service can carry.
 *
 * @category one run
 * @since 0.1.0
 */
export const outcomes = [
  { name: "succeeded", colour: "var(--succeeded)" },
  { name: "refused", colour: "var(--refused)" },
  { name: "timed out", colour: "var(--timed-out)" },
  { name: "doomed", colour: "var(--doomed)" },
  { name: "client gone", colour: "var(--client-gone)" },
  { name: "unfinished", colour: "var(--unfinished)" }
] as const

const outcomeItems = (occurring: ReadonlySet<string>): ReadonlyArray<LegendItem> =>
  outcomes.flatMap(({ colour, name }) =>
    occurring.has(name) ? [{ name: name === "doomed" ? "doomed by overload" : name, colour, shape: "bar" }] : []
  )

/**
 * More lanes than this are a wall.
 *
 * @category one run
 * @since 0.1.0
 */
export const mostLanes = 50

/** More bars than this make the page too large. */
const mostBars = 600

/**
 * What the clients do: a lane for each, or how many do what where they are too many for lanes.
 *
 * @category one run
 * @since 0.1.0
 */
export const clients = (trace: Trace.Trace, decisions: ReadonlyArray<Decision> = []): Chart =>
  trace.clients <= mostLanes && ChartText.attempts(trace).length <= mostBars ? lanes(trace, decisions) : crowd(trace, decisions)

/**
 * A lane per client: attempts as bars, coloured by outcome, waits as thin lines, and how the operation ended. Below a wait a
 * fainter line goes as far as chance could have drawn it, where the policy told.
 *
 * @category one run
 * @since 0.1.0
 */
export const lanes = (trace: Trace.Trace, decisions: ReadonlyArray<Decision> = []): Chart => {
  const end = ChartText.shownUntil(trace)
  const lane = ({ client }: { readonly client: number }): string => `client ${client + 1}`
  const attempts = ChartText.attempts(trace)
  const waits = ChartText.waits(trace, decisions)
  const longest = waits.flatMap(({ latest, ...wait }) =>
    latest === undefined || latest <= wait.from ? [] : [{ ...wait, to: Math.min(end, latest), isWhole: latest <= end }]
  )
  const ends = ChartText.ends(trace, decisions)
  const hasOneEach = ends.every(({ operation }) => operation === 0)
  const glyph = (of: ChartText.End): string => {
    if (of.outcome === "succeeded") return "✓"
    return hasOneEach ? `✗ ${of.reason ?? of.outcome}` : "✗"
  }
  // At the right edge the words stand before the end of the operation, not after it.
  const isLate = ({ at, outcome }: ChartText.End): boolean => at > (outcome === "succeeded" ? 0.98 : 0.88) * end
  const glyphs = (options: { readonly isLate: boolean }) =>
    Plot.text(
      ends.filter((of) => isLate(of) === options.isLate),
      {
        y: lane,
        x: "at",
        text: glyph,
        dx: options.isLate ? -5 : 5,
        textAnchor: options.isLate ? "end" : "start",
        fill: (of: ChartText.End) => (of.outcome === "succeeded" ? "var(--good)" : "var(--bad)"),
        stroke: "var(--paper)",
        strokeWidth: 4,
        fontWeight: "bold"
      }
    )
  const names = Array.from({ length: trace.clients }, (_, client) => lane({ client }))
  const succeeded = ends.filter(({ outcome }) => outcome === "succeeded").length
  const svg = draw(
    `A lane for each of ${trace.clients} clients: ${attempts.length} attempts, ${succeeded} operations succeeded`,
    {
      ...wide,
      height: 42 + (trace.clients > 12 ? 20 : 30) * trace.clients,
      x: timeAxis(trace),
      y: { label: null, domain: names, padding: 0.4, tickSize: 0 },
      marks: [
        disturbed(trace),
        Plot.ruleY(longest, {
          y: lane,
          x1: "from",
          x2: "to",
          dy: 11,
          stroke: "var(--wait)",
          strokeDasharray: "1 2"
        }),
        Plot.dot(
          longest.filter(({ isWhole }) => isWhole),
          { y: lane, x: "to", dy: 11, r: 1.8, fill: "var(--wait)" }
        ),
        Plot.ruleY(waits, { y: lane, x1: "from", x2: "to", stroke: "var(--wait)", strokeWidth: 1.8 }),
        // A mark for each colour: the colour of every bar by itself would be a third of the file.
        ...outcomes.map(({ colour, name }) =>
          Plot.barX(
            attempts.filter(({ outcome }) => outcome === name),
            {
              y: lane,
              x1: "from",
              x2: "to",
              fill: colour,
              stroke: colour,
              strokeWidth: 0.8,
              rx: 2,
              insetRight: 1,
              title: (of: ChartText.Attempt) =>
                `${lane(of)}, attempt ${of.number}: ${of.exactly}, ${ChartText.number(of.from)} to ${ChartText.number(of.to)} ms`
            }
          )
        ),
        glyphs({ isLate: false }),
        glyphs({ isLate: true })
      ]
    }
  )
  return {
    svg,
    legend: [
      ...outcomeItems(new Set(attempts.map(({ outcome }) => outcome))),
      ...(waits.length === 0 ? [] : [{ name: "waits, as drawn", colour: "var(--wait)", shape: "line" } as const]),
      ...(longest.length === 0 ? [] : [{ name: "longest possible wait", colour: "var(--wait)", shape: "dashes" } as const]),
      ...disturbedItem(trace)
    ],
    table: ChartText.lanes(trace, decisions)
  }
}

/** So many shades can be told apart; the faintest is still seen. */
const shades = 6

/**
 * For a crowd: a strip for each outcome and for waiting, the stronger its colour the more clients are at it.
 *
 * @category one run
 * @since 0.1.0
 */
export const crowd = (trace: Trace.Trace, decisions: ReadonlyArray<Decision> = []): Chart => {
  const strips = ChartText.crowdBins(trace, decisions)
  const busiest = Math.max(1, ...strips.flatMap(({ bins }) => bins.map(({ count }) => count)))
  const shade = (count: number): number => 0.3 + (0.7 * (Math.ceil((shades * count) / busiest) - 1)) / (shades - 1)
  const strongest = `strongest colour: ${ChartText.number(busiest)} in ${ChartText.time(strips[0]?.bins[0]?.to ?? 0)}`
  const svg = draw(`What ${ChartText.number(trace.clients)} clients are at over time; ${strongest}`, {
    ...wide,
    height: 42 + 30 * strips.length,
    x: timeAxis(trace),
    y: { label: null, domain: strips.map(({ state }) => state), padding: 0.2, tickSize: 0 },
    marks: [
      disturbed(trace),
      ...strips.map(({ bins, state }) =>
        Plot.barX(merged(bins, shade), {
          y: () => state,
          x1: "from",
          x2: "to",
          fill: outcomes.find(({ name }) => name === state)?.colour ?? "var(--wait)",
          fillOpacity: "shade"
        })
      )
    ]
  })
  return {
    svg,
    legend: [{ name: strongest, colour: "var(--ink)", shape: "bar" }, ...disturbedItem(trace)],
    table: ChartText.crowdTable(strips)
  }
}

/** Neighbours of one shade as one cell, empty ones left out. */
const merged = (
  bins: ReadonlyArray<ChartText.Span & { readonly count: number }>,
  shade: (count: number) => number
): ReadonlyArray<ChartText.Span & { readonly shade: number }> => {
  const cells: Array<{ readonly from: number; to: number; readonly shade: number }> = []
  for (const { count, from, to } of bins) {
    const last = cells[cells.length - 1]
    if (last !== undefined && last.to === from && last.shade === shade(count)) last.to = to
    else if (count > 0) cells.push({ from, to, shade: shade(count) })
  }
  return cells
}

// -----------------------------------------------------------------------------
// one run
// -----------------------------------------------------------------------------

/**
 * Calls in flight over time against what the service can carry; what is above is filled. Where they change too often to be seen,
 * the extremes of each sixtieth of the time.
 *
 * @category one run
 * @since 0.1.0
 */
export const inFlight = (trace: Trace.Trace): Chart => {
  const { slots } = trace
  const line = ChartText.inFlightSteps(trace)
  const peak = Math.max(...line.map(({ count }) => count))
  const capacity = slots === null ? "" : `, capacity ${slots}`
  const svg = draw(`Calls in flight over time: at most ${ChartText.number(peak)}${capacity}`, {
    ...narrow,
    x: timeAxis(trace),
    y: countAxis("in flight", Math.max(slots ?? 1, peak)),
    marks: [
      disturbed(trace),
      ...(slots === null ? [] : [overload(slots, line)]),
      Plot.lineY(line, { x: "at", y: "count", curve: "step-after", stroke: "currentColor", strokeWidth: 1.2 }),
      ...(slots === null ? [] : capacityLine(slots))
    ]
  })
  return {
    svg,
    legend: [
      ...(slots === null
        ? []
        : [
            { name: `capacity ${slots}`, colour: "var(--capacity)", shape: "dashes" } as const,
            ...(peak > slots ? [{ name: "overload", colour: "var(--doomed)", shape: "band" } as const] : [])
          ]),
      ...disturbedItem(trace)
    ],
    table: ChartText.inFlight(trace)
  }
}

const overload = (slots: number, line: ReturnType<typeof ChartText.inFlightSteps>): Plot.Markish =>
  Plot.areaY(line, {
    x: "at",
    y1: slots,
    y2: (step: (typeof line)[number]) => Math.max(step.count, slots),
    curve: "step-after",
    fill: "var(--doomed)",
    fillOpacity: 0.35
  })

const capacityLine = (slots: number): ReadonlyArray<Plot.Markish> => [
  Plot.ruleY([slots], { stroke: "var(--capacity)", strokeDasharray: "6 4", strokeWidth: 1.5 })
]

const attemptColours = ["var(--bar)", "var(--refused)", "var(--doomed)"] as const

/**
 * How many attempts begin in each bin of time, by their number, and over them how many operations succeed: what lies between the
 * two is amplification.
 *
 * @category one run
 * @since 0.1.0
 */
export const attemptsOverTime = (trace: Trace.Trace): Chart => {
  const bins = ChartText.timeBins(trace)
  const stacks = ChartText.attemptNames.map((name, number) => ({
    name,
    colour: attemptColours[number]!,
    bars: bins.flatMap(({ begun, from, to }) => {
      const below = begun.slice(0, number).reduce((sum, count) => sum + count, 0)
      return begun[number] === 0 ? [] : [{ from, to, below, above: below + begun[number]! }]
    })
  }))
  const goodput = bins.map(({ from, succeeded }) => ({ at: from, succeeded }))
  const highest = Math.max(
    ...bins.map(({ begun: [first, second, later], succeeded }) => Math.max(first + second + later, succeeded))
  )
  const svg = draw("Attempts over time, by their number, and successes", {
    ...narrow,
    x: timeAxis(trace),
    y: countAxis(`in each ${ChartText.time(bins[0]!.to)}`, highest),
    marks: [
      disturbed(trace),
      ...stacks.map(({ bars, colour }) =>
        Plot.rectY(bars, { x1: "from", x2: "to", y1: "below", y2: "above", fill: colour, insetRight: 0.5 })
      ),
      ...successLine(goodput),
      Plot.ruleY([0])
    ]
  })
  return {
    svg,
    legend: [
      ...stacks.flatMap(({ bars, colour, name }) => (bars.length === 0 ? [] : [{ name, colour, shape: "bar" } as const])),
      { name: "successes", colour: "var(--succeeded)", shape: "line" },
      ...disturbedItem(trace)
    ],
    table: ChartText.attemptsOverTime(trace)
  }
}

/** With an edge of paper, to stand out from the bars. */
const successLine = (goodput: ReadonlyArray<{ readonly at: number; readonly succeeded: number }>) =>
  [
    { stroke: "var(--paper)", strokeWidth: 4 },
    { stroke: "var(--succeeded)", strokeWidth: 2 }
  ].map((line) => Plot.lineY(goodput, { x: "at", y: "succeeded", curve: "step-after", ...line }))

/**
 * All attempts and all successes so far: how far apart the lines run is what the retries cost.
 *
 * @category one run
 * @since 0.1.0
 */
export const progress = (trace: Trace.Trace): Chart => {
  const points = ChartText.progressPoints(trace)
  const last = points[points.length - 1]!
  const area = { x: "at", y1: "successes", y2: "attempts", fill: "var(--bar)", fillOpacity: 0.15 }
  const svg = draw(`In the end ${ChartText.number(last.attempts)} attempts and ${ChartText.number(last.successes)} successes`, {
    ...narrow,
    x: timeAxis(trace),
    y: countAxis("so far", last.attempts),
    marks: [
      disturbed(trace),
      Plot.areaY(points, area),
      Plot.lineY(points, { x: "at", y: "attempts", stroke: "var(--bar)", strokeWidth: 2 }),
      Plot.lineY(points, { x: "at", y: "successes", stroke: "var(--succeeded)", strokeWidth: 2 }),
      Plot.ruleY([0])
    ]
  })
  return {
    svg,
    legend: [
      { name: `attempts: ${ChartText.number(last.attempts)}`, colour: "var(--bar)", shape: "line" },
      { name: `successes: ${ChartText.number(last.successes)}`, colour: "var(--succeeded)", shape: "line" },
      ...disturbedItem(trace)
    ],
    table: ChartText.progress(trace)
  }
}

const endColours = { succeeded: "var(--succeeded)", "gave up": "var(--doomed)" }

/**
 * How many operations succeeded with how many attempts; the last bar are those that gave up.
 *
 * @category one run
 * @since 0.1.0
 */
export const attemptsOfOperations = (trace: Trace.Trace, decisions: ReadonlyArray<Decision> = []): Chart => {
  const bars = ChartText.operationBars(trace)
  const mostOften = Math.max(...bars.map(({ count }) => count))
  const reasons = ChartText.giveUps(trace, decisions).map(({ count, reason }) => `${reason}: ${ChartText.number(count)}`)
  const svg = draw("Operations by the number of their attempts", {
    ...narrow,
    x: { label: null, domain: bars.map(({ name }) => name), tickSize: 0, padding: 0.25 },
    y: countAxis("operations", mostOften),
    marks: [
      Plot.barY(bars, {
        x: "name",
        y: "count",
        fill: (bar: (typeof bars)[number]) => (bar.outcome === undefined ? "var(--unfinished)" : endColours[bar.outcome]),
        rx: 2
      }),
      Plot.text(bars, { x: "name", y: "count", text: ({ count }: (typeof bars)[number]) => ChartText.number(count), dy: -7 }),
      Plot.ruleY([0])
    ]
  })
  return {
    svg,
    legend: [
      { name: "succeeded with so many attempts", colour: "var(--succeeded)", shape: "bar" },
      { name: ["gave up", ...reasons].join(", "), colour: "var(--doomed)", shape: "bar" }
    ],
    table: ChartText.attemptsOfOperations(trace, decisions)
  }
}

// -----------------------------------------------------------------------------
// many runs
// -----------------------------------------------------------------------------

const shownRun: LegendItem = { name: "the run that is shown", colour: "var(--succeeded)", shape: "bar" }

/**
 * How many runs took how many attempts, with the run that is shown marked.
 *
 * @category many runs
 * @since 0.1.0
 */
export const attemptsOfRuns = (replicas: ReadonlyArray<Summary.Summary>, shown: Summary.Summary): Chart => {
  const bars = ChartText.attemptBars(replicas)
  const isShown = ({ from, to }: (typeof bars)[number]) => from <= shown.attempts && shown.attempts <= to
  const highest = Math.max(...bars.map(({ percent }) => percent))
  // Labels of all bars would run into each other.
  const every = Math.ceil(bars.length / 12)
  const svg = draw(
    `Share of ${ChartText.number(replicas.length)} runs by number of attempts; the run shown took ${shown.attempts}`,
    {
      ...narrow,
      x: {
        label: "attempts in a run",
        type: "band",
        tickSize: 0,
        ticks: bars.flatMap(({ from }, bar) => (bar % every === 0 ? [from] : [])),
        padding: 0.15
      },
      y: { label: "% of runs", ...axis, ticks: 4, domain: [0, 1.12 * highest] },
      marks: [
        Plot.barY(bars, {
          x: "from",
          y: "percent",
          fill: (bar: (typeof bars)[number]) => (isShown(bar) ? "var(--succeeded)" : "var(--bar)"),
          rx: 2
        }),
        Plot.text(bars.filter(isShown), {
          x: "from",
          y: "percent",
          text: ({ percent }: (typeof bars)[number]) => `${percent.toFixed(1)} %`,
          dy: -7,
          fontWeight: "bold"
        }),
        Plot.ruleY([0])
      ]
    }
  )
  return { svg, legend: [shownRun], table: ChartText.attemptsOfRuns(replicas) }
}

/**
 * By when which share of the runs had recovered, with the run that is shown marked.
 *
 * @category many runs
 * @since 0.1.0
 */
export const recoveryOfRuns = (replicas: ReadonlyArray<Summary.Summary>, shown: Summary.Summary): Chart => {
  const points = ChartText.recoveryPoints(replicas)
  const mark = ChartText.recoveredAfter(shown)
  const end = Math.max(1, mark ?? 0, ...points.map(({ at }) => at))
  const svg = draw(`Share of ${ChartText.number(replicas.length)} runs recovered by each instant`, {
    ...narrow,
    x: { label: "recovered after, ms", domain: [0, 1.05 * end], ...axis, ticks: 5 },
    y: { label: "% of runs", domain: [0, 100], ...axis, ticks: 5 },
    marks: [
      Plot.lineY(points, { x: "at", y: "percent", stroke: "var(--bar)", strokeWidth: 2, curve: "step-after" }),
      ...(mark === undefined ? [] : [Plot.ruleX([mark], { stroke: "var(--succeeded)", strokeWidth: 2 })])
    ]
  })
  return {
    svg,
    legend: [
      { name: "runs recovered", colour: "var(--bar)", shape: "line" },
      ...(mark === undefined ? [] : [{ ...shownRun, shape: "line" } as const])
    ],
    table: ChartText.recoveryOfRuns(replicas)
  }
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
): Chart => {
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
  const svg = draw(`How the waits of ${policies.length} policies are spread below a cap of ${cap} ms`, {
    width: 900,
    marginRight: 20,
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
        fill: (bar: (typeof bars)[number]) => (bar.from >= cap ? "var(--doomed)" : "var(--bar)"),
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
  return {
    svg,
    legend: [],
    table: {
      head: ["policy, moment", "waits", "mean, ms", "longest, ms"],
      rows: cells.map(({ moment, policy, waits }) => [
        `${policy}, ${moment}`,
        waits.length,
        Distribution.mean(waits).toFixed(0),
        Distribution.quantile(waits, 1)
      ]),
      leftOut: 0
    }
  }
}
