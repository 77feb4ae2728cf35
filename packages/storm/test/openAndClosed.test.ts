import * as OpenAndClosed from "@breakwater/storm/OpenAndClosed"
import * as Storm from "@breakwater/storm/Storm"
import { Clients, Service } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

describe("the figures of many runs", () => {
  const seeds: Array<number> = []
  const storm = OpenAndClosed.manyRuns({
    id: "X",
    title: "Three runs",
    lesson: "",
    policy: "",
    source: "",
    service: Service.unlimited({ takes: "1 millis" }),
    clients: Clients.openLoop({ rate: 100 }),
    client: (call) => call,
    until: "1 second",
    runs: 3,
    each: ({ clients, seed }) => {
      seeds.push(seed)
      return clients
    },
    figures: (of) => [
      Storm.exactly(
        "runs",
        3,
        of((runs) => runs.length)
      ),
      Storm.exactly(
        "runs that differ",
        3,
        of((runs) => new Set(runs).size)
      )
    ]
  })

  it("are those of the seeds from 1 on, each run once", async () => {
    const { holds } = await Effect.runPromise(Storm.check(storm))
    assert.isTrue(holds)
    assert.deepStrictEqual(seeds, [1, 2, 3])
  })
})
