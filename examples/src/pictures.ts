/**
 * Draws the pictures of the documentation into `docs/pictures`. By hand, after `npm run build`: `npx jiti examples/src/pictures.ts`
 */
import { Charts, SixClients } from "@breakwater/storm"
import { Simulation } from "@breakwater/simulation"
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const folder = join(dirname(fileURLToPath(import.meta.url)), "../../docs/pictures")

const lanes = [SixClients.retryAtOnce, SixClients.exponentialBackoff, SixClients.fullJitter].map(({ id, scenario, seed }) =>
  Effect.map(Simulation.run(scenario, { seed }), (trace) => ({
    file: `storm-${id.toLowerCase()}.svg`,
    svg: Charts.standalone(Charts.lanes(trace))
  }))
)

export const pictures = Effect.all(lanes)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(folder, { recursive: true })
  for (const { file, svg } of Effect.runSync(pictures)) writeFileSync(join(folder, file), svg)
}
