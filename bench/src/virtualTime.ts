/**
 * What virtual time costs per wake-up and per run, as ratios within one run of this file: to Effect's stock test clock, and to a
 * plain event loop without Effect.
 *
 * `npm run bench -- virtualTime`
 */
import { RandomStream } from "@breakwater/core"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { Clients, Scenario, Service, Simulation, TestTime, VirtualTime } from "@breakwater/simulation"
import { Effect, Fiber, TestClock, TestContext } from "effect"
import { ratio } from "./measure.js"
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
// the six-client storm
// -----------------------------------------------------------------------------

const policy = Backoff.exponential({ base: "100 millis", cap: "800 millis" }).pipe(Jitter.full, Limit.attempts(5))

const storm = Scenario.make({
  name: "six clients",
  service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
  clients: Clients.together(6),
  client: Effect.retry(policy),
  until: "2 seconds"
})

const plainStorm = (seed: number) => {
  const loop = new PlainLoop()
  let inFlight: Array<{ readonly until: number; doomed: boolean }> = []
  for (let client = 0; client < 6; client++) {
    const random = RandomStream.make(seed, "client", client).next
    let attempts = 0
    const attempt = () => {
      attempts++
      const call = { until: loop.now + 100, doomed: false }
      inFlight = inFlight.filter(({ until }) => until > loop.now)
      inFlight.push(call)
      if (inFlight.length > 4) for (const other of inFlight) other.doomed = true
      loop.plan(call.until, () => {
        if (!call.doomed || attempts === 5) return
        const most = Math.min(800, 100 * 2 ** (attempts - 1))
        loop.plan(loop.now + Math.floor(random() * (most + 1)), attempt)
      })
    }
    loop.plan(0, attempt)
  }
  loop.run(2000)
}

const seeds = (count: number, run: (seed: number) => unknown) => ({
  run: () => {
    for (let seed = 1; seed <= count; seed++) run(seed)
  },
  units: count
})
const stormInSimulation = seeds(300, (seed) => Effect.runSync(Simulation.run(storm, { seed })))
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

// -----------------------------------------------------------------------------
// table
// -----------------------------------------------------------------------------

const rows: Array<{ measured: string; ratio: string; target: string; met: string; ours: string; other: string }> = []

const row = (measured: string, value: number, target: string, met: boolean, ours = NaN, other = NaN) => {
  const micros = (number: number) => (Number.isNaN(number) ? "" : `${number.toPrecision(3)} us`)
  rows.push({
    measured,
    ratio: value.toPrecision(3),
    target,
    met: met ? "yes" : "NO",
    ours: micros(ours),
    other: micros(other)
  })
}

for (const count of [100, 1000]) {
  const { quick, ratio: times, slow } = await ratio(inStockClock(count, count === 100 ? 3 : 1), inTestTime(count, count === 100 ? 100 : 20))
  row(`stock test clock / ours, per wake-up, ${count} fibers`, times, ">= 200", times >= 200, quick, slow)
}
{
  const { quick, ratio: times, slow } = await ratio(inSimulation(1000, 100), inPlainLoop(1000, 100))
  row("ours / plain loop, per wake-up, 1,000 fibers", times, "<= 10", times <= 10, slow, quick)
}
{
  const ours = await ratio(inSimulation(100_000, 5), inSimulation(1000, 100))
  const plain = await ratio(inPlainLoop(100_000, 5), inPlainLoop(1000, 100))
  const growth = ours.ratio / plain.ratio
  row("growth from 1,000 to 100,000 fibers, ours / plain loop's", growth, "<= 2.5", growth <= 2.5, ours.slow, plain.slow)
}
{
  const { quick, ratio: times, slow } = await ratio(stormInSimulation, stormInPlainLoop)
  row("six-client storm, ours / plain loop, per run", times, "<= 40", times <= 40, slow, quick)
}
{
  const { quick, ratio: times, slow } = await ratio(stormInStockClock, stormInSimulation)
  row("six-client storm, stock test clock / ours, per run", times, ">= 150", times >= 150, quick, slow)
}
console.table(rows)
if (globalThis.gc !== undefined) console.log(`memory: ${Math.round(bytesPerFiber(20_000))} bytes per sleeping fiber`)
console.log(`Node ${process.version}, median of five`)
