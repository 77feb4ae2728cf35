import { Simulation } from "@breakwater/simulation"
import * as OwnStorm from "@breakwater/storm/OwnStorm"
import * as StormFile from "@breakwater/storm/StormFile"
import * as Sweep from "@breakwater/storm/Sweep"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"

const noon = fileURLToPath(new URL("../templates/storm.yaml", import.meta.url))

const points = (values: ReadonlyArray<number>, seeds: number) =>
  Effect.forEach(values, (value) =>
    StormFile.load(noon, { set: { "clients.together": value } }).pipe(
      Effect.flatMap((storm) => OwnStorm.scenario(storm, "full jitter")),
      Effect.flatMap((scenario) => Simulation.replicate(scenario, { seeds })),
      Effect.map((summaries) => ({ value, summaries }))
    )
  ).pipe(Effect.provide(NodeContext.layer), Effect.runPromise)

describe("a sweep", () => {
  it("finds how large a crowd a policy holds", async () => {
    const measured = await points([4, 6, 10, 20], 100)
    const sweep = Sweep.of(measured, { run: "all succeeded", share: 0.95 })
    assert.deepStrictEqual(
      sweep.points.map(({ holds }) => holds),
      [true, true, false, false]
    )
    // Over many runs 72.8 % of those with ten clients succeed, and 0.1 % of those with twenty.
    const { certain, held, value } = sweep.stopsHolding!
    assert.deepStrictEqual([value, certain], [10, true])
    assert.isTrue(held.interval!.low < 0.7278 && 0.7278 < held.interval!.high)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(sweep)), sweep)

    const text = Sweep.table(sweep, { colours: false, parameter: "clients.together" })
    assert.isTrue(
      text.split("\n").every((line) => line.length <= 120),
      text
    )
    assert.notInclude(text, "…")
    assert.match(
      text,
      /Stops holding at clients\.together = 10:\nall succeeded in \d+ % \(.* to .*\), not in at least 95 % of the runs/
    )

    const lenient = Sweep.of(measured.slice(0, 2), { run: "recovered", share: 0.9 })
    assert.isNull(lenient.stopsHolding)
    assert.include(Sweep.table(lenient, { colours: false }), "Holds at all 2 values: recovered in at least 90 % of the runs.")
  })

  it("says where more runs may turn it over", async () => {
    const { points: measured, stopsHolding } = Sweep.of(await points([4, 20], 3), { run: "all succeeded", share: 0.9 })
    // Three runs of three are no proof of 90 %; none of three is one against it.
    assert.deepStrictEqual([measured[0]!.holds, measured[0]!.certain], [true, false])
    assert.deepStrictEqual([stopsHolding!.value, stopsHolding!.certain], [20, true])
  })
})
