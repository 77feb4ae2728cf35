/** Builds and packs every package once, for all tests of this project, the way a release does. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { TestProject } from "vitest/node"
import { published, root } from "./packages.js"

declare module "vitest" {
  export interface ProvidedContext {
    /** The tarballs by the name of their package, or what went wrong. */
    readonly packed: { readonly tarballs: Record<string, string> } | { readonly failure: string }
  }
}

export default ({ provide }: TestProject): (() => void) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "breakwater-packed-"))
  try {
    provide("packed", { tarballs: pack(folder) })
  } catch (error) {
    // Thrown here it would keep the tests of every project from running.
    const { message, stdout = "" } = error as Error & { readonly stdout?: string }
    provide("packed", { failure: `${message}\n${stdout}` })
  }
  return () => fs.rmSync(folder, { recursive: true })
}

const pack = (folder: string): Record<string, string> => {
  npm("run", "--silent", "build")
  const which = published.flatMap(({ name }) => ["--filter", name])
  const packed: ReadonlyArray<{ readonly name: string; readonly filename: string }> = JSON.parse(
    npm("run", "--silent", "pnpm", "--", "--recursive", ...which, "pack", "--json", "--pack-destination", folder)
  )
  return Object.fromEntries(packed.map(({ filename, name }) => [name, filename]))
}

const npm = (...args: ReadonlyArray<string>): string =>
  execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: "pipe" })
