import * as fs from "node:fs"
import { describe, expect, it } from "vitest"
import * as Snippets from "./snippets.js"

const blocks = Snippets.sources().flatMap(Snippets.collect)

fs.rmSync(Snippets.folder, { recursive: true, force: true })
Snippets.write(blocks)

describe("does every code block of the README, the docs and the docstrings compile and run?", { timeout: 60_000 }, () => {
  it.each([
    ["markdown", ".md"],
    ["docstrings", ".ts"]
  ])("there are blocks in %s", (_kind, end) => {
    expect(blocks.filter(({ source }) => source.endsWith(end))).not.toEqual([])
  })

  it("every block compiles", () => {
    expect(Snippets.compile(blocks)).toEqual([])
  })

  for (const block of blocks.filter(({ runs }) => runs)) {
    it(`${block.source}:${block.line} runs`, async () => {
      expect(await Snippets.run(block)).toEqual([])
    })
  }
})

describe("would a wrong block be noticed?", { timeout: 60_000 }, () => {
  const wrong = (name: string, ...code: ReadonlyArray<string>) => {
    const [block] = Snippets.inMarkdown(name, ["prose", "", "```ts", ...code, "```"].join("\n"))
    Snippets.write([block!])
    return block!
  }

  it("one that does not compile, in a docstring that must not run", () => {
    const docstring = [
      "/**",
      " * @example",
      " * ```ts no-run",
      ' * const n: number = "one"',
      " * ```",
      " */",
      "export const x = 1"
    ]
    const blocks = Snippets.inDocComments("type-error.ts", docstring.join("\n"))
    Snippets.write(blocks)
    expect(blocks.map(({ runs }) => runs)).toEqual([false])
    expect(Snippets.compile(blocks)).toEqual(["type-error.ts:4 Type 'string' is not assignable to type 'number'."])
  })

  it("one that prints something else than its comment", async () => {
    const block = wrong("wrong-value.md", "console.log([1], { a: 'b' }) // [1] { a: \"b\" }", "", "console.log(2) // 3")
    expect(await Snippets.run(block)).toEqual(["wrong-value.md:6 should print 3, prints 2"])
  })

  it("one that prints nothing", async () => {
    const block = wrong("silent.md", "export const later = () => console.log(2) // 2")
    expect(await Snippets.run(block)).toEqual(["silent.md:4 should print 2, prints nothing"])
  })

  it("one that throws", async () => {
    await expect(Snippets.run(wrong("throws.md", 'throw new Error("boom")'))).rejects.toThrow("boom")
  })
})
