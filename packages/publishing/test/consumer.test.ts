/** What a user's project gets who installs the packages: here an empty one outside the workspace. */
import { execFile } from "node:child_process"
import * as esbuild from "esbuild"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isOpen, published, root, specifier } from "./packages.js"
import { tarballs } from "./tarballs.js"

const project = fs.mkdtempSync(path.join(os.tmpdir(), "breakwater-consumer-"))
const run = promisify(execFile)

const modules = published.flatMap((pkg) =>
  pkg.modules.map((module) => ({ name: specifier(pkg, module), open: isOpen(pkg, module) }))
)
const everyOpen = modules.filter((module) => module.open).map(({ name }) => name)
/** What is for the tests of a user runs in vitest alone, and vitest's declarations need more than those of ours. */
const forVitest = everyOpen.filter((name) => name.endsWith("/vitest"))
const open = everyOpen.filter((name) => !forVitest.includes(name))
const closed = modules.filter((module) => !module.open).map(({ name }) => name)

beforeAll(async () => {
  const workspace = fs.readFileSync(path.join(root, "pnpm-workspace.yaml"), "utf8")
  // The peers, the optional ones too, at the versions of the workspace.
  const peers = ["effect", "vitest", '"@types/node"'].map((name) => [
    name.replaceAll('"', ""),
    new RegExp(`^ {2}${name}: (\\S+)$`, "m").exec(workspace)![1]!
  ])
  const dependencies = Object.fromEntries(Object.entries(tarballs).map(([name, file]) => [name, `file:${file}`]))
  // Nothing of ours may come from the registry, also where one of our packages asks for another by its version.
  const overrides = Object.fromEntries(Object.keys(tarballs).map((name) => [name, `$${name}`]))
  const manifest = { private: true, type: "module", dependencies: { ...dependencies, ...Object.fromEntries(peers) }, overrides }
  fs.writeFileSync(path.join(project, "package.json"), JSON.stringify(manifest))
  const options = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
  await run("npm", ["install", ...options], { cwd: project }).catch(({ stderr }: { readonly stderr: string }) => {
    throw new Error(`npm could not install the packages (what they depend on, it has to fetch once):\n${stderr}`)
  })
}, 300_000)

afterAll(() => fs.rmSync(project, { recursive: true }))

/** What the compiler says about a file of the project. */
const compile = async (file: string, options: object): Promise<string> => {
  const compilerOptions = {
    target: "ES2022",
    // The declarations of Effect need the DOM's.
    lib: ["ES2022", "DOM"],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    ...options
  }
  const config = path.join(project, `tsconfig.${file}.json`)
  fs.writeFileSync(config, JSON.stringify({ compilerOptions, files: [file] }))
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc")
  const { stdout } = await run(process.execPath, [tsc, "-p", config]).catch((error: { readonly stdout: string }) => error)
  return stdout
}

// Each waits for a process of its own.
describe.concurrent("can a user import every module, and none that is closed?", { timeout: 300_000 }, () => {
  it("closed are what is internal and the commands, no more and no less", () => {
    const meantToBe = modules.map(({ name }) => name).filter((name) => /\/(internal|command)\/|\/bin$/.test(name))
    expect(meantToBe).not.toEqual([])
    expect(closed).toEqual(meantToBe)
  })

  it.each([
    ["NodeNext", "NodeNext"],
    ["ESNext", "Bundler"]
  ])("the compiler, with module %s and moduleResolution %s", async (module, moduleResolution) => {
    const source = [
      ...open.map((name, n) => `export * as open${n} from "${name}"`),
      ...closed.map((name, n) => `// @ts-expect-error\nexport * as closed${n} from "${name}"`)
    ]
    fs.writeFileSync(path.join(project, `${module}.ts`), source.join("\n"))
    expect(await compile(`${module}.ts`, { module, moduleResolution })).toBe("")
  })

  it("vitest, and the compiler for its tests", async () => {
    expect(forVitest).toEqual(["@breakwater/simulation/vitest"])
    fs.writeFileSync(
      path.join(project, "virtual.test.ts"),
      [
        'import { it } from "@breakwater/simulation/vitest"',
        'import { Effect, Fiber, TestClock } from "effect"',
        'it.virtual("moves time by itself", () => Effect.sleep("1 day"))',
        'it.effect("lets the test move it", () =>',
        '  Effect.flatMap(Effect.fork(Effect.sleep("1 day")), (fiber) =>',
        '    Effect.zipRight(TestClock.adjust("1 day"), Fiber.join(fiber))))'
      ].join("\n")
    )
    const relaxed = { module: "NodeNext", moduleResolution: "NodeNext", types: ["node"], skipLibCheck: true }
    expect(await compile("virtual.test.ts", relaxed)).toBe("")
    const vitest = path.join(project, "node_modules/vitest/vitest.mjs")
    const { stdout } = await run(process.execPath, [vitest, "run"], { cwd: project, env: { PATH: process.env["PATH"] } })
    expect(stdout).toMatch(/Tests +2 passed/)
  })

  it("Node", async () => {
    const script = [
      "const outcomes = {}",
      `for (const name of ${JSON.stringify([...open, ...closed])})`,
      '  outcomes[name] = await import(name).then(() => "imported", (error) => error.code ?? String(error))',
      "console.log(JSON.stringify(outcomes))"
    ]
    fs.writeFileSync(path.join(project, "imports.js"), script.join("\n"))
    const { stdout } = await run(process.execPath, ["imports.js"], { cwd: project })
    const all = (names: ReadonlyArray<string>, outcome: string) => names.map((name) => [name, outcome])
    expect(JSON.parse(stdout)).toEqual(
      Object.fromEntries([...all(open, "imported"), ...all(closed, "ERR_PACKAGE_PATH_NOT_EXPORTED")])
    )
  })
})

describe("does a program carry only the modules it uses?", () => {
  it("Backoff and Jitter, out of the index of @breakwater/schedule", async () => {
    const { metafile } = await esbuild.build({
      stdin: { contents: 'export { Backoff, Jitter } from "@breakwater/schedule"', resolveDir: project },
      bundle: true,
      minify: true,
      format: "esm",
      external: ["effect"],
      metafile: true,
      write: false
    })
    const [bundle] = Object.values(metafile.outputs)
    const carried = Object.entries(bundle!.inputs)
      .filter(([file, { bytesInOutput }]) => bytesInOutput > 0 && file !== "<stdin>")
      .map(([file]) => file.replace(/^.*node_modules\/@breakwater\/(.*)\/dist\/(.*)\.js$/, "$1/$2"))
      .filter((module) => !module.startsWith("schedule/internal/"))
    expect(carried.sort()).toEqual([
      "core/Backoff",
      "core/InvalidOption",
      "core/Jitter",
      "schedule/Backoff",
      "schedule/DurationOption",
      "schedule/Jitter"
    ])
    expect(bundle!.bytes, "Beyond the budget. If the new code is worth it, raise it and say why").toBeLessThan(6_500)
  })
})
