import { InvalidOption, RandomStream } from "@breakwater/core"
import { Clients, Distribution, Latency, Scenario, Service, Simulation, Summary, Trace } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect } from "effect"

/** The arrivals of a run, in milliseconds. */
const arrivals = (clients: Clients.Clients, until: number, seed = 1): ReadonlyArray<number> => {
  const times: Array<number> = []
  for (const time of clients.arrivals(RandomStream.make(seed, "arrivals"))) {
    if (time >= until * 1000) break
    times.push(time / 1000)
  }
  return times
}

const trace = (clients: Clients.Clients, until: Duration.DurationInput, takes: Duration.DurationInput = "30 millis") =>
  Effect.runSync(
    Simulation.run(
      Scenario.make({ name: "clients", service: Service.unlimited({ takes }), clients, client: (call) => call, until }),
      { seed: 1 }
    )
  )

describe("when do clients come?", () => {
  it.each([
    { what: "together", clients: Clients.together(3), times: [0, 0, 0] },
    { what: "staggered", clients: Clients.staggered(3, "50 millis"), times: [0, 50, 100] },
    { what: "at given times", clients: Clients.at([0, "1.5 millis", 80]), times: [0, 1.5, 80] },
    { what: "evenly spaced", clients: Clients.evenlySpaced({ rate: 8 }), times: [0, 125, 250, 375, 500, 625, 750, 875] },
    {
      what: "evenly spaced, rounded to the microsecond",
      clients: Clients.evenlySpaced({ rate: 3 }),
      times: [0, 333.333, 666.667]
    },
    {
      what: "in a closed loop, all at once",
      clients: Clients.closedLoop({ clients: 2, think: "1 second" }),
      times: [0, 0]
    }
  ])("$what", ({ clients, times }) => {
    assert.deepStrictEqual(arrivals(clients, 1000), times)
    assert.deepStrictEqual(
      Trace.operations(trace(clients, "1 second"))
        .filter(({ operation }) => operation === 0)
        .map(({ startedAt }) => startedAt / 1000),
      times
    )
  })

  it("in an open loop as a Poisson process: number, variance and gaps within 3.5 standard errors", () => {
    const times = arrivals(Clients.openLoop({ rate: 50 }), 1_000_000)
    const perSecond = new Array<number>(1000).fill(0)
    for (const time of times) perSecond[Math.floor(time / 1000)]!++
    assert.closeTo(times.length, 50_000, 3.5 * Math.sqrt(50_000))
    const variance = Distribution.mean(perSecond.map((count) => (count - 50) ** 2))
    // Of the variance of 1,000 Poisson counts.
    assert.closeTo(variance, 50, 3.5 * Math.sqrt((2 * 50 ** 2 + 50) / 1000))
    const gaps = times.map((time, index) => time - (times[index - 1] ?? 0))
    const beyondTheMean = Distribution.share(gaps, (gap) => gap > 20)
    assert.closeTo(beyondTheMean, Math.exp(-1), 3.5 * Math.sqrt((Math.exp(-1) * (1 - Math.exp(-1))) / times.length))
  })

  it("in a flash crowd at each rate in its time, across the edges too", () => {
    const crowd = Clients.flashCrowd({ rate: 10, spike: 200, from: "2 seconds", to: "3 seconds" })
    const runs = Array.from({ length: 300 }, (_, seed) => arrivals(crowd, 5000, seed))
    for (const [from, to, expected] of [
      [0, 2000, 20],
      [1900, 2000, 1],
      [2000, 2100, 20],
      [2000, 3000, 200],
      [3000, 3100, 1],
      [3000, 5000, 20]
    ] as const) {
      const counts = runs.map((times) => times.filter((time) => from <= time && time < to).length)
      assert.closeTo(Distribution.mean(counts), expected, 3.5 * Math.sqrt(expected / 300), `${from} to ${to} ms`)
    }
    assert.deepStrictEqual(crowd.disturbances, [{ from: 2_000_000, to: 3_000_000 }])
  })

  it("none at or after the end of the run", () => {
    assert.strictEqual(trace(Clients.evenlySpaced({ rate: 100 }), "1 second").clients, 100)
    assert.strictEqual(trace(Clients.at([0, 999.999, 1000, 2000]), "1 second").clients, 2)
  })
})

describe("what does a client in a closed loop do?", () => {
  const startsOf = (clients: Clients.Clients, until: Duration.DurationInput) =>
    Trace.operations(trace(clients, until)).map(({ client, operation, startedAt }) => [client, operation, startedAt / 1000])

  it("begins the next operation when the last is over and it has thought", () => {
    assert.deepStrictEqual(startsOf(Clients.closedLoop({ clients: 1, think: "70 millis" }), "350 millis"), [
      [0, 0, 0],
      [0, 1, 100],
      [0, 2, 200],
      [0, 3, 300]
    ])
  })

  it("stops after its operations", () => {
    const two = Clients.closedLoop({ clients: 2, think: "70 millis", operations: 2 })
    assert.deepStrictEqual(startsOf(two, "1 second"), [
      [0, 0, 0],
      [1, 0, 0],
      [0, 1, 100],
      [1, 1, 100]
    ])
  })

  it("counts its attempts anew in each operation", () => {
    const scenario = Scenario.make({
      name: "retries",
      service: Service.scripted({ takes: "10 millis", script: [[Service.refused(503), "ok"]] }),
      clients: Clients.closedLoop({ clients: 1, think: 0, operations: 3 }),
      client: Effect.retry({ times: 1 }),
      until: "1 second"
    })
    const run = Effect.runSync(Simulation.run(scenario, { seed: 1 }))
    assert.deepStrictEqual(
      Trace.operations(run).map(({ attempts }) => attempts.length),
      [2, 2, 2]
    )
    assert.deepInclude(Summary.of(run), { operations: 3, attempts: 6, retries: 3, succeeded: 3, amplification: 2 })
  })

  it("draws its thinking from a stream of its own: another client more moves no other", () => {
    const of = (clients: number) =>
      startsOf(Clients.closedLoop({ clients, think: Latency.exponential({ mean: "50 millis" }) }), "1 second")
        .filter(([client]) => client === 0)
        .join()
    assert.strictEqual(of(1), of(5))
  })
})

it("takes 100,000 operations without forgetting one", { timeout: 60_000 }, () => {
  const scenario = Scenario.make({
    name: "many",
    service: Service.queue({ servers: 4, takes: Latency.exponential({ mean: "3 millis" }) }),
    clients: Clients.openLoop({ rate: 1000 }),
    client: (call) => call,
    until: "100 seconds"
  })
  const { operations, succeeded, unfinished } = Summary.of(Effect.runSync(Simulation.run(scenario, { seed: 1 })))
  assert.closeTo(operations, 100_000, 3.5 * Math.sqrt(100_000))
  assert.strictEqual(succeeded + unfinished, operations)
  assert.isBelow(unfinished, 50)
})

describe("which clients are refused?", () => {
  it.each([
    [() => Clients.together(0), "Clients.together: count must be a whole number, at least 1, got 0"],
    [() => Clients.staggered(2, Infinity), "Clients.staggered: every must be a finite time, at least 0"],
    [() => Clients.at([10, 5]), "Clients.at: times must be at least 10ms, got 5"],
    [() => Clients.openLoop({ rate: 0 }), "Clients.openLoop: rate must be a finite number above 0, got 0"],
    [() => Clients.evenlySpaced({ rate: Infinity }), "Clients.evenlySpaced: rate must be a finite number above 0"],
    [() => Clients.flashCrowd({ rate: 1, spike: 2, from: 5, to: 5 }), "Clients.flashCrowd: to must be after from, got 5"],
    [() => Clients.closedLoop({ clients: 1, think: 0, operations: 0 }), "Clients.closedLoop: operations must be a whole number"]
  ])("%s", (make, message) => {
    assert.throws(make, InvalidOption.InvalidOption, message)
  })
})
