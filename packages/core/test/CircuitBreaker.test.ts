import { CircuitBreaker } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"

/** A breaker that is driven by hand: its open durations double from one opening to the next, and start anew when it closes. */
class Driven {
  private readonly rules: CircuitBreaker.Rules
  state: CircuitBreaker.State
  readonly history: Array<string> = []
  private opened = 0

  constructor(
    options: Partial<CircuitBreaker.Options> & { readonly tripPolicies: ReadonlyArray<CircuitBreaker.TripPolicy> },
    private readonly openFor: number,
    private readonly factor = 1
  ) {
    this.rules = CircuitBreaker.make(options)
    this.state = this.rules.initial()
  }

  private duration(): number {
    return this.openFor * this.factor ** this.opened
  }

  private change(state: CircuitBreaker.State, now: number): void {
    if (state._tag !== this.state._tag || state.generation !== this.state.generation) this.history.push(`${now} ${state._tag}`)
    if (state._tag === "Open" && this.state.generation !== state.generation) this.opened++
    if (state._tag === "Closed") this.opened = 0
    this.state = state
  }

  look(now: number): CircuitBreaker.StateName {
    this.change(this.rules.look(this.state, now, this.duration()), now)
    return this.state._tag
  }

  admit(now: number, chance = 0): CircuitBreaker.Ticket | number {
    const admission = this.rules.admit(this.state, now, chance, this.duration())
    this.change(admission.state, now)
    return admission._tag === "Admitted" ? admission.ticket : admission.retryAfter
  }

  settle(ticket: CircuitBreaker.Ticket | number, outcome: CircuitBreaker.Outcome, now: number, latency = 0): void {
    if (typeof ticket === "number") assert.fail("A rejected call cannot settle")
    this.change(this.rules.settle(this.state, ticket, outcome, latency, { now, openFor: this.duration() }), now)
  }

  /** A call that settles at once. */
  call(outcome: CircuitBreaker.Outcome, now: number, latency = 0): boolean {
    const ticket = this.admit(now)
    if (typeof ticket === "number") return false
    this.settle(ticket, outcome, now, latency)
    return true
  }

  isolate(now: number): void {
    this.change(this.rules.isolate(this.state), now)
  }
  disable(now: number): void {
    this.change(this.rules.disable(this.state), now)
  }
  reset(now: number): void {
    this.change(this.rules.reset(this.state), now)
  }
}

const consecutive = (failures: number, openFor: number, options: Partial<CircuitBreaker.Options> = {}, factor = 1) =>
  new Driven({ tripPolicies: [CircuitBreaker.consecutive(failures)], ...options }, openFor, factor)

/** Half-open since its open duration was over, at `openFor`. */
const halfOpen = (openFor: number, options: Partial<CircuitBreaker.Options> = {}, factor = 1) => {
  const breaker = consecutive(1, openFor, options, factor)
  breaker.call("failure", 0)
  assert.strictEqual(breaker.look(openFor), "HalfOpen")
  return breaker
}

describe("half-open", () => {
  it("C55: of three callers one is the probe; its failure opens again, for longer", () => {
    const breaker = halfOpen(60_000, {}, 2)
    const [probe, second, third] = [breaker.admit(60_000), breaker.admit(60_000), breaker.admit(60_000)]
    assert.deepStrictEqual([typeof probe, second, third], ["object", 0, 0])
    breaker.settle(probe, "failure", 60_010)
    assert.strictEqual(breaker.admit(60_020), 119_990)
    assert.strictEqual(breaker.look(180_009), "Open")
    assert.strictEqual(breaker.look(180_010), "HalfOpen")
  })

  it("C56: a probe that is cancelled frees its place, and counts as neither", () => {
    const breaker = halfOpen(5000)
    const probe = breaker.admit(7000)
    assert.strictEqual(breaker.admit(7500), 0)
    breaker.settle(probe, "ignored", 8000)
    assert.isTrue(breaker.call("success", 8001))
    assert.strictEqual(breaker.look(8001), "Closed")
  })

  it("C57: an ignored error on the last probe frees its place, too", () => {
    const breaker = halfOpen(1000, { probes: 5 })
    for (let call = 0; call < 4; call++) breaker.call("success", 1000)
    breaker.call("ignored", 1000)
    assert.strictEqual(breaker.look(1000), "HalfOpen")
    assert.isTrue(breaker.call("success", 1000))
    assert.strictEqual(breaker.look(1000), "Closed")
  })

  it("C58: the minimum of calls belongs to the closed state; a probe that fails opens at once", () => {
    const tripPolicies = [CircuitBreaker.failureRate({ threshold: 0.5, minimumCalls: 5, over: { calls: 10 } })]
    const breaker = new Driven({ tripPolicies }, 1000)
    for (let call = 0; call < 5; call++) breaker.call("failure", 0)
    breaker.look(1000)
    breaker.call("failure", 1000)
    assert.strictEqual(breaker.look(1000), "Open")
  })

  it("C60: a failure among the probes opens at once, and the later ones are refused", () => {
    const breaker = halfOpen(1000, { probes: 3 })
    breaker.call("failure", 1000)
    assert.deepStrictEqual(
      [1, 2, 3].map((after) => breaker.call("success", 1000 + after)),
      [false, false, false]
    )
  })

  it("C61: its successes are forgotten when it opens again", () => {
    const breaker = halfOpen(1000, { probes: 2 })
    breaker.call("success", 1000)
    breaker.call("failure", 1000)
    breaker.look(2000)
    breaker.call("success", 2000)
    assert.strictEqual(breaker.look(2000), "HalfOpen")
    breaker.call("success", 2000)
    assert.strictEqual(breaker.look(2000), "Closed")
  })

  it("a probe that hangs has failed when its limit is over, and its late success changes nothing", () => {
    const breaker = halfOpen(1000, { probeLimit: 500 })
    const hung = breaker.admit(1000)
    assert.strictEqual(breaker.admit(1499), 0)
    assert.strictEqual(breaker.admit(1500), 1000)
    breaker.settle(hung, "success", 1600)
    assert.strictEqual(breaker.look(1600), "Open")
    assert.strictEqual(breaker.look(2500), "HalfOpen")
  })

  it("may be judged by a share", () => {
    const breaker = halfOpen(1000, { probes: 4, probeFailures: 0.5 })
    for (const outcome of ["failure", "failure", "success"] as const) breaker.call(outcome, 1000)
    assert.strictEqual(breaker.look(1000), "HalfOpen")
    breaker.call("success", 1000)
    assert.strictEqual(breaker.look(1000), "Closed")
  })
})

describe("counting", () => {
  it("C59: failures together open once", () => {
    const breaker = consecutive(5, 1000)
    const tickets = Array.from({ length: 6 }, () => breaker.admit(0))
    for (const ticket of tickets) breaker.settle(ticket, "failure", 0)
    breaker.look(1000)
    assert.deepStrictEqual(breaker.history, ["0 Open", "1000 HalfOpen"])
  })

  const overTime = (threshold: number, minimumCalls: number, time: number) => [
    CircuitBreaker.failureRate({ threshold, minimumCalls, over: { time } })
  ]

  it("C62: a pause clears the window, however long it was", () => {
    for (const pause of [10_000, 86_400_000]) {
      const breaker = new Driven({ tripPolicies: overTime(1, 11, 10_000) }, 1000)
      for (let second = 0; second < 10; second++) breaker.call("failure", second * 1000)
      // Eleven failures in the window would open.
      breaker.call("failure", 9000 + pause)
      assert.strictEqual(breaker.look(9000 + pause), "Closed")
    }
  })

  it("C63: the call that turns the bucket counts", () => {
    const breaker = new Driven({ tripPolicies: overTime(0.1, 2, 10_000) }, 1000)
    breaker.call("success", 0)
    breaker.call("success", 100)
    breaker.call("failure", 1100)
    assert.deepStrictEqual(breaker.history, ["1100 Open"])
  })

  it("C64: failures that are far apart do not add up", () => {
    const tripPolicies = [CircuitBreaker.failures({ failures: 3, window: 5000 })]
    const sparse = new Driven({ tripPolicies }, 1000)
    for (const at of [0, 4000, 8000, 12_000]) sparse.call("failure", at)
    assert.strictEqual(sparse.look(12_000), "Closed")
    const dense = new Driven({ tripPolicies }, 1000)
    for (const at of [0, 4000, 4999]) dense.call("failure", at)
    assert.strictEqual(dense.look(4999), "Open")
  })

  it("C65: a new life begins with nothing, the probes are not in it", () => {
    const tripPolicies = [CircuitBreaker.failureRate({ threshold: 0.5, minimumCalls: 4, over: { calls: 4 } })]
    const breaker = new Driven({ tripPolicies, probes: 5, probeFailures: 0.5 }, 1000)
    for (let call = 0; call < 4; call++) breaker.call("failure", 0)
    breaker.look(1000)
    for (const outcome of ["success", "success", "success", "failure", "failure"] as const) breaker.call(outcome, 1000)
    assert.strictEqual(breaker.look(1000), "Closed")
    for (const outcome of ["success", "success", "failure"] as const) breaker.call(outcome, 1000)
    assert.strictEqual(breaker.look(1000), "Closed")
    breaker.call("failure", 1000)
    assert.strictEqual(breaker.look(1000), "Open")
  })

  it("a success ends a row of failures, an ignored call does not", () => {
    const breaker = consecutive(2, 1000)
    for (const outcome of ["failure", "success", "failure", "ignored"] as const) breaker.call(outcome, 0)
    assert.strictEqual(breaker.look(0), "Closed")
    breaker.call("failure", 0)
    assert.strictEqual(breaker.look(0), "Open")
  })

  it("calls that are too slow open, though they succeed", () => {
    const tripPolicies = [CircuitBreaker.slowCallRate({ threshold: 0.5, minimumCalls: 4, over: { calls: 4 }, slowerThan: 100 })]
    const breaker = new Driven({ tripPolicies }, 1000)
    for (const latency of [100, 100, 101]) breaker.call("success", 0, latency)
    breaker.call("failure", 0, 5)
    assert.strictEqual(breaker.look(0), "Closed")
    breaker.call("success", 0, 500)
    assert.strictEqual(breaker.look(0), "Open")
  })

  it("any of several policies opens, and each of them sees every call", () => {
    const tripPolicies = [
      CircuitBreaker.consecutive(3),
      CircuitBreaker.failureRate({ threshold: 0.5, minimumCalls: 6, over: { calls: 6 } })
    ]
    const breaker = new Driven({ tripPolicies }, 1000)
    for (const outcome of ["failure", "success", "failure", "success", "success", "failure"] as const) breaker.call(outcome, 0)
    assert.strictEqual(breaker.look(0), "Open")
  })
})

describe("by hand", () => {
  it("C67: an isolated breaker stays so until it is reset, whatever time was running", () => {
    const breaker = consecutive(1, 30_000)
    breaker.call("failure", 0)
    breaker.isolate(1000)
    for (const at of [30_000, 1e7]) assert.deepStrictEqual([breaker.look(at), breaker.admit(at)], ["Isolated", Infinity])
    breaker.reset(1e7)
    assert.strictEqual(breaker.look(1e9), "Closed")
  })

  it("C67: a disabled one lets everything through, and nothing that fails opens it", () => {
    const breaker = consecutive(1, 30_000)
    breaker.disable(0)
    for (let call = 0; call < 10; call++) assert.isTrue(breaker.call("failure", call))
    assert.strictEqual(breaker.look(1e7), "Disabled")
  })

  it("C68: late failures of calls from before announce nothing and prolong nothing", () => {
    const breaker = consecutive(2, 1000)
    const tickets = Array.from({ length: 5 }, () => breaker.admit(0))
    tickets.forEach((ticket, index) => breaker.settle(ticket, "failure", 10 * (index + 1)))
    assert.deepStrictEqual(breaker.history, ["20 Open"])
    assert.strictEqual(breaker.look(1019), "Open")
    assert.strictEqual(breaker.look(1020), "HalfOpen")
  })
})

describe("written down and read back", () => {
  const rules = CircuitBreaker.make({ tripPolicies: [CircuitBreaker.consecutive(1)] })

  it("C95: what is left of being open is what is left of it by the wall clock", () => {
    const X = 1_767_614_400_000
    const open = rules.settle(rules.initial(), { generation: 0, probe: undefined }, "failure", 0, { now: 500, openFor: 30_000 })
    const saved = rules.save(open, 500, X)
    assert.deepStrictEqual(saved, { state: "open", until: X + 30_000 })
    assert.strictEqual(rules.restore(saved, 7, X + 45_000)._tag, "HalfOpen")
    const rest = rules.restore(saved, 7, X + 10_000)
    assert.deepStrictEqual([rest._tag, rest._tag === "Open" && rest.until], ["Open", 7 + 20_000])
  })

  it("closed, isolated and disabled are what they were", () => {
    for (const state of [rules.initial(), rules.isolate(rules.initial()), rules.disable(rules.initial())]) {
      assert.strictEqual(rules.restore(rules.save(state, 0, 0), 5, 5)._tag, state._tag)
    }
  })
})

describe("a ramp", () => {
  it("lets a growing share through after the breaker has closed, not before it has ever opened", () => {
    const breaker = consecutive(1, 1000, { ramp: 100 })
    assert.strictEqual(typeof breaker.admit(0, 0.99), "object")
    breaker.call("failure", 0)
    breaker.look(1000)
    breaker.call("success", 1000)
    const admitted = (at: number, chance: number) => typeof breaker.admit(at, chance) === "object"
    assert.deepStrictEqual(
      [admitted(1000, 0), admitted(1050, 0.49), admitted(1050, 0.5), admitted(1099, 0.98), admitted(1100, 0.999)],
      [false, true, false, true, true]
    )
  })
})

describe("every interleaving of calls, time and hands", () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant("admit" as const), chance: fc.double({ min: 0, max: 0.999, noNaN: true }) })
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("settle" as const),
        which: fc.nat(50),
        outcome: fc.constantFrom<CircuitBreaker.Outcome>("success", "failure", "ignored"),
        latency: fc.nat(200)
      })
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant("pass" as const), time: fc.constantFrom(0, 1, 10, 99, 100, 101, 1000, 1e6) })
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constantFrom("isolate" as const, "disable" as const, "reset" as const, "restore" as const)
      })
    }
  )
  const options = fc.record({
    probes: fc.integer({ min: 1, max: 4 }),
    probeFailures: fc.constantFrom(0, 0.25, 0.5, 1),
    probeLimit: fc.constantFrom(50, 1000, Infinity),
    ramp: fc.constantFrom(0, 100),
    tripPolicies: fc.subarray(
      [
        CircuitBreaker.consecutive(2),
        CircuitBreaker.failures({ failures: 3, window: 150 }),
        CircuitBreaker.failureRate({ threshold: 0.5, minimumCalls: 2, over: { calls: 5 } }),
        CircuitBreaker.slowCallRate({ threshold: 0.5, minimumCalls: 2, over: { time: 300 }, slowerThan: 100 })
      ],
      { minLength: 1 }
    )
  })

  it("keeps its promises", () => {
    let interleavings = 0
    fc.assert(
      fc.property(options, fc.array(step, { minLength: 10, maxLength: 80, size: "max" }), (given, steps) => {
        const rules = CircuitBreaker.make(given)
        let state = rules.initial()
        let now = 0
        let held: Array<CircuitBreaker.Ticket> = []
        const openFor = 100
        for (const next of steps) {
          interleavings++
          const before = state
          if (next.do === "pass") now += next.time
          else if (next.do === "admit") {
            const admission = rules.admit(state, now, next.chance, openFor)
            state = admission.state
            if (admission._tag === "Admitted") held.push(admission.ticket)
            // A rejection says for how long; only somebody's hand, or the verdict of the probes, has no time.
            else assert.isTrue(admission.retryAfter > 0 || state._tag === "HalfOpen")
            // An isolated breaker admits nothing, a disabled one everything.
            if (state._tag === "Isolated") assert.strictEqual(admission._tag, "Rejected")
            if (state._tag === "Disabled") assert.strictEqual(admission._tag, "Admitted")
            if (state._tag === "Open") assert.isBelow(now, state.until)
          } else if (next.do === "settle" && held.length > 0) {
            const [ticket] = held.splice(next.which % held.length, 1)
            state = rules.settle(state, ticket!, next.outcome, next.latency, { now, openFor })
            // What an older generation has admitted changes nothing but what time changes anyway.
            const looked = rules.look(before, now, openFor)
            if (ticket!.generation !== looked.generation) assert.deepStrictEqual(state, looked)
            // A ticket that settles a second time changes nothing.
            if (state._tag === "HalfOpen") {
              assert.deepStrictEqual(rules.settle(state, ticket!, next.outcome, next.latency, { now, openFor }), state)
            }
          } else if (next.do === "isolate") state = rules.isolate(state)
          else if (next.do === "disable") state = rules.disable(state)
          else if (next.do === "reset") state = rules.reset(state)
          else if (next.do === "restore") {
            const restored = rules.restore(rules.save(state, now, 1e12 + now), now, 1e12 + now)
            // Written down and read back at the same instant, it is what it was; its calls are of another life.
            assert.strictEqual(restored._tag, rules.look(state, now, openFor)._tag === "HalfOpen" ? "HalfOpen" : restored._tag)
            state = restored
            held = []
          }
          // A generation is never taken back, and a change of state is a new one.
          if (next.do !== "restore") {
            assert.isAtLeast(state.generation, before.generation)
            if (state._tag !== before._tag) assert.isAbove(state.generation, before.generation)
          }
          if (state._tag === "HalfOpen") {
            // Never more probes than allowed, and every one that is under way is held by somebody.
            const { failed, generation, probing, succeeded } = state
            assert.isAtMost(probing.size + succeeded + failed, given.probes)
            const mine = held.filter((ticket) => ticket.generation === generation).map(({ probe }) => probe)
            assert.deepStrictEqual(new Set(mine), new Set(probing.keys()))
          }
        }
        // Never open for ever without a look: left alone long enough, it lets a call through, unless somebody forbade it.
        const later = rules.look(rules.look(state, now + 1e7, openFor), now + 2e7, openFor)
        if (later._tag !== "Isolated" && (given.probeLimit < Infinity || later._tag !== "HalfOpen")) {
          assert.strictEqual(rules.admit(later, now + 2e7, 0.999, openFor)._tag, "Admitted")
        }
      }),
      { numRuns: 4000 }
    )
    assert.isAtLeast(interleavings, 100_000)
  })
})

describe("wrong options", () => {
  const make = (options: Partial<CircuitBreaker.Options>) => () => CircuitBreaker.make({ tripPolicies: [], ...options })
  it.each<[() => unknown, string]>([
    [make({ probes: 0 }), "CircuitBreaker.make: probes must be a whole number, at least 1, or Infinity, got 0"],
    [make({ probeFailures: 2 }), "CircuitBreaker.make: probeFailures must be a number from 0 to 1, got 2"],
    [make({ ramp: -1 }), "CircuitBreaker.make: ramp must be a whole number of milliseconds, at least 0, got -1"],
    [
      () => CircuitBreaker.consecutive(0),
      "CircuitBreaker.consecutive: failures must be a whole number, at least 1, or Infinity, got 0"
    ],
    [
      () => CircuitBreaker.failures({ failures: 1e9, window: 1 }),
      "CircuitBreaker.failures: failures must be at most 1000000, got 1000000000"
    ],
    [
      () => CircuitBreaker.failureRate({ threshold: 0.5, minimumCalls: 5, over: { calls: 4 } }),
      "CircuitBreaker.failureRate: minimumCalls must be at most the window, 4, got 5"
    ]
  ])("%#", (build, message) => {
    assert.throws(build, message)
  })
})
