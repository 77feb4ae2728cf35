/** The packages that are published, and which of their modules a user may import. */
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as path from "node:path"

export const root = path.resolve(import.meta.dirname, "../../..")

export interface Package {
  readonly name: string
  readonly folder: string
  /** All modules, open or closed, as paths below `src` without their ending: `Backoff`, `internal/step`. */
  readonly modules: ReadonlyArray<string>
}

const manifestIn = (folder: string): { readonly name: string; readonly private?: boolean } =>
  JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"))

const modulesIn = (folder: string): ReadonlyArray<string> =>
  fs
    .readdirSync(path.join(folder, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.replaceAll(path.sep, "/").slice(0, -".ts".length))
    // The index tells what there is, so it leads.
    .sort((a, b) => Number(b === "index") - Number(a === "index") || (a < b ? -1 : 1))

export const published: ReadonlyArray<Package> = fs
  .readdirSync(path.join(root, "packages"))
  .map((name) => path.join(root, "packages", name))
  .filter((folder) => fs.existsSync(path.join(folder, "package.json")) && manifestIn(folder).private !== true)
  .map((folder) => ({ name: manifestIn(folder).name, folder, modules: modulesIn(folder) }))

/** What a user writes to import a module. */
export const specifier = ({ name }: Package, module: string): string => (module === "index" ? name : `${name}/${module}`)

/** Whether `exports` lets a user import a module. Node itself answers, so nothing here has to read that map as Node does. */
export const isOpen = (pkg: Package, module: string): boolean => {
  try {
    createRequire(path.join(pkg.folder, "package.json")).resolve(specifier(pkg, module))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_PACKAGE_PATH_NOT_EXPORTED") return false
    throw error
  }
}
