/**
 * Prints one hash over the traces of every storm under ten seeds, or one where a crowd makes a trace long: equal on every version of
 * Node, or a run is not deterministic.
 */
import { Simulation, Trace } from "../packages/simulation/dist/index.js"
import { Catalogue } from "../packages/storm/dist/index.js"
import { Effect } from "effect"
import { createHash } from "node:crypto"

const hash = createHash("sha256")
for (const { scenario } of Catalogue.storms) {
  for (let seed = 1; seed <= 10; seed++) {
    const trace = Effect.runSync(Simulation.run(scenario, { seed }))
    hash.update(Trace.toText(trace))
    if (trace.events.length > 5000) break
  }
}
console.log(hash.digest("hex"))
