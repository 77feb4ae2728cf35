import { defineConfig } from "vitest/config"

const project = (name: string, root: string, globalSetup: Array<string> = []) => ({
  extends: true as const,
  test: { name, root, include: ["test/**/*.test.ts"], globalSetup }
})

export default defineConfig({
  // The packages of the workspace are read from their sources, so no test depends on a build.
  ssr: { resolve: { conditions: ["@breakwater/source", "node"] } },
  test: {
    // A busy machine is no failure; a test that hangs is one all the same.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      project("core", "packages/core"),
      project("schedule", "packages/schedule"),
      project("resilience", "packages/resilience"),
      project("simulation", "packages/simulation"),
      project("storm", "packages/storm"),
      project("publishing", "packages/publishing", ["test/pack.ts"]),
      project("examples", "examples")
    ]
  }
})
