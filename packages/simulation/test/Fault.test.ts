import { InvalidOption, RandomStream } from "@breakwater/core"
import { Clients, Fault, Latency, Scenario, Service, Simulation, Trace } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FastCheck from "effect/FastCheck"

const call = (at: number, client = 0, attempt = 1) => ({ client, attempt, at })

const decide = (rules: ReadonlyArray<Fault.Fault>, of: ReturnType<typeof call>, chance = 0.5): string =>
  Fault.decide(
    rules,
    of,
    rules.map(() => ({ chance, delay: 7 }))
  )._tag

describe("which calls does a rule match?", () => {
  it.each([
    { what: "any, where nothing is given", matching: {}, yes: [call(0), call(9e9, 5, 9)], no: [] },
    {
      what: "from an instant to just before another",
      matching: { from: 10, to: 20 },
      yes: [call(10_000), call(19_999)],
      no: [call(9_999), call(20_000)]
    },
    { what: "of some clients", matching: { clients: [1, 3] }, yes: [call(0, 1), call(0, 3)], no: [call(0, 0), call(0, 2)] },
    { what: "some attempts", matching: { attempts: [1] }, yes: [call(0, 0, 1)], no: [call(0, 0, 2)] },
    {
      what: "only where all that is given holds",
      matching: { clients: [1], attempts: [2], from: 10 },
      yes: [call(10_000, 1, 2)],
      no: [call(10_000, 1, 1), call(10_000, 0, 2), call(9_000, 1, 2)]
    },
    { what: "with a probability above the draw", matching: { share: 0.51 }, yes: [call(0)], no: [] },
    { what: "not with one at the draw", matching: { share: 0.5 }, yes: [], no: [call(0)] },
    { what: "none with a share of 0", matching: { share: 0 }, yes: [], no: [call(0)] }
  ])("$what", ({ matching, no, yes }) => {
    for (const each of yes) assert.strictEqual(decide([Fault.drop(matching)], each), "Drop")
    for (const each of no) assert.strictEqual(decide([Fault.drop(matching)], each), "Pass")
  })
})

describe("which rule decides?", () => {
  const rules = [
    Fault.pass({ clients: [0] }),
    Fault.delay(7, { clients: [0, 1] }),
    Fault.fail(Service.refused(503), { clients: [0, 1, 2] }),
    Fault.drop({ clients: [0, 1, 2, 3] })
  ]

  it("the first that matches, in order", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4].map((client) => decide(rules, call(0, client))),
      ["Pass", "Delay", "Fail", "Drop", "Pass"]
    )
  })

  it("for any rules, the same as if those before it did not exist", () => {
    const matching = FastCheck.record({
      from: FastCheck.nat(5),
      to: FastCheck.integer({ min: 6, max: 10 }),
      clients: FastCheck.option(FastCheck.array(FastCheck.nat(2)), { nil: undefined }),
      attempts: FastCheck.option(FastCheck.array(FastCheck.integer({ min: 1, max: 3 })), { nil: undefined }),
      share: FastCheck.double({ min: 0, max: 1, noNaN: true })
    })
    const rule = FastCheck.oneof(
      matching.map(Fault.pass),
      matching.map(Fault.drop),
      matching.map((when) => Fault.fail(Service.timedOut, when))
    )
    const draw = FastCheck.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
    const drawn = FastCheck.array(FastCheck.tuple(rule, draw), { maxLength: 6 })
    const at = FastCheck.nat(10_000)
    FastCheck.assert(
      FastCheck.property(drawn, at, FastCheck.nat(2), FastCheck.integer({ min: 1, max: 3 }), (drawn, at, client, attempt) => {
        const decideAll = (some: typeof drawn) =>
          Fault.decide(
            some.map(([rule]) => rule),
            { at, client, attempt },
            some.map(([, chance]) => ({ chance, delay: 0 }))
          )
        const alone = drawn.find((one) => one[0].action._tag !== "Pass" && decideAll([one])._tag !== "Pass")
        const spared = drawn.findIndex(
          ([{ action, attempts, clients, from, share, to }, chance]) =>
            action._tag === "Pass" &&
            from <= at &&
            at < to &&
            (clients?.includes(client) ?? true) &&
            (attempts?.includes(attempt) ?? true) &&
            chance < share
        )
        const first = alone === undefined ? -1 : drawn.indexOf(alone)
        const expected = first === -1 || (spared !== -1 && spared < first) ? { _tag: "Pass" } : decideAll([alone!])
        assert.deepStrictEqual(decideAll(drawn), expected as Fault.Decision)
      })
    )
  })

  it("draws as many numbers for a call that does not match as for one that does", () => {
    const delay = Fault.delay(Latency.exponential({ mean: 5 }), { clients: [99] })
    const random = RandomStream.make(1, "fault")
    const twin = RandomStream.make(1, "fault")
    Fault.draw(delay, random)
    twin.next()
    twin.next()
    assert.strictEqual(random.next(), twin.next())
  })
})

describe("Service.withFaults", () => {
  const outcomes = (rules: ReadonlyArray<Fault.Fault>, startsAt: ReadonlyArray<number>, seed = 1) => {
    const scenario = Scenario.make({
      name: "faults",
      service: Service.withFaults(Service.capacity({ slots: 1, takes: "10 millis", above: "refuse" }), rules),
      clients: Clients.at(startsAt),
      client: (call) => call,
      until: "1 second"
    })
    return Trace.operations(Effect.runSync(Simulation.run(scenario, { seed }))).map(
      ({ attempts: [first] }) => [first!.outcome, first!.endedAt === undefined ? undefined : first!.endedAt / 1000] as const
    )
  }

  it("passes, delays, fails and drops", () => {
    const rules = [
      Fault.delay("50 millis", { clients: [1] }),
      Fault.fail(Service.timedOut, { clients: [2] }),
      Fault.drop({ clients: [3] })
    ]
    assert.deepStrictEqual(outcomes(rules, [0, 0, 0, 0]), [
      ["succeeded", 10],
      ["succeeded", 60],
      ["timed out", 0],
      [undefined, undefined]
    ])
  })

  it("a delayed call arrives even if its caller has gone, and takes its slot", () => {
    const scenario = Scenario.make({
      name: "late",
      service: Service.withFaults(Service.capacity({ slots: 1, takes: "10 millis", above: "refuse" }), [
        Fault.delay("50 millis", { clients: [0] })
      ]),
      clients: Clients.at([0, 55]),
      client: (call) => Effect.timeoutFail(call, { duration: "20 millis", onTimeout: () => Service.timedOut }),
      until: "1 second"
    })
    const trace = Effect.runSync(Simulation.run(scenario, { seed: 1 }))
    assert.deepStrictEqual(
      Trace.operations(trace).map(({ attempts: [first] }) => [first!.outcome, first!.work / 1000]),
      [
        ["interrupted", 10],
        ["refused 503", 0]
      ]
    )
  })

  it("one rule more moves no draw of another", () => {
    const half = Fault.fail(Service.refused(500), { share: 0.5 })
    const startsAt = Array.from({ length: 40 }, (_, client) => client * 20)
    const alone = outcomes([half], startsAt)
    assert.deepStrictEqual(
      outcomes([half, Fault.delay(Latency.uniform({ min: 1, max: 2 }), { clients: [99] })], startsAt),
      alone
    )
    assert.isTrue(alone.some(([outcome]) => outcome === "succeeded") && alone.some(([outcome]) => outcome === "refused 500"))
  })

  it("names what disturbs: rules with an end, exceptions aside", () => {
    const { description, disturbances } = Service.withFaults(Service.unlimited({ takes: 1 }), [
      Fault.pass({ clients: [0], to: 5 }),
      Fault.drop({ from: 10, to: 20, share: 0.25 }),
      Fault.fail(Service.refused(503), { attempts: [1] })
    ])
    assert.deepStrictEqual(disturbances, [{ from: 10_000, to: 20_000 }])
    assert.include(description, "25 % of calls from 10ms to 20ms get lost; calls in attempts 1 fail with 503")
  })
})

it("refuses windows that end before they begin, and shares that are none", () => {
  assert.throws(() => Fault.drop({ from: 5, to: 5 }), InvalidOption.InvalidOption, "Fault.drop: to must be after from, got 5")
  assert.throws(() => Fault.pass({ share: 1.5 }), InvalidOption.InvalidOption, "Fault.pass: share must be a number from 0 to 1")
})
