import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")
const read = (file: string) => readFileSync(join(root, file), "utf8")

it("every case listed in docs/cases.md is named by the tests it names, and the other way round", () => {
  const rows = Array.from(read("docs/cases.md").matchAll(/^\| (C\d+) .*\| (`.*`) +\|$/gm), ([, id, files]) => ({
    id: id!,
    files: Array.from(files!.matchAll(/`([^`]+)`/g), ([, file]) => file!)
  }))
  assert.isAtLeast(rows.length, 33)
  const named = (file: string) => new Set(Array.from(read(file).matchAll(/["`](C\d+): /g), ([, id]) => id!))
  for (const { files, id } of rows) {
    for (const file of files) assert.isTrue(named(file).has(id), `${file} names ${id}`)
  }
  const listed = new Set(rows.map(({ id }) => id))
  for (const file of new Set(rows.flatMap(({ files }) => files))) {
    for (const id of named(file)) assert.isTrue(listed.has(id), `docs/cases.md lists ${id}`)
  }
})
