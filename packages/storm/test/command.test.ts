import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { breakwater, exitCode } from "../src/command/breakwater.js"

/** What a command prints, says besides, and exits with. */
const typed = async (...args: ReadonlyArray<string>) => {
  const out: Array<string> = []
  const err: Array<string> = []
  const log =
    (lines: Array<string>) =>
    (...words: ReadonlyArray<unknown>) =>
      Effect.sync(() => void lines.push(words.map(String).join(" ")))
  const exit = await Effect.runPromiseExit(
    Effect.consoleWith((console) =>
      breakwater(["node", "breakwater", ...args]).pipe(
        Effect.provide(NodeContext.layer),
        Effect.withConsole({ ...console, log: log(out), error: log(err) })
      )
    )
  )
  const code = Exit.match(exit, { onSuccess: () => 0, onFailure: exitCode })
  return { out: out.join("\n"), err: err.join("\n"), code }
}

const folder = mkdtempSync(join(tmpdir(), "breakwater-"))
const inFolder = (name: string) => join(folder, name)
const noon = fileURLToPath(new URL("fixtures/noon.yaml", import.meta.url))
const report = ["--report", inFolder("report.html")]

describe("list", () => {
  it("names every storm, as a table, as JSON and as a page", async () => {
    const { out } = await typed("list")
    assert.include(out, "A4 Full jitter, one run")
    assert.isTrue(out.split("\n").every((line) => line.length <= 120))
    const storms = JSON.parse((await typed("list", "--json")).out) as ReadonlyArray<{
      readonly id: string
      readonly everyDay: boolean
    }>
    assert.isTrue(storms.some(({ everyDay, id }) => id === "M3f" && !everyDay))
    assert.include((await typed("list", "--markdown")).out, "### A4 Full jitter, one run")
  })
})

describe("run", () => {
  it("runs the storms that are named, whatever the case, and writes the report", async () => {
    const { code, err, out } = await typed("run", "a2", "A4", ...report)
    assert.deepStrictEqual([code, err], [0, ""])
    assert.include(out, "A2 Retry at once")
    assert.notInclude(out, "WRONG")
    assert.include(readFileSync(inFolder("report.html"), "utf8"), "A4")
  })

  it("gives JSON with every figure, and nothing else", async () => {
    const { out } = await typed("run", "A2", "--json", ...report)
    const [storm] = JSON.parse(out) as ReadonlyArray<{ readonly figures: ReadonlyArray<object>; readonly holds: boolean }>
    assert.isTrue(storm?.holds)
    assert.deepInclude(storm?.figures[0], { name: "attempts", expected: "120", measured: 120, holds: true })
  })

  it.each<[ReadonlyArray<string>, string]>([
    [["run", "A44"], 'There is no storm "A44". Did you mean "A4"'],
    [["run", "A4", "--sed", "1..2"], 'There is no option --sed. Did you mean "--set", "--seeds"'],
    [["run", "--seeds", "1..2"], "--seeds is for one storm"],
    [["run", "A4", "--out", "part.json"], "--out needs --seeds"],
    [["run", "--seeds", "1..2", "--policy", "x", "A4"], "--policy is for files"],
    [["compare", "nowhere.yaml"], "nowhere.yaml cannot be read: there is no such file"],
    [["compare", "--policy", "ful jitter", noon], 'Did you mean "full jitter"'],
    [["replay", noon, "1"], "name one with --policy"],
    [["init", noon], "is there already"],
    [["merge", noon], "Not a part of a sweep"]
  ])("%j is wrong usage, and says how", async (args, message) => {
    const { code, err } = await typed(...args)
    assert.include(err, message)
    assert.strictEqual(code, 2)
  })

  it("a command that is mistyped, and seeds that are none, are wrong usage too", async () => {
    assert.strictEqual((await typed("rum")).code, 2)
    assert.strictEqual((await typed("run", "--seeds", "9..1", "A4")).code, 2)
  })
})

describe("exit codes", () => {
  it.each<[Cause.Cause<unknown>, number]>([
    [Cause.fail({ _tag: "FiguresMissed" }), 1],
    [Cause.fail({ _tag: "StormFileInvalid" }), 2],
    [Cause.fail({ _tag: "WorkerCrashed" }), 3],
    [Cause.fail({ _tag: "Deadlock" }), 3],
    [Cause.die("bug"), 3],
    [Cause.interrupt(undefined as never), 130]
  ])("%s", (cause, code) => {
    assert.strictEqual(exitCode(cause), code)
  })
})

describe("a storm of your own", { timeout: 300_000 }, () => {
  it("begins with init, and is replayed in full by its seed", async () => {
    const file = inFolder("storm.yaml")
    assert.strictEqual((await typed("init", file)).code, 0)
    assert.isTrue(existsSync(file))
    const text = await typed("replay", file, "14", "--policy", "full jitter")
    assert.include(text.out, "checkout at noon, full jitter, seed 14")
    const json = await typed("replay", file, "14", "--policy", "full jitter", "--json")
    assert.strictEqual((JSON.parse(json.out) as { readonly seed: number }).seed, 14)
    assert.strictEqual((await typed("replay", "A4", "6")).code, 0)
  })

  it("is compared, swept, and run in parts that make one", async () => {
    const seeds = (from: number, to: number) => ["--seeds", `${from}..${to}`, "--workers", "0", "--json"]
    const compared = await typed("compare", ...seeds(1, 20), noon)
    assert.deepStrictEqual([compared.err, compared.code], ["", 0])
    const { policies } = JSON.parse(compared.out) as { readonly policies: ReadonlyArray<{ readonly policy: string }> }
    assert.isAtLeast(policies.length, 2)

    const swept = await typed(
      ...["sweep", "--policy", "full jitter", "--parameter", "clients.together", "--values", "4,20", ...seeds(1, 20), noon]
    )
    const { points, stopsHolding } = JSON.parse(swept.out) as {
      readonly points: ReadonlyArray<object>
      readonly stopsHolding: { readonly value: number }
    }
    assert.deepStrictEqual([points.length, stopsHolding.value], [2, 20])

    const part = (name: string, from: number, to: number) =>
      typed("run", "--policy", "full jitter", "--out", inFolder(name), ...seeds(from, to), noon)
    for (const { code } of [await part("a.json", 1, 10), await part("b.json", 11, 20), await part("all.json", 1, 20)]) {
      assert.strictEqual(code, 0)
    }
    const merged = await typed("merge", "--out", inFolder("merged.json"), inFolder("b.json"), inFolder("a.json"))
    assert.strictEqual(merged.code, 0)
    assert.strictEqual(readFileSync(inFolder("merged.json"), "utf8"), readFileSync(inFolder("all.json"), "utf8"))
  })

  it("says in which line it is wrong", async () => {
    const file = inFolder("wrong.yaml")
    writeFileSync(file, readFileSync(noon, "utf8").replace("together", "togehter"))
    const { code, err } = await typed("compare", file)
    assert.match(err, /wrong\.yaml:\d+:\d+ clients\.togehter .*Did you mean "together"/)
    assert.strictEqual(code, 2)
  })
})
