/**
 * Collects the code blocks of the markdown files and of the doc comments, type-checks them in one program and runs them.
 *
 * A comment behind a `console.log(...)`, on the line where the call ends, is what that call prints. Prose goes on a line of its
 * own. A block that must not run (it would start a server) says so: ```ts no-run. It is compiled all the same.
 */
import { fromMarkdown } from "mdast-util-from-markdown"
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { format } from "node:util"
import ts from "typescript"
import { visit } from "unist-util-visit"
import { vi } from "vitest"

const root = path.resolve(import.meta.dirname, "../..")
export const folder = path.join(root, "examples/.snippets")

export interface Block {
  readonly source: string
  /** Of the opening fence, so that row n of the code is line + n of the source. */
  readonly line: number
  readonly code: string
  readonly runs: boolean
  readonly file: string
}

export const sources = (): Array<string> => {
  const exists = (name: string) => fs.existsSync(path.join(root, name))
  const under = (parent: string, end: string) =>
    (exists(parent) ? fs.readdirSync(path.join(root, parent), { recursive: true, encoding: "utf8" }) : [])
      .filter((name) => name.endsWith(end) && !name.startsWith("internal/"))
      .map((name) => `${parent}/${name}`)
  const packages = fs.readdirSync(path.join(root, "packages")).map((name) => `packages/${name}`)
  const readmes = ["README.md", ...packages.map((name) => `${name}/README.md`)].filter(exists)
  return [...readmes, ...under("docs", ".md"), ...packages.flatMap((name) => under(`${name}/src`, ".ts"))]
}

export const collect = (source: string): Array<Block> => {
  const text = fs.readFileSync(path.join(root, source), "utf8")
  return source.endsWith(".md") ? inMarkdown(source, text) : inDocComments(source, text)
}

export const inMarkdown = (source: string, text: string, linesAbove = 0): Array<Block> => {
  const blocks: Array<Block> = []
  visit(fromMarkdown(text), "code", ({ lang, meta, position, value }) => {
    if (lang !== "ts") return
    const line = linesAbove + position!.start.line
    const file = path.join(folder, `${source.replaceAll("/", "-")}-L${line}.ts`)
    blocks.push({ source, line, code: value, runs: meta !== "no-run", file })
  })
  return blocks
}

export const inDocComments = (source: string, text: string): Array<Block> => {
  const file = ts.createSourceFile(source, text, ts.ScriptTarget.Latest)
  // By position: a node and its first child have the same comment in front of them.
  const comments = new Map<number, string>()
  walk(file, (node) => {
    for (const { pos, end } of ts.getLeadingCommentRanges(text, node.pos) ?? []) comments.set(pos, text.slice(pos, end))
  })
  return [...comments]
    .filter(([, comment]) => comment.startsWith("/**"))
    .flatMap(([pos, comment]) =>
      inMarkdown(source, comment.replace(/^[ \t]*(\/\*\*|\*\/|\*) ?/gm, ""), file.getLineAndCharacterOfPosition(pos).line)
    )
}

const walk = (node: ts.Node, see: (node: ts.Node) => void): void => {
  see(node)
  ts.forEachChild(node, (child) => walk(child, see))
}

export const write = (blocks: ReadonlyArray<Block>): void => {
  fs.mkdirSync(folder, { recursive: true })
  for (const { code, file } of blocks) fs.writeFileSync(file, code)
}

/** What the compiler says about the written blocks. */
export const compile = (blocks: ReadonlyArray<Block>): Array<string> => {
  const config = ts.getParsedCommandLineOfConfigFile(
    path.join(root, "examples/tsconfig.json"),
    // A composite project may only hold the files that its tsconfig names.
    { composite: false, declarationMap: false, noUnusedLocals: false, noUnusedParameters: false },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined }
  )
  const files = blocks.map(({ file }) => file)
  const program = ts.createProgram(files, config!.options)
  return blocks.flatMap((block) => {
    const file = program.getSourceFile(block.file)!
    return ts.getPreEmitDiagnostics(program, file).map(({ messageText, start }) => {
      const row = file.getLineAndCharacterOfPosition(start ?? 0).line + 1
      return `${block.source}:${block.line + row} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`
    })
  })
}

/** Runs a written block and says where it prints something other than its comments. */
export const run = async (block: Block): Promise<Array<string>> => {
  const printed = new Map<number, Array<string>>()
  const frame = new RegExp(`${path.basename(block.file).replaceAll(".", "\\.")}:(\\d+)`)
  const log = vi.spyOn(console, "log").mockImplementation((...args) => {
    // A log may run late, often or never, so the order of printing does not tell which one it was. The stack does.
    const at = Number(frame.exec(new Error().stack ?? "")?.[1])
    printed.set(at, [...(printed.get(at) ?? []), oneLine(format(...args))])
  })
  try {
    await import(pathToFileURL(block.file).href)
  } finally {
    log.mockRestore()
  }
  return expectations(block.code).flatMap(([row, expected]) => {
    const got = printed.get(row) ?? []
    if (got.length > 0 && got.every((line) => line === expected)) return []
    return [`${block.source}:${block.line + row} should print ${expected}, prints ${got.join(", then ") || "nothing"}`]
  })
}

const expectations = (code: string): Array<readonly [row: number, expected: string]> => {
  const file = ts.createSourceFile("block.ts", code, ts.ScriptTarget.Latest)
  const found: Array<readonly [number, string]> = []
  walk(file, (node) => {
    // Effect's Console.log prints from a fiber and is never found in the stack; better it fails than goes unchecked.
    if (!ts.isCallExpression(node) || !/^console\.log$/i.test(node.expression.getText(file))) return
    const comment = /^[ \t)\]},;]*\/\/(.*)/.exec(code.slice(node.end))
    if (comment === null) return
    found.push([file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1, oneLine(comment[1]!)])
  })
  return found
}

/** As the comment has it whose author writes `["a"]` where Node prints `[ 'a' ]`, over several lines if it is long. */
const oneLine = (text: string): string =>
  text
    .replace(/\s+/g, " ")
    .replace(/([[{(]) | (?=[\]})])/g, "$1")
    .replaceAll("'", '"')
    .trim()
