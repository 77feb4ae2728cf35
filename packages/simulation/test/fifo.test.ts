import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Fifo from "../src/internal/fifo.js"

interface Job extends Fifo.Job {
  readonly at: number
}

const job = (at: number, takes: number, goneAt = Infinity): Job => ({ at, takes, call: { goneAt } })

type Fate = number | "refused" | "dropped"

/** When each job is begun, where a clock runs the servers that are due at an instant before its arrivals or after them. */
const fates = (options: Partial<Fifo.Options>, jobs: ReadonlyArray<Job>, first: "servers" | "arrivals"): Array<Fate> => {
  const state = Fifo.make<Job>({ servers: 1, limit: Infinity, dropExpired: false, pause: undefined, ...options })
  const fate = new Map<Job, Fate>()
  const serve = (now: number) =>
    state.busyUntil.forEach((until, server) => {
      if (until > now) return
      const begun = Fifo.begin(state, server, now)
      if (begun !== undefined) fate.set(begun, now)
    })
  const end = 100 + jobs.reduce((sum, { takes }) => sum + takes, 0)
  for (let now = 0; now <= end; now++) {
    if (first === "servers") serve(now)
    for (const arrival of jobs) {
      if (arrival.at === now && Fifo.arrive(state, arrival, now) === "refused") fate.set(arrival, "refused")
    }
    // A server that frees itself with a job that takes no time is free again.
    for (let before = -1; before !== fate.size;) {
      before = fate.size
      serve(now)
    }
  }
  return jobs.map((each) => fate.get(each) ?? "dropped")
}

describe("what does the queue do?", () => {
  it.each([
    { what: "serves in order of arrival", options: {}, jobs: [job(0, 5), job(1, 1), job(1, 1)], begun: [0, 5, 6] },
    {
      what: "as many at once as there are servers",
      options: { servers: 2 },
      jobs: [job(0, 5), job(0, 3), job(0, 1)],
      begun: [0, 0, 3]
    },
    {
      what: "refuses beyond its limit",
      options: { limit: 1 },
      jobs: [job(0, 5), job(1, 5), job(2, 5)],
      begun: [0, 5, "refused"]
    },
    {
      what: "without room to wait, serves or refuses",
      options: { limit: 0 },
      jobs: [job(0, 5), job(4, 5), job(5, 5)],
      begun: [0, "refused", 5]
    },
    { what: "works for callers that have gone", options: {}, jobs: [job(0, 5), job(1, 5, 3), job(2, 5)], begun: [0, 5, 10] },
    {
      what: "drops them at the head where it knows",
      options: { dropExpired: true },
      jobs: [job(0, 5), job(1, 5, 3), job(2, 5)],
      begun: [0, "dropped", 5]
    },
    {
      what: "one that goes at the very instant still counts as there",
      options: { dropExpired: true },
      jobs: [job(0, 5), job(1, 5, 5)],
      begun: [0, 5]
    },
    {
      what: "the dropped hold their place in a full queue until they come to the head",
      options: { dropExpired: true, limit: 1 },
      jobs: [job(0, 5), job(1, 5, 2), job(4, 5), job(5, 5)],
      begun: [0, "dropped", "refused", 5]
    },
    {
      what: "begins nothing in a pause, and goes on at its end",
      options: { pause: { from: 3, to: 10 } },
      jobs: [job(0, 4), job(1, 1), job(5, 1), job(10, 1)],
      begun: [0, 10, 11, 12]
    }
  ])("$what", ({ begun, jobs, options }) => {
    assert.deepStrictEqual(fates(options, jobs, "servers"), begun)
    assert.deepStrictEqual(fates(options, jobs, "arrivals"), begun)
  })
})

describe("what holds for any arrivals?", () => {
  const arrivals = FastCheck.array(
    FastCheck.record({
      at: FastCheck.nat(30),
      takes: FastCheck.nat(6),
      patience: FastCheck.option(FastCheck.integer({ min: 1, max: 8 }), { nil: Infinity })
    }),
    { maxLength: 30, size: "max" }
  ).map((all) => all.sort((a, b) => a.at - b.at).map(({ at, patience, takes }) => job(at, takes, at + patience)))
  const servers = FastCheck.integer({ min: 1, max: 4 })

  it("with every option, the order in which the clock runs an instant changes nothing", () => {
    const options = FastCheck.record({
      servers,
      limit: FastCheck.option(FastCheck.nat(5), { nil: Infinity }),
      dropExpired: FastCheck.boolean(),
      pause: FastCheck.option(FastCheck.constant({ from: 8, to: 15 }), { nil: undefined })
    })
    FastCheck.assert(
      FastCheck.property(options, arrivals, (options, jobs) => {
        assert.deepStrictEqual(fates(options, jobs, "servers"), fates(options, jobs, "arrivals"))
      }),
      { numRuns: 2000 }
    )
  })

  it("each begins when the server is free that is free first", () => {
    FastCheck.assert(
      FastCheck.property(servers, arrivals, (servers, jobs) => {
        const freeAt = new Array<number>(servers).fill(0)
        const expected = jobs.map(({ at, takes }) => {
          const begins = Math.max(at, Math.min(...freeAt))
          freeAt[freeAt.indexOf(Math.min(...freeAt))] = begins + takes
          return begins
        })
        assert.deepStrictEqual(fates({ servers }, jobs, "arrivals"), expected)
      })
    )
  })

  it("no more than the limit ever wait", () => {
    FastCheck.assert(
      FastCheck.property(servers, FastCheck.nat(4), arrivals, (servers, limit, jobs) => {
        const begun = fates({ servers, limit }, jobs, "servers")
        for (let now = 0; now < 60; now++) {
          const waiting = jobs.filter(({ at }, index) => {
            const fate = begun[index]
            return at <= now && typeof fate === "number" && fate > now
          })
          assert.isAtMost(waiting.length, limit)
        }
      })
    )
  })

  it("keeps the order over more arrivals than it keeps in memory", () => {
    const state = Fifo.make<Job>({ servers: 1, limit: Infinity, dropExpired: false, pause: undefined })
    let next = 0
    for (let at = 0; at < 10_000; at++) {
      Fifo.arrive(state, job(at, 0), at)
      if (at % 2 === 1) assert.strictEqual(Fifo.begin(state, 0, at)!.at, next++)
    }
    assert.strictEqual(Fifo.waiting(state), 5000)
    assert.isAtMost(state.jobs.length, 10_000)
  })
})
