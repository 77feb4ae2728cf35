/** Runs a benchmark by its name: `npm run bench -- virtualTime`. */
const benchmarks: Record<string, () => Promise<unknown>> = {
  outageAmplification: () => import("./outageAmplification.js"),
  policy: () => import("./policy.js"),
  retry: () => import("./retry.js"),
  sixClients: () => import("./sixClients.js"),
  sixClientsParts: () => import("./sixClientsParts.js"),
  virtualTime: () => import("./virtualTime.js"),
  workers: () => import("./workers.js")
}

const name = process.argv[2] ?? ""
const benchmark = benchmarks[name]
if (benchmark === undefined) {
  console.error(`No benchmark "${name}". There are: ${Object.keys(benchmarks).join(", ")}`)
  process.exitCode = 1
} else {
  await benchmark()
}
