import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { folder, pictures } from "../src/pictures.js"

it("the pictures in the documentation are what the code draws today", { timeout: 60_000 }, () => {
  for (const { file, svg } of Effect.runSync(pictures)) {
    assert.strictEqual(readFileSync(join(folder, file), "utf8"), svg, `${file}: draw it again, see examples/src/pictures.ts`)
  }
})
