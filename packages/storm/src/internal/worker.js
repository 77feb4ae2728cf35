/**
 * Runs the worker from its source: Node 20 runs no TypeScript, and neither does a thread that a test starts. The compiler puts
 * its own output in the place of this file, so a published package runs none of this.
 */
import { createJiti } from "jiti"
import { fileURLToPath } from "node:url"

const packages = ["core", "schedule", "resilience", "simulation", "storm"]
const sourceOf = (name) => fileURLToPath(new URL(`../../../${name}/src`, import.meta.url))

await createJiti(import.meta.url, {
  alias: Object.fromEntries(packages.map((name) => [`@breakwater/${name}`, sourceOf(name)])),
  nativeModules: ["effect", "@effect"]
}).import("./worker.ts")
