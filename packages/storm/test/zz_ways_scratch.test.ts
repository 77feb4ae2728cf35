import { Storm } from "@breakwater/storm"
import { Effect } from "effect"
import { it } from "@effect/vitest"
import * as fs from "node:fs"
const which = process.env.WHICH!, part = process.env.PART ?? "storms", only = process.env.ONLY?.split(",")
it("x", { timeout: 3000000 }, async () => {
  const module: any = await import(`../src/${which}.ts`)
  for (const storm of module[part].filter((s: any) => only === undefined || only.includes(s.id))) {
    const t0 = performance.now()
    const c = Effect.runSync(Storm.check(storm))
    fs.appendFileSync("/tmp/scratch_out.txt", [storm.id, c.holds ? "ok" : "WRONG", c.figures.map((f) => `[${f.figure.name}: ${f.figure.expected} -> ${f.measured.toFixed(3)} ${f.holds}]`).join(" "), Math.round(performance.now() - t0), "ms"].join(" ") + "\n")
  }
})
