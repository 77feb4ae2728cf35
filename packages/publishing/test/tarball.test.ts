import * as attw from "@arethetypeswrong/core"
import * as fs from "node:fs"
import * as path from "node:path"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import { describe, expect, it } from "vitest"
import { imports } from "./apiReport.js"
import { isOpen, published, root } from "./packages.js"
import { tarballs } from "./tarballs.js"

/** The same for all, so that none has a trait of its own by accident. */
const manifestOfAll = {
  license: "MIT",
  type: "module",
  sideEffects: [],
  engines: JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")).engines,
  exports: {
    "./package.json": "./package.json",
    ".": { "@breakwater/source": "./src/index.ts", types: "./dist/index.d.ts", default: "./dist/index.js" },
    "./*": { "@breakwater/source": "./src/*.ts", types: "./dist/*.d.ts", default: "./dist/*.js" },
    "./internal/*": null
  },
  publishConfig: { access: "public" }
}

/** What is no module, and needed all the same: files that a module reads, and what stands in for a compiled file. */
const noModules: Readonly<Record<string, ReadonlyArray<string>>> = {
  "@breakwater/storm": ["src/internal/worker.js", "templates/storm.ts", "templates/storm.yaml"]
}

/** What Are The Types Wrong says of these entries; those behind a wildcard it looks at only if it is told them. */
const wrongTypes = async (tarball: attw.Package, entrypoints: Array<string>) => {
  const analysis = await attw.checkPackage(tarball, { entrypoints })
  if (!analysis.types) return ["no types at all"]
  // The profile "esm-only" of its command: who requires this, or resolves as before Node 16, is not served.
  return analysis.problems.filter(
    (problem) => !("resolutionKind" in problem && /^(node10|node16-cjs)$/.test(problem.resolutionKind))
  )
}

const packageOf = (imported: string): string => /^(@[^/]+\/)?[^/]+/.exec(imported)![0]

describe.each(published)("$name as packed", { timeout: 300_000 }, (pkg) => {
  const file = tarballs[pkg.name]!
  const tarball = attw.createPackageFromTarballData(fs.readFileSync(file))
  const inside = `/node_modules/${pkg.name}`
  const manifest = JSON.parse(tarball.readFile(`${inside}/package.json`))

  it("has what its users need, and nothing else", () => {
    const ofModules = pkg.modules.flatMap((module) => [
      `src/${module}.ts`,
      ...[".js", ".js.map", ".d.ts", ".d.ts.map"].map((end) => `dist/${module}${end}`)
    ])
    expect(
      tarball
        .listFiles()
        .map((name) => path.posix.relative(inside, name))
        .sort(),
      "More files: delete those in dist whose source is gone. Fewer: tsconfig.build.json must list the package"
    ).toEqual(["LICENSE", "README.md", "package.json", ...(noModules[pkg.name] ?? []), ...ofModules].sort())
    expect(tarball.readFile(`${inside}/LICENSE`)).toBe(fs.readFileSync(path.join(root, "LICENSE"), "utf8"))
  })

  it("has a README that stands alone", () => {
    const readme = tarball.readFile(`${inside}/README.md`)
    expect(readme).toContain(`npm install ${pkg.name}`)
    expect(readme).toContain("```ts\n")
    expect(readme, "A relative link leads nowhere on the page of a registry").not.toMatch(/\]\((?!https:)/)
  })

  it("has the manifest that all have, and asks for versions, not for places", () => {
    expect(manifest).toMatchObject(manifestOfAll)
    expect(JSON.stringify(manifest)).not.toMatch(/"(workspace|catalog|file|link):/)
  })

  it("declares what it imports", () => {
    const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    const imported = tarball
      .listFiles(`${inside}/dist`)
      .filter((name) => /\.(js|d\.ts)$/.test(name))
      .flatMap((name) => imports(tarball.readFile(name)))
      .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
    expect(imported.map(packageOf).filter((name) => !declared.includes(name))).toEqual([])
  })

  it("passes publint", async () => {
    const { buffer } = new Uint8Array(fs.readFileSync(file))
    const { messages, pkg: linted } = await publint({ pack: { tarball: buffer }, strict: true })
    expect(messages.map((message) => formatMessage(message, linted, { color: false }))).toEqual([])
  })

  it("has the right types behind every entry", async () => {
    const open = pkg.modules.filter((module) => isOpen(pkg, module))
    expect(
      await wrongTypes(
        tarball,
        open.map((module) => (module === "index" ? "." : `./${module}`))
      )
    ).toEqual([])
    // It does look at the entries it is told, one by one.
    expect(await wrongTypes(tarball, ["./internal/closed"])).toMatchObject([
      { kind: "NoResolution", resolutionKind: "node16-esm" },
      { kind: "NoResolution", resolutionKind: "bundler" }
    ])
  })
})
