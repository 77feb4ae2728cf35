import { Storm, TextReport } from "@breakwater/storm"
import * as Metastable from "@breakwater/storm/Metastable"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const [survived, fatal] = Metastable.longestOutage as [Storm.Storm, Storm.Storm]

/** What the first figure of one storm, its recovery, says of the run of another. */
const recoveryIn = (storm: Storm.Storm, { figures }: Storm.Storm) =>
  Effect.runSync(Storm.check({ ...storm, figures })).figures[0]!

describe("the recovery of a storm", () => {
  it("that never comes is no number, so no bound holds for it", () => {
    const { figure, holds, measured } = recoveryIn(fatal, survived)
    assert.isFalse(holds)
    assert.strictEqual(TextReport.measured(figure, measured), "none")
  })

  it("is not taken for one that never comes", () => {
    assert.isFalse(recoveryIn(survived, fatal).holds)
  })
})
