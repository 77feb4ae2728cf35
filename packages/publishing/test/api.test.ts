import * as fs from "node:fs"
import { describe, expect, it } from "vitest"
import { apiReport, declarations, reportFile } from "./apiReport.js"
import { published } from "./packages.js"
import "./tarballs.js"

describe("is the public API the one that was reviewed?", { timeout: 300_000 }, () => {
  it.each(published)("$name", async (pkg) => {
    const file = reportFile(pkg)
    const reviewed = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : ""
    expect(await apiReport(pkg), "The public API is not the reviewed one: `npm run api`, then review the diff").toBe(reviewed)
  })
})

describe("what counts as a change of the API?", () => {
  const before = declarations('import { A } from "./A.js"\nexport declare const f: (a: A) => string\nexport {}')

  it.each([
    ["an export more", 'import { A } from "./A.js"\nexport declare const f: (a: A) => string\nexport declare const g: 1'],
    ["an export less", 'import { A } from "./A.js"'],
    ["another type", 'import { A } from "./A.js"\nexport declare const f: (a: A) => string | undefined'],
    ["a type of the same name from elsewhere", 'import { A } from "./B.js"\nexport declare const f: (a: A) => string']
  ])("%s does", (_change, after) => {
    expect(declarations(after)).not.toBe(before)
  })

  it.each([
    [
      "a comment",
      'import { A } from "./A.js"\n/** Better. */\nexport declare const f: /* why */ (a: A) => string // so',
      before
    ],
    [
      "the order",
      "export interface B {}\nexport declare const a: 1",
      declarations("export declare const a: 1\nexport interface B {}")
    ]
  ])("%s does not", (_change, after, same) => {
    expect(declarations(after)).toBe(same)
  })

  it("the order of overloads does", () => {
    const [one, other] = ["export declare function f(a: 1): 1", "export declare function f(a: number): 2"]
    expect(declarations(`${other}\n${one}`)).not.toBe(declarations(`${one}\n${other}`))
  })
})
