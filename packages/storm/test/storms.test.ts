import { Catalogue, CataloguePage, HtmlReport, SixClients, Storm, TextReport } from "@breakwater/storm"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"

const known = new Map<Storm.Storm, Promise<Storm.Checked>>()

/** Each storm is run once, however many questions are asked about it, and lets the runner of the tests have its turn before. */
const check = (storm: Storm.Storm): Promise<Storm.Checked> => {
  const checked = known.get(storm) ?? Effect.runPromise(Effect.zipRight(Effect.sleep(0), Storm.check(storm)))
  known.set(storm, checked)
  return checked
}

const once = Catalogue.storms.filter(({ replicas }) => replicas === 0)

describe("the storms give the figures of their sources", () => {
  it.each(once)("$id $title", async (storm) => {
    const { figures } = await check(storm)
    for (const { figure, holds, measured } of figures) {
      assert.isTrue(holds, `${figure.name} must be ${figure.expected}, is ${measured}`)
    }
  })

  it("A5 Full jitter, a tenth of its runs, in bands as much wider", async () => {
    const { outcome } = await check({ ...SixClients.fullJitterManySeeds, replicas: 2000 })
    const share = outcome.replicas.filter(({ attempts }) => attempts === 18).length / 2000
    // 3.5 standard errors of a share of .405 over 2,000 runs.
    assert.closeTo(share, 0.405, 0.0384)
    assert.isAtLeast(outcome.replicas.filter(({ succeeded }) => succeeded === 6).length, 2000 * 0.99)
  })
})

describe("the catalogue", () => {
  it.each([
    ["for every day", Catalogue.storms],
    ["in full", Catalogue.thorough]
  ])("%s names every storm once", (_, storms) => {
    const ids = storms.map(({ id }) => id)
    assert.sameMembers([...new Set(ids)], ids)
  })
})

describe("the page of the catalogue", () => {
  it("is what the command makes of it", () => {
    const made = CataloguePage.markdown({ everyDay: Catalogue.storms, thorough: Catalogue.thorough })
    assert.strictEqual(readFileSync(new URL("../../../docs/catalogue.md", import.meta.url), "utf8"), made)
  })
})

describe("a figure that does not come out", () => {
  const wrong: Storm.Storm = {
    ...SixClients.retryAtOnce,
    figures: [
      Storm.exactly("attempts", 119, ({ summary }) => summary.attempts),
      Storm.within("attempts", 100, 19, 0, ({ summary }) => summary.attempts),
      Storm.atLeast("attempts", 121, 0, ({ summary }) => summary.attempts),
      Storm.atMost("recovered at, ms", 750, 0, ({ summary }) => summary.allSucceededAt ?? NaN)
    ]
  }

  it("is found, also where nothing could be measured", async () => {
    const checked = await check(wrong)
    assert.isFalse(checked.holds)
    assert.deepStrictEqual(
      checked.figures.map(({ holds }) => holds),
      [false, false, false, false]
    )
  })

  it("is told in the table and in the report", async () => {
    const checked = await check(wrong)
    assert.match(TextReport.table([checked], { colours: false }), /WRONG/)
    assert.match(HtmlReport.render([checked]), /class="wrong"/)
  })
})

describe("the text report", () => {
  it("fits a terminal of 120 columns and has no colour codes where it was told so", { timeout: 120_000 }, async () => {
    const checked = await Promise.all(once.map(check))
    const lines = TextReport.table(checked, { colours: false }).split("\n")
    assert.isTrue(lines.every((line) => line.length <= 120 && !line.includes("\u001b")))
    assert.include(TextReport.table(checked, { colours: true }), "\u001b[32mok")
  })

  it("draws a bar for every number of attempts that occurred", () => {
    const text = TextReport.histogram([18, 18, 18, 19, 24], 30)
    assert.deepStrictEqual(text.split("\n"), [
      `   18 ${"█".repeat(30)} 60.00 %`,
      `   19 ${"█".repeat(10)} 20.00 %`,
      `   24 ${"█".repeat(10)} 20.00 %`
    ])
  })
})
