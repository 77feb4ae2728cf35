import { Clients, Scenario, Service, Simulation, Summary, Trace } from "@breakwater/simulation"
import { Catalogue, Charts, SixClients, type Storm } from "@breakwater/storm"
import * as ChartText from "@breakwater/storm/ChartText"
import * as Decisions from "@breakwater/storm/Decisions"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parseHTML } from "linkedom"

const record = ({ scenario, seed }: Storm.Storm) => Effect.runSync(Decisions.record(scenario, { seed }))

const storm = (id: string) => Catalogue.storms.find((storm) => storm.id === id)!

const fullJitter = record(SixClients.fullJitter)
const crowd = record(storm("S2c"))
const runs = Effect.runSync(Simulation.replicate(SixClients.fullJitter.scenario, { seeds: 40 }))
const shown = Summary.of(fullJitter.trace)

const count = (svg: string, selector: string): number => parseHTML(svg).document.querySelectorAll(selector).length

const column = ({ head, rows }: ChartText.Table, name: string): ReadonlyArray<string | number> =>
  rows.map((row) => row[head.indexOf(name)]!)

const sum = (values: ReadonlyArray<string | number>): number => values.reduce<number>((sum, value) => sum + Number(value), 0)

/** Ten thousand operations that fail and come back, most of them at different times. */
const large = Effect.runSync(
  Decisions.record(
    Scenario.make({
      name: "large",
      service: Service.capacity({ slots: 300, takes: "100 millis", above: "everything in flight times out" }),
      clients: Clients.openLoop({ rate: 2500 }),
      client: SixClients.fullJitter.scenario.client,
      until: "4 seconds"
    }),
    { seed: 1 }
  )
)

describe("the lanes of clients", () => {
  const lanes = Charts.lanes(fullJitter.trace, fullJitter.decisions)

  it("have a bar for every attempt, in the colour of its outcome", () => {
    assert.strictEqual(count(lanes.svg, "[aria-label=bar] rect"), 19)
    assert.strictEqual(count(lanes.svg, '[aria-label=bar][fill="var(--succeeded)"] rect'), 6)
    assert.strictEqual(count(lanes.svg, '[aria-label=bar][fill="var(--doomed)"] rect'), 13)
  })

  it("have a line for every wait as drawn, and a fainter one as far as chance could have drawn it", () => {
    assert.strictEqual(count(lanes.svg, "[aria-label=rule]:not([stroke-dasharray]) line"), 13)
    assert.strictEqual(count(lanes.svg, "[aria-label=rule][stroke-dasharray] line"), 13)
  })

  it("know no longest waits where the policy did not tell, but the waits all the same", () => {
    const { legend, svg } = Charts.lanes(fullJitter.trace)
    assert.strictEqual(count(svg, "[aria-label=rule]:not([stroke-dasharray]) line"), 13)
    assert.strictEqual(count(svg, "[aria-label=rule][stroke-dasharray] line"), 0)
    assert.notInclude(
      legend.map(({ name }) => name),
      "longest possible wait"
    )
  })

  it("say why an operation was given up", () => {
    const { decisions, trace } = record(storm("A7d"))
    assert.include(Charts.lanes(trace, decisions).svg, "✗ exhausted")
    assert.include(Charts.lanes(trace).svg, "✗ gave up")
  })

  it("can be read as a table", () => {
    assert.deepStrictEqual(lanes.table.head, ["attempt", "from, ms", "to, ms", "outcome", "then"])
    const [first, second, third] = lanes.table.rows
    assert.deepStrictEqual(first!.slice(0, 4), ["client 1, attempt 1", "0", "100", "timed out in overload"])
    assert.match(String(first![4]), /^waits \d+ ms of at most 100$/)
    assert.match(String(second![4]), /^waits \d+ ms of at most 200$/)
    assert.strictEqual(third![4], "succeeded")
  })

  it("become strips where they would be a wall", () => {
    const { legend, svg, table } = Charts.clients(crowd.trace, crowd.decisions)
    assert.isAtMost(count(svg, "rect"), 200)
    assert.deepStrictEqual(table.head.slice(1), ["succeeded", "refused", "waiting"])
    assert.match(legend[0]!.name, /^strongest colour: \d+ in 500 ms$/)
    assert.include(
      legend.map(({ name }) => name),
      "disturbed"
    )
  })
})

describe("an attempt that timed out", () => {
  const outcomes = (service: Service.Service, clients: number) =>
    ChartText.attempts(
      Effect.runSync(
        Simulation.run(
          Scenario.make({
            name: "once",
            service,
            clients: Clients.together(clients),
            client: (call) => call,
            until: "1 second"
          }),
          { seed: 1 }
        )
      )
    ).map(({ outcome }) => outcome)

  const capacity = Service.capacity({ slots: 2, takes: "100 millis", above: "everything in flight times out" })

  it("is doomed if more were in flight than the service can carry", () => {
    assert.deepStrictEqual(outcomes(capacity, 3), ["doomed", "doomed", "doomed"])
  })

  it("is not if it timed out by itself", () => {
    assert.deepStrictEqual(outcomes(Service.scripted({ slots: 2, takes: "100 millis", script: [[Service.timedOut]] }), 1), [
      "timed out"
    ])
  })
})

describe("every picture", () => {
  const pictures: Record<string, (run: Decisions.Recording) => Charts.Chart> = {
    clients: ({ decisions, trace }) => Charts.clients(trace, decisions),
    inFlight: ({ trace }) => Charts.inFlight(trace),
    attemptsOverTime: ({ trace }) => Charts.attemptsOverTime(trace),
    progress: ({ trace }) => Charts.progress(trace),
    attemptsOfOperations: ({ decisions, trace }) => Charts.attemptsOfOperations(trace, decisions),
    attemptsOfRuns: () => Charts.attemptsOfRuns(runs, shown),
    recoveryOfRuns: () => Charts.recoveryOfRuns(runs, shown)
  }
  const cases = Object.entries(pictures)

  it.each(cases)("%s: has a label, a legend and the same as numbers", (_, draw) => {
    for (const run of [fullJitter, crowd]) {
      const { legend, svg, table } = draw(run)
      assert.match(svg, /^<svg [^>]*aria-label="[^"]{10,}"/)
      assert.match(svg, /^<svg [^>]*role="img"/)
      assert.isNotEmpty(legend)
      assert.isNotEmpty(table.rows)
      assert.isTrue(table.rows.every((row) => row.length === table.head.length))
      assert.notMatch(svg, /NaN|undefined|Infinity/)
    }
  })

  it.each(cases)("%s: is the same each time", (_, draw) => {
    assert.deepStrictEqual(draw(fullJitter), draw(fullJitter))
  })

  it.each(cases)("%s: stays small over %i operations", (_, draw) => {
    const { svg, table } = draw(large)
    assert.isAtLeast(Trace.operations(large.trace).length, 9000)
    assert.isBelow(svg.length, 20_000)
    assert.isAtMost(table.rows.length, 150)
    assert.isAtMost(count(svg, "rect"), 450)
  })
})

describe("the numbers of a picture", () => {
  const { trace } = fullJitter

  it("count every attempt and every success once", () => {
    for (const run of [fullJitter, large]) {
      const { attempts, succeeded } = Summary.of(run.trace)
      const bins = ChartText.timeBins(run.trace)
      assert.strictEqual(sum(bins.flatMap(({ begun }) => begun)), attempts)
      assert.strictEqual(sum(bins.map(({ succeeded }) => succeeded)), succeeded)
      assert.deepStrictEqual(ChartText.progress(run.trace).rows.at(-1)!.slice(1), [attempts, succeeded])
    }
  })

  it("count every operation once, those that gave up last", () => {
    const { rows } = ChartText.attemptsOfOperations(trace)
    assert.deepStrictEqual(rows, [
      ["succeeded with 1 attempt", 0],
      ["succeeded with 2 attempts", 0],
      ["succeeded with 3 attempts", 5],
      ["succeeded with 4 attempts", 1],
      ["gave up", 0]
    ])
    const all = ChartText.operationBars(large.trace).map(({ count }) => count)
    assert.strictEqual(sum(all), Trace.operations(large.trace).length)
  })

  it("count those that gave up by reason", () => {
    const { rows } = ChartText.attemptsOfOperations(crowd.trace, crowd.decisions)
    const gaveUp = Summary.of(crowd.trace).gaveUp
    assert.deepStrictEqual(rows.slice(-2), [
      ["gave up", gaveUp],
      ["gave up: exhausted", gaveUp]
    ])
  })

  it("keep the highest and the lowest of what is in flight, however coarse", () => {
    for (const run of [fullJitter, large]) {
      const table = ChartText.inFlight(run.trace)
      assert.strictEqual(Math.max(...column(table, "most in flight").map(Number)), Summary.of(run.trace).peakInFlight)
      const steps = ChartText.inFlightSteps(run.trace)
      assert.strictEqual(Math.max(...steps.map(({ count }) => count)), Summary.of(run.trace).peakInFlight)
    }
  })

  it("tell what is in flight from the start of a bin, not from its first step", () => {
    // One call from 0 to 100 ms, the next one at 900 ms.
    const two = Effect.runSync(
      Simulation.run(
        Scenario.make({
          name: "two",
          service: Service.unlimited({ takes: "100 millis" }),
          clients: Clients.at(["0 millis", "900 millis"]),
          client: (call) => call,
          until: "1 second"
        }),
        { seed: 1 }
      )
    )
    const bins = ChartText.inFlightBins(two)
    assert.deepStrictEqual(
      [50, 95, 500, 950]
        .map((at) => bins.find(({ from, to }) => from <= at && at < to)!)
        .map(({ least, most }) => [least, most]),
      [
        [1, 1],
        [1, 1],
        [0, 0],
        [1, 1]
      ]
    )
  })

  it("say how many rows are left out", () => {
    const { leftOut, rows } = ChartText.lanes(large.trace, large.decisions)
    assert.strictEqual(rows.length + leftOut, Summary.of(large.trace).attempts)
    assert.isAbove(leftOut, 0)
  })

  it("hold every run once", () => {
    assert.strictEqual(sum(ChartText.attemptBars(runs).map(({ count }) => count)), 40)
    const spread = runs.map((run, index) => ({ ...run, attempts: 1000 + 37 * index }))
    const bars = ChartText.attemptBars(spread)
    assert.isAtMost(bars.length, 30)
    assert.strictEqual(sum(bars.map(({ count }) => count)), 40)
  })

  it("let runs that never recovered come last", () => {
    const half = runs.map((run, index) => (index % 2 === 0 ? { ...run, allSucceededAt: undefined } : run))
    assert.strictEqual(ChartText.recoveryPoints(half).at(-1)!.percent, 50)
  })
})

describe("the colours", () => {
  const schemes = [...Charts.palette.matchAll(/:root \{([^}]*)\}/g)].map(([, colours]) =>
    Object.fromEntries([...colours!.matchAll(/--([\w-]+): #(\w{6})/g)].map(([, name, colour]) => [name!, luminance(colour!)]))
  )

  const contrast = (one: number, other: number): number => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)

  it("are there for a light page and a dark one", () => {
    assert.strictEqual(schemes.length, 2)
    assert.deepStrictEqual(Object.keys(schemes[0]!), Object.keys(schemes[1]!))
  })

  it("of text stand out 4.5 : 1, of shapes 3 : 1", () => {
    for (const scheme of schemes) {
      for (const text of ["ink", "faint", "accent", "good", "bad"]) {
        for (const ground of ["paper", "card"]) assert.isAtLeast(contrast(scheme[text]!, scheme[ground]!), 4.5, text)
      }
      for (const shape of [...Charts.outcomes.map(({ colour }) => /--([\w-]+)/.exec(colour)![1]!), "wait", "capacity", "bar"]) {
        assert.isAtLeast(contrast(scheme[shape]!, scheme["paper"]!), 3, shape)
      }
    }
  })
})

/** As WCAG 2 defines it, 0 to 1. */
function luminance(hex: string): number {
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}
