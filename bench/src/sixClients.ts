/**
 * What the six-client storm costs per run, as ratios within one run of this file: to a plain event loop that records the same
 * events, and to Effect's stock test clock.
 *
 * `npm run bench -- sixClients`
 */
import { RandomStream } from "@breakwater/core"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { Clients, Scenario, Service, Simulation } from "@breakwater/simulation"
import { Effect, Fiber, TestClock, TestContext } from "effect"
import { ratio, Table } from "./measure.js"
import { PlainLoop } from "./plainLoop.js"

const policy = Backoff.exponential({ base: "100 millis", cap: "800 millis" }).pipe(Jitter.full, Limit.attempts(5))

const storm = Scenario.make({
  name: "six clients",
  service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
  clients: Clients.together(6),
  client: Effect.retry(policy),
  until: "2 seconds"
})

/** The same storm without Effect, down to the same events. */
const plainStorm = (seed: number) => {
  const loop = new PlainLoop()
  const events: Array<object> = []
  let inFlight: Array<{ readonly until: number; doomed: boolean }> = []
  for (let client = 0; client < 6; client++) {
    const random = RandomStream.make(seed, "client", client).next
    let attempt = 0
    const start = () => {
      attempt++
      const at = loop.now
      events.push({ _tag: "AttemptStarted", at, client, operation: 0, attempt })
      const call = { until: at + 100_000, doomed: false }
      inFlight = inFlight.filter(({ until }) => until > at)
      inFlight.push(call)
      if (inFlight.length > 4) for (const other of inFlight) other.doomed = true
      events.push({ _tag: "WorkStarted", at, client, operation: 0, attempt, until: call.until })
      loop.plan(call.until, () => end(call.doomed))
    }
    const end = (doomed: boolean) => {
      const at = loop.now
      events.push({ _tag: "AttemptEnded", at, client, operation: 0, attempt, outcome: doomed ? "timed out" : "succeeded" })
      if (doomed && attempt < 5) {
        const most = Math.min(800, 100 * 2 ** (attempt - 1))
        return loop.plan(at + 1000 * Math.floor(random() * (most + 1)), start)
      }
      events.push({ _tag: "OperationEnded", at, client, operation: 0, outcome: doomed ? "gave up" : "succeeded" })
    }
    events.push({ _tag: "OperationStarted", at: 0, client, operation: 0 })
    loop.plan(0, start)
  }
  loop.run(2_000_000)
  return events
}

const seeds = (count: number, run: (seed: number) => unknown) => ({
  run: () => {
    for (let seed = 1; seed <= count; seed++) run(seed)
  },
  units: count
})
const stormInSimulation = seeds(1000, (seed) => Effect.runSync(Simulation.run(storm, { seed })))
const stormInPlainLoop = seeds(3000, plainStorm)
const stormInStockClock = {
  run: () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Simulation.record(storm, { seed: 1 }))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise),
  units: 1
}

const table = new Table()

{
  const { quick, ratio: times, slow } = await ratio(stormInSimulation, stormInPlainLoop)
  table.row("six-client storm, ours / plain loop, per run", times, "<= 40", times <= 40, slow, quick)
}
{
  const { quick, ratio: times, slow } = await ratio(stormInStockClock, stormInSimulation)
  table.row("six-client storm, stock test clock / ours, per run", times, ">= 150", times >= 150, quick, slow)
}
table.print()
