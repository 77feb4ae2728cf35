/**
 * The public API of a package as one text for review: per module its declarations as the compiler wrote them, without comments,
 * sorted by name.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as prettier from "prettier"
import ts from "typescript"
import { isOpen, type Package, specifier } from "./packages.js"

export const reportFile = ({ folder }: Package): string => path.join(folder, "api.md")

export const apiReport = async (pkg: Package): Promise<string> => {
  const open = pkg.modules.filter((module) => isOpen(pkg, module))
  const declared = new Map<string, string>()
  const add = (module: string): void => {
    if (declared.has(module)) return
    const text = fs.readFileSync(path.join(pkg.folder, "dist", `${module}.d.ts`), "utf8")
    declared.set(module, text)
    // A closed module that the types of an open one name is as public as they are.
    imports(text)
      .filter((name) => name.startsWith("."))
      .forEach((name) => add(path.posix.join(path.posix.dirname(module), name).replace(/\.js$/, "")))
  }
  open.forEach(add)
  const sections = [...declared].map(([module, text]) => {
    const heading = open.includes(module) ? specifier(pkg, module) : `${module} (closed, named by the types above)`
    return ["", `## ${heading}`, "", "```ts", declarations(text), "```"].join("\n")
  })
  const report = [
    `# API of ${pkg.name}`,
    "",
    "Written by `npm run api`. Review what changes here as a user would.",
    ...sections
  ]
  const file = reportFile(pkg)
  return prettier.format(report.join("\n"), { ...(await prettier.resolveConfig(file)), filepath: file })
}

export const imports = (text: string): ReadonlyArray<string> =>
  ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName)

export const declarations = (text: string): string => {
  const file = ts.createSourceFile("module.d.ts", text, ts.ScriptTarget.Latest, true)
  const printer = ts.createPrinter({ removeComments: true })
  const print = (statement: ts.Statement) => printer.printNode(ts.EmitHint.Unspecified, statement, file)
  const statements = file.statements.filter((statement) => !isExportOfNothing(statement))
  const unnamed = statements.filter((statement) => nameOf(statement) === "").map(print)
  // Stable, so the overloads of a function keep the order in which the compiler tries them.
  const named = statements
    .filter((statement) => nameOf(statement) !== "")
    .sort(byName)
    .map(print)
  return [unnamed.join("\n"), ...named].join("\n\n")
}

/** Imports and re-exports have none, and keep the order of the source. */
const nameOf = (statement: ts.Statement): string =>
  ts.isVariableStatement(statement)
    ? statement.declarationList.declarations[0]!.name.getText()
    : ((statement as ts.DeclarationStatement).name?.getText() ?? "")

/** Not by `localeCompare`, whose order is the machine's. */
const byName = (a: ts.Statement, b: ts.Statement): number => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0)

const isExportOfNothing = (statement: ts.Statement): boolean =>
  ts.isExportDeclaration(statement) &&
  statement.exportClause !== undefined &&
  ts.isNamedExports(statement.exportClause) &&
  statement.exportClause.elements.length === 0
