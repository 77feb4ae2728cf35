import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Capacity from "../src/internal/capacity.js"
import * as FixedWindow from "../src/internal/fixedWindow.js"
import * as OptimisticLock from "../src/internal/optimisticLock.js"

/** Starts and how long they take, in order of time. */
const starts = FastCheck.array(FastCheck.record({ at: FastCheck.nat(60), takes: FastCheck.integer({ min: 1, max: 20 }) }), {
  maxLength: 25,
  size: "max"
}).map((all) => all.sort((a, b) => a.at - b.at))

const slots = FastCheck.integer({ min: 1, max: 4 })

describe("a service with slots", () => {
  it("dooms exactly the calls that are ever more in flight than there are slots", () => {
    FastCheck.assert(
      FastCheck.property(slots, starts, (slots, starts) => {
        const inFlight: Array<Capacity.InFlight> = []
        const doomed = starts.map(({ at, takes }) => Capacity.overload(inFlight, slots, at, at + takes))
        const together = (at: number, last: number) =>
          starts.filter((other, index) => index <= last && other.at <= at && at < other.at + other.takes)
        const expected = starts.map(({ at, takes }, index) =>
          starts.some(
            (other, last) => last >= index && other.at < at + takes && other.at >= at && together(other.at, last).length > slots
          )
        )
        assert.deepStrictEqual(
          doomed.map((call) => call.doomed),
          expected
        )
      })
    )
  })

  it("that refuses never carries more than its slots, and refuses only if they are all taken", () => {
    FastCheck.assert(
      FastCheck.property(slots, starts, (slots, starts) => {
        const inFlight: Array<Capacity.InFlight> = []
        let carried: Array<number> = []
        for (const { at, takes } of starts) {
          carried = carried.filter((until) => until > at)
          const started = Capacity.refuse(inFlight, slots, at, at + takes)
          assert.strictEqual(started === undefined, carried.length === slots)
          if (started !== undefined) carried.push(at + takes)
        }
      })
    )
  })
})

describe("a rate limit over fixed windows", () => {
  it("admits the first calls of each window and tells the others when the next begins", () => {
    FastCheck.assert(
      FastCheck.property(slots, FastCheck.integer({ min: 1, max: 20 }), starts, (permits, per, starts) => {
        const state = FixedWindow.make()
        const before = new Map<number, number>()
        for (const { at } of starts) {
          const window = Math.floor(at / per)
          const used = before.get(window) ?? 0
          before.set(window, used + 1)
          const answer = FixedWindow.take(state, permits, per, at)
          assert.strictEqual(answer, used < permits ? "admitted" : (window + 1) * per - at)
        }
      })
    )
  })
})

describe("a row under optimistic concurrency", () => {
  it.each([
    {
      what: "written as read",
      steps: [
        ["read", 0],
        ["write", 10, 0]
      ],
      result: ["written"]
    },
    {
      what: "written by another meanwhile",
      steps: [
        ["write", 5, 0],
        ["write", 10, 4]
      ],
      result: ["written", "conflict"]
    },
    {
      what: "read after the other's write",
      steps: [
        ["write", 5, 0],
        ["write", 10, 6]
      ],
      result: ["written", "written"]
    },
    {
      what: "read at the very instant of the other's write",
      steps: [
        ["write", 5, 0],
        ["write", 10, 5]
      ],
      result: ["written", "written"]
    },
    {
      what: "written at the same instant, one by one",
      steps: [
        ["write", 5, 0],
        ["write", 5, 0]
      ],
      result: ["written", "conflict"]
    },
    {
      what: "a conflict writes nothing",
      steps: [
        ["write", 5, 0],
        ["write", 6, 4],
        ["write", 7, 5]
      ],
      result: ["written", "conflict", "written"]
    }
  ] as const)("$what", ({ result, steps }) => {
    const state = OptimisticLock.make()
    const answers = steps.flatMap(([what, now, readAt]) => (what === "read" ? [] : [OptimisticLock.write(state, readAt, now)]))
    assert.deepStrictEqual(answers, [...result])
  })
})
