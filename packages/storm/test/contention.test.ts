import { Storm } from "@breakwater/storm"
import * as Contention from "@breakwater/storm/Contention"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const known = new Map<string, Promise<Storm.Checked>>()

/** Each storm is run once, however many questions are asked about it. */
const check = (storm: Storm.Storm): Promise<Storm.Checked> => {
  const checked = known.get(storm.id) ?? Effect.runPromise(Effect.zipRight(Effect.sleep(0), Storm.check(storm)))
  known.set(storm.id, checked)
  return checked
}

describe("the table of strategies by the number of clients, as every day has it", () => {
  it.each(Contention.storms)("$id $title", async (storm) => {
    const { figures } = await check(storm)
    for (const { figure, holds, measured } of figures) {
      assert.isTrue(holds, `${figure.name} must be ${figure.expected}, is ${measured}`)
    }
  })
})

/** What a storm of the table for every day measured. */
const measured = async (id: string, name: string): Promise<number> => {
  const { figures } = await check(Contention.storms.find((storm) => storm.id === id)!)
  return figures.find(({ figure }) => figure.name === name)!.measured
}

describe("at a hundred clients", () => {
  const strategies = ["B1", "B2", "B3", "B4", "B5", "B6"]
  const all = (name: string) => Promise.all(strategies.map((strategy) => measured(`${strategy}-100`, name)))

  it("full jitter has the fewest calls, less than half of those of exponential backoff", async () => {
    const calls = await all("mean calls")
    const [none, exponential, , full] = calls as [number, number, number, number]
    assert.strictEqual(Math.min(...calls), full)
    assert.strictEqual(Math.max(...calls), none)
    assert.closeTo(full / exponential, 0.43, 0.03)
  })

  it("exponential backoff alone takes eight times as long as any jitter, and no backoff less than half as long", async () => {
    const [none, exponential, ...jittered] = (await all("mean time, ms")) as [number, number, ...Array<number>]
    assert.isBelow(none, Math.min(...jittered) / 2)
    assert.isAbove(exponential, 8 * Math.max(...jittered))
  })
})

describe("the table in full", () => {
  it("has every strategy for every number of clients, once", () => {
    const sizes = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 190]
    const cells = [1, 2, 3, 4, 5, 6].flatMap((strategy) => sizes.map((clients) => `B${strategy}-${clients}-full`))
    assert.deepStrictEqual(
      Contention.full.map(({ id }) => id),
      cells
    )
  })

  it("asks of the first, wherever there is one, that it stays below the second", () => {
    const firstIn = (end: string) =>
      Contention.full.filter(({ figures }) => figures.some(({ name }) => name.endsWith(end))).map(({ id }) => id)
    const ids = (strategy: string, clients: ReadonlyArray<number>) => clients.map((count) => `${strategy}-${count}-full`)
    assert.sameMembers(firstIn("the fewest"), [
      ...ids("B5", [10]),
      ...ids("B4", [20, 30, 40, 50, 60, 70, 80, 90, 100, 150]),
      ...ids("B3", [190])
    ])
    assert.sameMembers(firstIn("shortest jittered"), [
      ...ids("B5", [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
      ...ids("B4", [150, 190])
    ])
  })
})
