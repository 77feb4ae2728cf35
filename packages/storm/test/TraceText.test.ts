import { Clients, Scenario, Service, Simulation } from "@breakwater/simulation"
import * as TraceText from "@breakwater/storm/TraceText"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const textOf = (scenario: Scenario.Scenario): ReadonlyArray<string> =>
  TraceText.of(Effect.runSync(Simulation.run(scenario, { seed: 7 }))).split("\n")

describe("a trace as text", () => {
  it("says what happened to whom, and how many attempts were in flight", () => {
    const scenario = Scenario.make({
      name: "two for one slot",
      service: Service.outage(Service.capacity({ slots: 1, takes: "100 millis", above: "refuse" }), {
        from: "1 second",
        to: "5 seconds",
        how: Service.timedOut
      }),
      clients: Clients.together(2),
      client: (call) => call.pipe(Effect.retry({ times: 1 })),
      until: "2 seconds"
    })
    assert.deepStrictEqual(textOf(scenario), [
      "two for one slot, seed 7",
      "2 clients, 1 slot, watched for 2000 ms, engine 2, sfc32/1",
      "",
      "   time  in flight  client",
      "   0 ms        1/1       1  begins",
      "   0 ms        1/1       1  attempt 1 starts",
      "   0 ms        1/1       1  attempt 1 is worked on for 100 ms",
      "   0 ms        1/1       2  begins",
      "   0 ms        1/1       2  attempt 1 starts",
      "   0 ms        1/1       2  attempt 1 was refused 503 after 0 ms",
      "   0 ms        1/1       2  attempt 2 starts",
      "   0 ms        1/1       2  attempt 2 was refused 503 after 0 ms",
      "   0 ms        1/1       2  gave up after 0 ms",
      " 100 ms        0/1       1  attempt 1 succeeded after 100 ms",
      " 100 ms        0/1       1  succeeded after 100 ms",
      "1000 ms        0/1          --- disturbance begins ---",
      "2000 ms        0/1          --- end of the run ---",
      ""
    ])
  })

  it("counts the operations of clients that have several, and shows fractions of a millisecond where there are any", () => {
    const scenario = Scenario.make({
      name: "loop",
      service: Service.unlimited({ takes: "1500 micros" }),
      clients: Clients.closedLoop({ clients: 1, think: "1 millis", operations: 2 }),
      client: (call) => call,
      until: "1 second"
    })
    const text = textOf(scenario)
    assert.include(text, "   1.500 ms          0       1  operation 1: attempt 1 succeeded after 1.5 ms")
    assert.include(text, "   2.500 ms          1       1  operation 2: begins")
  })

  it("is the same for the same trace", () => {
    const scenario = Scenario.make({
      name: "crowd",
      service: Service.unlimited({ takes: "20 millis" }),
      clients: Clients.openLoop({ rate: 50 }),
      client: (call) => call,
      until: "1 second"
    })
    assert.deepStrictEqual(textOf(scenario), textOf(scenario))
  })
})
