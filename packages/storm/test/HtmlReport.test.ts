import { Catalogue, HtmlReport, SixClients, Storm } from "@breakwater/storm"
import * as Decisions from "@breakwater/storm/Decisions"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parseHTML } from "linkedom"

interface Element {
  readonly textContent: string
  readonly tagName: string
  readonly getAttribute: (name: string) => string | null
  readonly querySelector: (selector: string) => Element | null
  readonly querySelectorAll: (selector: string) => Iterable<Element>
  readonly closest: (selector: string) => Element | null
}

const check = (storm: Storm.Storm) => Effect.runSync(Storm.check(storm))

const record = ({ scenario, seed }: Storm.Storm) => Effect.runSync(Decisions.record(scenario, { seed })).decisions

const storm = (id: string) => Catalogue.storms.find((storm) => storm.id === id)!

/** The distribution of a few of its runs; a figure that does not come out; a crowd that is disturbed; layers. */
const fewRuns = { ...SixClients.fullJitterManySeeds, replicas: 50, figures: [] }
const shown = [SixClients.whatToRetry, SixClients.fullJitter, fewRuns, storm("S2d"), storm("S9")]

const checked = shown.map(check)
const decisions = Object.fromEntries(shown.map((storm) => [storm.id, record(storm)]))
const page = HtmlReport.render(checked, { decisions })
const { document } = parseHTML(page) as unknown as { readonly document: Element }

const all = (selector: string, within: Element = document): ReadonlyArray<Element> => [...within.querySelectorAll(selector)]

const text = (selector: string): string => document.querySelector(selector)!.textContent.replaceAll(/\s+/g, " ").trim()

describe("the HTML report", () => {
  it("says the policy in words, the seed, the source", () => {
    for (const words of [SixClients.fullJitter.policy, "Seed 6.", "Animated Architecture Patterns"]) {
      assert.include(text("#A4"), words)
    }
  })

  it("shows a lane for every client", () => {
    for (let client = 1; client <= 6; client++) assert.include(text("#A4"), `client ${client}`)
  })

  it("needs nothing from outside, and no script", () => {
    assert.notMatch(page.replaceAll("http://www.w3.org/", ""), /https?:|\/\/[a-z]|<script|@import|url\(|src=| on[a-z]+=/)
    assert.deepStrictEqual(
      all("[href]").filter((link) => !/^(#|data:,$)/.test(link.getAttribute("href")!)),
      []
    )
  })

  it("needs no decisions", () => {
    assert.include(HtmlReport.render([checked[1]!]), "client 6")
  })

  it("is the same each time", () => {
    assert.strictEqual(HtmlReport.render(checked, { decisions }), page)
  })

  it("can be empty", () => {
    assert.include(HtmlReport.render([]), "</html>")
  })

  it("escapes what a storm says", () => {
    const hostile = { ...checked[1]!, storm: { ...SixClients.fullJitter, title: `<img src=x onerror="1">&`, id: `"><b>` } }
    assert.notMatch(HtmlReport.render([hostile]), /<img|"><b>/)
  })
})

describe("the table of a storm", () => {
  const rows = (id: string) =>
    Object.fromEntries(
      all(`#${id} .tables .part:last-child tbody tr`).map((row) => [
        row.querySelector("th")!.textContent.trim(),
        all("td", row).map((cell) => cell.textContent.replaceAll("\u00a0", " ").trim())
      ])
    )

  it("has what happened in the run that is shown", () => {
    assert.deepStrictEqual(rows("A4"), {
      attempts: ["19"],
      amplification: ["× 3.17"],
      succeeded: ["6 of 6"],
      "gave up": ["0"],
      "peak in flight": ["6"],
      "time over capacity": ["148 ms"],
      "all had succeeded after": ["649 ms"],
      "wasted work": ["1,300 ms"],
      "wasted share of all work": ["68 %"]
    })
  })

  it("has the median and the spread of many runs beside it", () => {
    const { attempts } = rows("A5")
    assert.strictEqual(attempts![0], "19")
    assert.strictEqual(attempts!.length, 3)
    assert.match(attempts![2]!, /^\d+ to \d+$/)
  })

  it("has the recovery after a disturbance, and what reached each layer", () => {
    assert.match(rows("S2d")["well again after the disturbance"]![0]!, /ms$/)
    assert.deepStrictEqual(rows("S9")["calls that reached service"], ["243"])
  })
})

describe("the footer of a storm", () => {
  it("names everything that a replay needs", () => {
    const footer = text("#A4 footer")
    for (const part of [
      /scenario [0-9a-f]{12}/,
      /seed 6/,
      /generator \S+/,
      /engine 2/,
      /@breakwater\/storm \d+\.\d+\.\d+/,
      /milliseconds/
    ]) {
      assert.match(footer, part)
    }
  })

  it("says where the run stands among all", () => {
    assert.match(
      text("#A5 footer"),
      /Median of 50 seeds: \d+ attempts; this run is seed 6, with 19 attempts \(\d+(st|nd|rd|th) percentile\)\./
    )
  })

  it("has one hash for one scenario, and another for another", () => {
    assert.strictEqual(
      HtmlReport.scenarioHash(SixClients.fullJitter),
      HtmlReport.scenarioHash({ ...SixClients.fullJitter, seed: 7 })
    )
    const hashes = Catalogue.storms.slice(0, 5).map(HtmlReport.scenarioHash)
    assert.strictEqual(new Set(hashes).size, 4, "A4 and A5 are one scenario")
  })

  it("has a hash that no release may change for the same description", () => {
    assert.strictEqual(HtmlReport.scenarioHash(SixClients.fullJitter), "8ac3a480a2ad")
  })
})

describe("a figure that does not come out", () => {
  it("is told at the top, in the overview and at the storm", () => {
    const wrong = check({
      ...SixClients.retryAtOnce,
      figures: [Storm.exactly("attempts", 119, ({ summary }) => summary.attempts)]
    })
    const { document } = parseHTML(HtmlReport.render([wrong, checked[1]!])) as unknown as { readonly document: Element }
    assert.include(document.querySelector("header .wrong")!.textContent, "A2")
    assert.strictEqual(all("td.wrong", document).length, 2)
  })
})

describe("read by a screen reader", () => {
  it("has one heading of the page, and no level is skipped", () => {
    const levels = all("h1, h2, h3, h4").map(({ tagName }) => Number(tagName.slice(1)))
    assert.strictEqual(levels.filter((level) => level === 1).length, 1)
    levels.forEach((level, index) => {
      if (index > 0) assert.isAtMost(level, levels[index - 1]! + 1)
    })
  })

  it("has landmarks, and a link past the contents", () => {
    for (const landmark of ["body > header", "header nav", "main", "body > footer"]) assert.lengthOf(all(landmark), 1, landmark)
    assert.strictEqual(document.querySelector("body > a")!.getAttribute("href"), "#storms")
  })

  it("names every picture and has its numbers below it", () => {
    assert.isAbove(all("figure").length, 20)
    for (const figure of all("figure")) {
      assert.isNotEmpty(figure.querySelector("svg[role=img]")!.getAttribute("aria-label"))
      assert.isNotEmpty(figure.querySelector("figcaption")!.textContent)
      assert.isNotNull(figure.querySelector("details table"))
    }
  })

  it("has a caption for every table, and knows what each head is the head of", () => {
    for (const table of all("table")) assert.isNotNull(table.querySelector("caption"))
    for (const head of all("th")) {
      assert.strictEqual(head.getAttribute("scope"), head.closest("thead") === null ? "row" : "col")
    }
  })

  it("has no two elements of one id, and every link leads somewhere", () => {
    const ids = all("[id]").map((element) => element.getAttribute("id")!)
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const link of all("a")) assert.include(ids, link.getAttribute("href")!.slice(1))
  })

  it("reaches by keyboard what scrolls by itself, under a name of its own", () => {
    const regions = all(".scroll")
    for (const region of regions) assert.strictEqual(region.getAttribute("tabindex"), "0")
    const names = regions.map((region) => region.getAttribute("aria-label"))
    assert.strictEqual(new Set(names).size, names.length)
  })
})

describe("the size of the page", () => {
  it("stays below 26 kB for a storm of thousands of operations, so that a hundred of them fit into 3 MB", () => {
    const one = HtmlReport.render([checked[3]!], { decisions }).length
    assert.isBelow(one - HtmlReport.render([]).length, 26_000)
  })
})
