/**
 * What virtual time costs per wake-up, as ratios within one run of this file: to Effect's stock test clock, and to a plain event
 * loop without Effect.
 *
 * `npm run bench -- virtualTime`
 */
import { Clients, Scenario, Service, Simulation, TestTime, VirtualTime } from "@breakwater/simulation"
import { Effect, Fiber, TestClock, TestContext } from "effect"
import { ratio, Table } from "./measure.js"
import { PlainLoop } from "./plainLoop.js"

// -----------------------------------------------------------------------------
// fibers that sleep again and again
// -----------------------------------------------------------------------------

/** The nth sleep of a sleeper, in whole milliseconds: all different enough that few end together. */
const wait = (sleeper: number, sleep: number): number => 1 + ((sleeper * 7919 + sleep * 104_729) % 1000)

const sleepers = (count: number, sleeps: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, sleeper) => sleeper),
    (sleeper) =>
      Effect.gen(function* () {
        for (let sleep = 0; sleep < sleeps; sleep++) yield* Effect.sleep(wait(sleeper, sleep))
      }),
    { concurrency: "unbounded", discard: true }
  )

const adjusted = (count: number, sleeps: number) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(sleepers(count, sleeps))
    yield* TestClock.adjust(sleeps * 1001)
    yield* Fiber.join(fiber)
  })

const plainSleepers = (count: number, sleeps: number) => {
  const loop = new PlainLoop()
  for (let sleeper = 0; sleeper < count; sleeper++) {
    let sleep = 0
    const next = () => {
      if (sleep < sleeps) loop.plan(loop.now + wait(sleeper, sleep++), next)
    }
    next()
  }
  loop.run()
}

const inSimulation = (count: number, sleeps: number) => ({
  run: () => Effect.runSync(VirtualTime.run(sleepers(count, sleeps), { maxSteps: Infinity, maxStepsAtOnce: Infinity })),
  units: count * sleeps
})
const inPlainLoop = (count: number, sleeps: number) => ({ run: () => plainSleepers(count, sleeps), units: count * sleeps })
const inTestTime = (count: number, sleeps: number) => ({
  run: () => Effect.runPromise(Effect.provide(adjusted(count, sleeps), TestTime.layer())),
  units: count * sleeps
})
const inStockClock = (count: number, sleeps: number) => ({
  run: () => Effect.runPromise(Effect.provide(adjusted(count, sleeps), TestContext.TestContext)),
  units: count * sleeps
})

// -----------------------------------------------------------------------------
// memory
// -----------------------------------------------------------------------------

const heapUsed = () => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** Bytes for each of many fibers that all sleep at once, taken while they do. */
const bytesPerFiber = (count: number): number => {
  const before = heapUsed()
  let during = 0
  const look = Effect.delay(
    Effect.sync(() => (during = heapUsed())),
    500
  )
  Effect.runSync(
    VirtualTime.run(
      Effect.zip(
        Effect.forEach(Array.from({ length: count }), () => Effect.sleep(1000), { concurrency: "unbounded", discard: true }),
        look,
        {
          concurrent: true
        }
      )
    )
  )
  return (during - before) / count
}

/** Bytes for each of many clients of a closed loop that all think, taken when the first of them calls again. */
const bytesPerIdleClient = (count: number): number => {
  let during = 0
  const service = Service.make({
    description: "looks at the memory when the second round begins",
    open: () => {
      let calls = 0
      return () =>
        Effect.sync(() => {
          if (++calls === count + 1) during = heapUsed()
        })
    }
  })
  const scenario = Scenario.make({
    name: "idle clients",
    service,
    clients: Clients.closedLoop({ clients: count, think: "1 second" }),
    client: (call) => call,
    until: "1500 millis"
  })
  const before = heapUsed()
  Effect.runSync(Simulation.run(scenario, { seed: 1 }))
  return (during - before) / count
}

// -----------------------------------------------------------------------------
// table
// -----------------------------------------------------------------------------

const table = new Table()

for (const count of [100, 1000]) {
  const {
    quick,
    ratio: times,
    slow
  } = await ratio(inStockClock(count, count === 100 ? 3 : 1), inTestTime(count, count === 100 ? 100 : 20))
  table.row(`stock test clock / ours, per wake-up, ${count} fibers`, times, ">= 200", times >= 200, quick, slow)
}
{
  const { quick, ratio: times, slow } = await ratio(inSimulation(1000, 100), inPlainLoop(1000, 100))
  table.row("ours / plain loop, per wake-up, 1,000 fibers", times, "<= 10", times <= 10, slow, quick)
}
{
  const ours = await ratio(inSimulation(100_000, 5), inSimulation(1000, 100))
  const plain = await ratio(inPlainLoop(100_000, 5), inPlainLoop(1000, 100))
  const growth = ours.ratio / plain.ratio
  table.row("growth from 1,000 to 100,000 fibers, ours / plain loop's", growth, "<= 2.5", growth <= 2.5, ours.slow, plain.slow)
}
table.print()
if (globalThis.gc !== undefined) {
  console.log(`memory: ${Math.round(bytesPerFiber(20_000))} bytes per sleeping fiber`)
  console.log(`memory: ${Math.round(bytesPerIdleClient(20_000))} bytes per idle client, its events in the trace included`)
}
