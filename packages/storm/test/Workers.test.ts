import { Simulation } from "@breakwater/simulation"
import * as Source from "@breakwater/storm/Source"
import * as Workers from "@breakwater/storm/Workers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, afterEach, beforeAll, vi } from "vitest"

const fixture = (name: string): Source.Source => ({
  _tag: "Module",
  module: path.join(import.meta.dirname, "fixtures/scenarios.ts"),
  export: name
})

/** In this process, in one go. */
const inProcess = (source: Source.Source, seeds: number) =>
  Effect.runPromise(Effect.flatMap(Source.load(source), (scenario) => Simulation.replicate(scenario, { seeds })))

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "breakwater-workers-"))
const marker = path.join(folder, "marker")

/** Each thread is a message port here. */
const threads = () => process.getActiveResourcesInfo().filter((name) => name === "MessagePort").length
const threadsBefore = threads()

beforeAll(() => {
  process.env["BREAKWATER_TEST_MARKER"] = marker
})
afterEach(async () => {
  fs.rmSync(marker, { force: true })
  await vi.waitFor(() => assert.strictEqual(threads(), threadsBefore, "threads left behind"))
})
afterAll(() => {
  delete process.env["BREAKWATER_TEST_MARKER"]
  fs.rmSync(folder, { recursive: true })
})

// The threads compile the sources before they run them, which takes what it takes.
describe("many seeds over threads", { timeout: 300_000 }, () => {
  it.each([1, 2, 3])("give what one process gives, byte for byte, with %s of them", async (workers) => {
    const told: Array<Workers.Progress> = []
    let most = 0
    const { complete, crashes, part } = await Effect.runPromise(
      Workers.replicate(fixture("calm"), {
        seeds: { from: 1, to: 120 },
        workers,
        onProgress: (progress) =>
          Effect.sync(() => {
            told.push(progress)
            most = Math.max(most, threads() - threadsBefore)
          })
      })
    )
    assert.strictEqual(JSON.stringify(part.summaries), JSON.stringify(await inProcess(fixture("calm"), 120)))
    assert.deepStrictEqual(
      [complete, crashes, part.seeds, part.missing, part.scenario, part.engine, part.generator],
      [true, [], { from: 1, to: 120 }, [], "calm", 2, "sfc32/1"]
    )
    assert.strictEqual(most, workers)
    assert.deepStrictEqual(
      told.map(({ done }) => done),
      told.map(({ done }) => done).sort((a, b) => a - b)
    )
    assert.deepStrictEqual(
      told.slice(-1).map(({ done, secondsLeft, total }) => [done, total, secondsLeft]),
      [[120, 120, 0]]
    )
  })

  it("run a share again whose thread ended, and tell of it", async () => {
    const { complete, crashes, part } = await Effect.runPromise(
      Workers.replicate(fixture("exitsOnce"), { seeds: { from: 1, to: 40 }, workers: 1 })
    )
    assert.isTrue(complete)
    assert.strictEqual(crashes.length, 1)
    assert.strictEqual(crashes[0]!.reason, "exited with code 7")
    assert.strictEqual(JSON.stringify(part.summaries), JSON.stringify(await inProcess(fixture("exitsOnce"), 40)))
  })

  it("give up on a share that crashes every thread", async () => {
    const error = await Effect.runPromise(
      Effect.flip(Workers.replicate(fixture("throwsAlways"), { seeds: { from: 1, to: 40 }, workers: 1 }))
    )
    assert.isTrue(error instanceof Workers.WorkerCrashed)
    assert.match(
      error.message,
      /^The seeds from (\d+) to \1 crashed each of 3 threads, the last one by: a bug of the scenario$/
    )
  })

  it("end at the lowest seed that cannot be run, whichever thread fails first", async () => {
    const source = fixture("reachesForPromises")
    const scenario = await Effect.runPromise(Source.load(source))
    let lowest = 1
    while (Effect.runSync(Effect.isSuccess(Simulation.run(scenario, { seed: lowest })))) lowest++
    let unfinished: Workers.Replicated | undefined
    const error = await Effect.runPromise(
      Effect.flip(
        Workers.replicate(source, {
          // Shares of a few seeds, so the second thread fails too.
          seeds: { from: 1, to: 5000 },
          workers: 2,
          onUnfinished: (done) => Effect.sync(() => (unfinished = done))
        })
      )
    )
    if (error._tag !== "RunFailed") return assert.fail(error.message)
    assert.strictEqual(error.seed, lowest)
    assert.strictEqual(error.error._tag, "RealAsynchrony")
    assert.match(error.message, new RegExp(`^Seed ${lowest}: Real asynchrony at 0 of virtual time: Promise`))
    assert.isUndefined(unfinished)
  })

  it("stop at an interruption, though a thread is stuck, and give what is done without a gap", async () => {
    let unfinished: Workers.Replicated | undefined
    const fiber = Effect.runFork(
      Workers.replicate(fixture("stuck"), {
        seeds: { from: 1, to: 50 },
        workers: 1,
        onUnfinished: (done) => Effect.sync(() => (unfinished = done))
      })
    )
    await vi.waitUntil(() => fs.existsSync(marker), { timeout: 300_000 })
    await Effect.runPromise(Fiber.interrupt(fiber))
    assert.isFalse(unfinished!.complete)
    const { seeds, summaries } = unfinished!.part
    assert.isBelow(seeds.to, 50)
    assert.strictEqual(JSON.stringify(summaries), JSON.stringify(await inProcess(fixture("stuck"), seeds.to)))
  })

  it("tell what is wrong with the source", async () => {
    const error = await Effect.runPromise(
      Effect.flip(Workers.replicate(fixture("clam"), { seeds: { from: 1, to: 40 }, workers: 1 }))
    )
    if (error._tag !== "SourceError") return assert.fail(error.message)
    assert.deepStrictEqual([error.missing, error.source], ["export", fixture("clam")])
    assert.match(error.message, /Did you mean "calm"/)
  })
})

describe("options that are wrong", () => {
  it.each([
    {
      options: { seeds: { from: 1.5, to: 3 } },
      says: "seeds.from must be a whole number, at least -9007199254740991, got 1.5"
    },
    { options: { seeds: { from: 5, to: 3 } }, says: "seeds.to must be a whole number, at least 5, got 3" },
    { options: { seeds: { from: 1, to: 3 }, workers: -1 }, says: "workers must be a whole number, at least 0, got -1" }
  ])("are refused: $says", ({ options, says }) => {
    assert.throws(() => Workers.replicate(fixture("calm"), options), `Workers.replicate: ${says}`)
  })
})
