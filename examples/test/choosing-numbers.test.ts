import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { attemptTimeouts, comparison, observed, permits, tripPolicies } from "../src/choosing-numbers.js"

type Row = { readonly [column: string]: number | string }

const page = readFileSync(join(import.meta.dirname, "../../docs/choosing-numbers.md"), "utf8")
const quoted = page.split("\n").map((line) => line.replace(/\s+/g, " "))

/** A row as the tables of the page have it. */
const asQuoted = (row: Row) =>
  `| ${Object.values(row)
    .map((cell) => cell.toLocaleString("en"))
    .join(" | ")} |`

describe("what the page quotes is what the program finds", () => {
  it.each<[string, () => ReadonlyArray<Row>]>([
    ["the usual day", () => [observed()]],
    ["attempt time-outs", attemptTimeouts],
    ["permits", permits],
    ["trip policies", tripPolicies],
    ["an outage", () => comparison("outage")],
    ["an overload", () => comparison("overload")]
  ])("%s", (_, rows) => {
    for (const row of rows()) expect(quoted).toContain(asQuoted(row))
  })
})

// The tables of the page are of seed 1.
describe.each([
  { seed: 2, guessedIsWell: "4.5 s" },
  { seed: 3, guessedIsWell: "not in 15 s" }
])("the decision hangs on no seed: $seed", ({ guessedIsWell, seed }) => {
  it("in an outage the breaker spares the users the wait and the service the calls", () => {
    const [guessed, , withBulkhead, chosen] = comparison("outage", seed)
    expect(guessed!.median).toBeGreaterThan(6000)
    expect(guessed!.wellAgain).toBe(guessedIsWell)
    expect(withBulkhead!.median).toBeGreaterThan(300)
    expect(chosen!.median).toBe(0)
    expect(Number(guessed!["calls each"])).toBeGreaterThan(2.7)
    expect(Number(chosen!["calls each"])).toBeLessThan(0.25)
  })

  it("in an overload the bulkhead keeps the service at work for those who still wait", () => {
    const [guessed, measured, , chosen] = comparison("overload", seed)
    expect(guessed!.wellAgain).toBe("not in 15 s")
    expect(measured!.answered).toBeLessThan(50)
    // Ten seconds of 66 calls each.
    expect(chosen!.answered).toBeGreaterThan(640)
    expect(chosen!.p99).toBeLessThan(350)
    expect(["0 s", "0.5 s"]).toContain(chosen!.wellAgain)
  })
})
