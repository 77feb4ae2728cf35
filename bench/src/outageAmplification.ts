/**
 * 1,000 calls against a dependency that always fails: how many requests reach it, under the retries of each library.
 *
 * Requests are counted where they arrive. What a library waits is shortened as far as its options allow, since waiting changes no
 * count; everything else stays as the setting says.
 *
 * `npm run bench -- outageAmplification`
 */
import { DEFAULT_MAX_ATTEMPTS, StandardRetryStrategy } from "@smithy/core/retry"
import axios from "axios"
import axiosRetry from "axios-retry"
import { handleAll, retry } from "cockatiel"
import { Retry, RetryBudget } from "@breakwater/resilience"
import { Effect, Schedule } from "effect"
import got from "got"
import ky from "ky"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import pRetry from "p-retry"
import { Agent, request, RetryAgent } from "undici"

const calls = 1000
const callers = 50

/** A way to call a dependency, opened once for all calls, so that what a library shares between calls is shared. */
interface Peer<Dependency> {
  readonly library: string
  /** Whose versions to name. */
  readonly packages: ReadonlyArray<string>
  readonly setting: string
  /** Whether the retries of all calls together are bounded. */
  readonly budget: boolean
  /** Each call of what it returns is one call, and rejects. */
  readonly open: (dependency: Dependency) => () => Promise<unknown>
}

type FailingFunction = () => Promise<never>
type Url = string

const defaults = "its defaults"
const threeAttempts = "3 attempts"

// -----------------------------------------------------------------------------
// ours
// -----------------------------------------------------------------------------

/** Breakwater: three attempts, and a budget of 10 % retries. */
const ours: ReadonlyArray<Peer<FailingFunction>> = [
  {
    library: "@breakwater/resilience, Retry",
    packages: ["@breakwater/resilience"],
    setting: "3 attempts, budget of 10 %",
    budget: true,
    open: (call) => {
      const budget = Effect.runSync(RetryBudget.make(RetryBudget.ratio({ percent: 10, reservePerSecond: 0 })))
      const policy = Retry.retry({ schedule: Schedule.recurs(2), budget, log: false })
      return () => Effect.runPromise(policy(Effect.tryPromise(call)))
    }
  }
]

// -----------------------------------------------------------------------------
// libraries that retry a function
// -----------------------------------------------------------------------------

/**
 * The loop of an SDK client around one strategy, without a wait. Nothing comes between its look at the tokens and its taking some,
 * so which calls get a retry depends on their order, how many do does not.
 */
const smithy = (errorType: "TRANSIENT" | "THROTTLING"): Peer<FailingFunction> => ({
  library: "@smithy/core, StandardRetryStrategy",
  packages: ["@smithy/core"],
  setting: `${defaults} (${DEFAULT_MAX_ATTEMPTS} attempts), errors are ${errorType}`,
  budget: true,
  open: (call) => {
    const strategy = new StandardRetryStrategy({
      maxAttempts: DEFAULT_MAX_ATTEMPTS,
      backoff: { setDelayBase: () => undefined, computeNextBackoffDelay: () => 0 }
    })
    return async () => {
      let token = await strategy.acquireInitialRetryToken("")
      for (;;) {
        try {
          return await call()
        } catch {
          // Rejects where no retry is granted.
          token = await strategy.refreshRetryTokenForRetry(token, { errorType })
        }
      }
    }
  }
})

/** Effect.retry and cockatiel have no number of attempts of their own: without one, they never stop. */
const functions: ReadonlyArray<Peer<FailingFunction>> = [
  ...ours,
  {
    library: "Effect.retry",
    packages: ["effect"],
    setting: threeAttempts,
    budget: false,
    open: (call) => () => Effect.runPromise(Effect.retry(Effect.tryPromise(call), { times: 2 }))
  },
  {
    library: "cockatiel",
    packages: ["cockatiel"],
    setting: threeAttempts,
    budget: false,
    open: (call) => {
      // Retries, whatever the name says.
      const policy = retry(handleAll, { maxAttempts: 2 })
      return () => policy.execute(call)
    }
  },
  {
    library: "p-retry",
    packages: ["p-retry"],
    setting: defaults,
    budget: false,
    open: (call) => () => pRetry(call, { minTimeout: 0 })
  },
  {
    library: "p-retry",
    packages: ["p-retry"],
    setting: threeAttempts,
    budget: false,
    open: (call) => () => pRetry(call, { retries: 2, minTimeout: 0 })
  },
  smithy("TRANSIENT"),
  smithy("THROTTLING")
]

// -----------------------------------------------------------------------------
// HTTP clients, with GET
// -----------------------------------------------------------------------------

/** The same client at its own number of attempts and at three in all. */
const twice = (
  library: string,
  packages: ReadonlyArray<string>,
  open: (retries: number | undefined) => Peer<Url>["open"]
): ReadonlyArray<Peer<Url>> => [
  { library, packages, setting: defaults, budget: false, open: open(undefined) },
  { library, packages, setting: threeAttempts, budget: false, open: open(2) }
]

const clients: ReadonlyArray<Peer<Url>> = [
  ...twice("got", ["got"], (limit) => (url) => {
    // A wait of 0 would mean no retry.
    const client = got.extend({ retry: { ...(limit !== undefined && { limit }), backoffLimit: 1, noise: 0 } })
    return () => client(url)
  }),
  ...twice("ky", ["ky"], (limit) => (url) => {
    const client = ky.create({ retry: { ...(limit !== undefined && { limit }), delay: () => 0 } })
    return () => client(url)
  }),
  ...twice("undici, RetryAgent", ["undici"], (maxRetries) => (url) => {
    const dispatcher = new RetryAgent(new Agent(), { ...(maxRetries !== undefined && { maxRetries }), minTimeout: 0 })
    return () => request(url, { dispatcher })
  }),
  ...twice("axios-retry with axios", ["axios-retry", "axios"], (retries) => (url) => {
    const client = axios.create()
    // Waits for nothing by default.
    axiosRetry(client, { ...(retries !== undefined && { retries }) })
    return () => client.get(url)
  })
]

// -----------------------------------------------------------------------------
// counting
// -----------------------------------------------------------------------------

/** All calls, by callers that each make one after the other. */
const callAll = (call: () => Promise<unknown>) =>
  Promise.all(
    Array.from({ length: callers }, async () => {
      for (let n = 0; n < calls / callers; n++) {
        const failed = await call().then(
          () => false,
          () => true
        )
        if (!failed) throw new Error("A call succeeded, though the dependency always fails")
      }
    })
  )

const requestsToFunction = async ({ open }: Peer<FailingFunction>): Promise<number> => {
  let requests = 0
  const call = open(() => {
    requests++
    return Promise.reject(new Error("unavailable"))
  })
  await callAll(call)
  return requests
}

const requestsToServer = async ({ open }: Peer<Url>): Promise<number> => {
  let requests = 0
  const server = createServer((_, response) => {
    requests++
    response.writeHead(503).end()
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  await callAll(open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`))
  server.close()
  server.closeAllConnections()
  return requests
}

// -----------------------------------------------------------------------------
// table
// -----------------------------------------------------------------------------

const version = (name: string): string =>
  (JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8")) as { version: string })
    .version

const printTable = async <Dependency>(
  peers: ReadonlyArray<Peer<Dependency>>,
  count: (peer: Peer<Dependency>) => Promise<number>
): Promise<void> => {
  const rows = [["library", "version", "setting", "calls", "requests", "amplification", "retry budget"]]
  for (const peer of peers) {
    const requests = await count(peer)
    if (requests < calls) throw new Error(`Only ${requests} requests of ${calls} calls by ${peer.library}`)
    rows.push([
      peer.library,
      peer.packages.map(version).join(" with "),
      peer.setting,
      calls.toLocaleString("en"),
      requests.toLocaleString("en"),
      (requests / calls).toFixed(3),
      peer.budget ? "yes" : "no"
    ])
  }
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const print = (cells: ReadonlyArray<string>) =>
    console.log(`| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`)
  print(rows[0]!)
  print(widths.map((width) => "-".repeat(width)))
  rows.slice(1).forEach(print)
}

console.log("A function that always rejects:\n")
await printTable(functions, requestsToFunction)
console.log("\nGET from a server on loopback that always answers 503:\n")
await printTable(clients, requestsToServer)
console.log(`\nNode ${process.version}`)
