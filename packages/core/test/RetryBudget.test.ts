import { InvalidOption, RetryBudget } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"

/** A client of one ledger, at a time that stands still unless it is told otherwise. */
const client = (ledger: RetryBudget.Ledger, from = 0) => {
  let state = ledger.initial(from)
  const times = (count: number, next: (state: unknown) => unknown) => {
    for (let i = 0; i < count; i++) state = next(state)
  }
  const retry = (now = from, kind: RetryBudget.Kind = "failure"): RetryBudget.Permit | undefined => {
    const granted = ledger.retry(state, kind, now)
    if (granted !== undefined) state = granted.state
    return granted?.permit
  }
  return {
    start: (count: number, now = from) => times(count, (state) => ledger.started(state, now)),
    end: (count: number, now = from) => times(count, (state) => ledger.ended(state, now)),
    settle: (outcome: RetryBudget.Outcome, count: number, now = from) =>
      times(count, (state) => ledger.settled(state, outcome, undefined, now)),
    use: (permit: RetryBudget.Permit, outcome: RetryBudget.Outcome, now = from) =>
      times(1, (state) => ledger.settled(state, outcome, permit, now)),
    giveBack: (permit: RetryBudget.Permit, now = from) => times(1, (state) => ledger.returned(state, permit, now)),
    retry,
    /** How many of so many tries are granted. */
    retries: (tries: number, now = from, kind: RetryBudget.Kind = "failure") =>
      Array.from({ length: tries }, () => retry(now, kind)).filter((permit) => permit !== undefined).length,
    balance: (now = from) => ledger.balance(state, now)
  }
}

/** How many attempts so many operations make in a full outage, each of them three at the most. */
const outage = (ledger: RetryBudget.Ledger, operations: number, kind: RetryBudget.Kind = "failure"): number => {
  const { end, retry, settle, start, use } = client(ledger)
  let attempts = 0
  for (let operation = 0; operation < operations; operation++) {
    start(1)
    settle("failure", 1)
    attempts++
    for (let left = 2, permit = retry(0, kind); permit !== undefined; permit = --left > 0 ? retry(0, kind) : undefined) {
      use(permit, "failure")
      attempts++
    }
    end(1)
  }
  return attempts
}

describe("a ratio", () => {
  it.each([
    { percent: 60, granted: 6 },
    { percent: 30, granted: 3 },
    { percent: 10, granted: 1 },
    { percent: 9.999, granted: 0 },
    { percent: 0, granted: 0 },
    { percent: 51, granted: 5 },
    { percent: 200, granted: 20 }
  ])("C75: of $percent %, without a reserve, grants $granted retries to ten operations", ({ granted, percent }) => {
    const { balance, retries, start } = client(RetryBudget.ratio({ percent, reservePerSecond: 0 }))
    start(10)
    assert.strictEqual(balance(), granted)
    assert.strictEqual(retries(50), granted)
    assert.strictEqual(balance(), 0)
  })

  it.each([
    { of: "operations", load: 1.1 },
    { of: "attempts", load: 1.1111 }
  ] as const)("S2: of 10 % of the $of makes a full outage $load times the load", ({ load, of }) => {
    assert.strictEqual(outage(RetryBudget.ratio({ percent: 10, reservePerSecond: 0, of }), 10_000), load * 10_000)
  })

  it("of 10 % of all attempts grants the first retry to the ninth operation, of the operations to the tenth", () => {
    const first = (of: "operations" | "attempts") => {
      const { retry, start } = client(RetryBudget.ratio({ reservePerSecond: 0, of }))
      let operations = 0
      do {
        start(1)
        operations++
      } while (retry() === undefined)
      return operations
    }
    assert.deepStrictEqual([first("attempts"), first("operations")], [9, 10])
  })

  it("of all attempts is no bound from 100 % on: less than all attempts are retries", () => {
    for (const percent of [100, 1000]) {
      const { balance, retries } = client(RetryBudget.ratio({ percent, reservePerSecond: 0, of: "attempts" }))
      assert.deepStrictEqual([balance(), retries(1000)], [Infinity, 1000])
    }
  })

  it("keeps a reserve for a client without traffic, by default a retry a second, and all of it at once", () => {
    assert.strictEqual(client(RetryBudget.ratio()).retries(50), 10)
    assert.strictEqual(client(RetryBudget.ratio({ reservePerSecond: 0.25, window: 60_000 })).retries(50), 15)
    assert.strictEqual(client(RetryBudget.ratio({ reservePerSecond: 0.05 })).retries(50), 0)
  })

  it.each([
    { window: 10_000, from: 0, last: 9999 },
    { window: 10_000, from: 999, last: 9999 },
    { window: 10_000, from: 1000, last: 10_999 },
    // A slot is 100.3 ms long.
    { window: 1003, from: 100, last: 1002 },
    { window: 1003, from: 101, last: 1103 }
  ])("of $window ms forgets at ${last} + 1 what was counted at $from", ({ from, last, window }) => {
    const { balance, retry, start } = client(RetryBudget.ratio({ percent: 10, reservePerSecond: 0, window }), from)
    start(20)
    assert.isDefined(retry())
    assert.deepStrictEqual([balance(last), balance(last + 1)], [1, 0])
    // The retry was forgotten with the operations: it is no debt of those that come.
    start(10, last + 1)
    assert.strictEqual(balance(last + 1), 1)
  })

  it("grants nothing for operations that it has granted a retry for already, when they are forgotten before it", () => {
    const { balance, retry, start } = client(RetryBudget.ratio({ percent: 10, reservePerSecond: 0 }))
    start(10)
    assert.isDefined(retry(5000))
    assert.deepStrictEqual([balance(9999), balance(10_000)], [0, 0])
    start(10, 12_000)
    assert.deepStrictEqual([balance(14_999), balance(15_000)], [0, 1])
  })

  it("takes what is given back into the time it was granted at", () => {
    const left = (givenBackAt: number) => {
      const { balance, giveBack, retry, start } = client(RetryBudget.ratio({ percent: 10, reservePerSecond: 0 }))
      start(10)
      const permit = retry()!
      start(10, 5000)
      giveBack(permit, givenBackAt)
      return [givenBackAt, 10_000, 15_000].map(balance)
    }
    assert.deepStrictEqual(left(9999), [2, 1, 0])
    // Its time is out of the window, and its price with it.
    assert.deepStrictEqual(left(10_000), [1, 1, 0])
  })
})

describe("tokens", () => {
  const five = { failure: 5, timeout: 5, throttled: 5 }

  it("C72: are given back by successes, up to the next retry", () => {
    const { retries, settle } = client(RetryBudget.tokens({ capacity: 500, cost: five, success: 1 }))
    assert.strictEqual(retries(1000), 100)
    settle("success", 4)
    assert.strictEqual(retries(2), 0)
    settle("success", 1)
    assert.strictEqual(retries(2), 1)
  })

  it.each([[[99, 100, 1000, 10_000, 1e6]], [[50, 99, 100, 150, 1000, 1050, 10_000, 1e6]]])(
    "C76: come with time, and a look in between loses none: %j",
    (looks) => {
      const expected: Record<number, number> = { 50: 0, 99: 0, 100: 1, 150: 1, 1000: 10, 1050: 10, 10_000: 100, 1e6: 100 }
      const { balance, settle } = client(
        RetryBudget.tokens({ capacity: 100, initial: 0, refillPerSecond: 10, success: 0, cost: { failure: 1 } })
      )
      for (const now of looks) {
        settle("success", 1, now)
        assert.strictEqual(balance(now), expected[now])
      }
    }
  )

  it("C76: are there to be taken when they have come, and not a millisecond before", () => {
    const { retries } = client(RetryBudget.tokens({ capacity: 100, initial: 0, refillPerSecond: 10, cost: { failure: 1 } }))
    assert.deepStrictEqual(
      [99, 100, 150, 199, 200].map((now) => retries(3, now)),
      [0, 1, 0, 0, 1]
    )
  })

  it.each([
    { set: "2026", options: RetryBudget.awsStandard, kind: "failure", sent: 1035 },
    { set: "2026", options: RetryBudget.awsStandard, kind: "timeout", sent: 1035 },
    { set: "2026", options: RetryBudget.awsStandard, kind: "throttled", sent: 1100 },
    { set: "before 2026", options: RetryBudget.awsStandardBefore2026, kind: "failure", sent: 1050 },
    { set: "before 2026", options: RetryBudget.awsStandardBefore2026, kind: "timeout", sent: 1050 },
    { set: "before 2026", options: RetryBudget.awsStandardBefore2026, kind: "throttled", sent: 1100 }
  ] as const)("of the AWS SDK, $set: 1,000 calls in an outage ($kind) send $sent", ({ kind, options, sent }) => {
    assert.strictEqual(outage(RetryBudget.tokens(options), 1000, kind), sent)
  })

  it("are those of the AWS SDK of 2026 where nothing else is said", () => {
    for (const kind of ["failure", "timeout", "throttled"] as const) {
      assert.strictEqual(
        outage(RetryBudget.tokens(), 1000, kind),
        outage(RetryBudget.tokens(RetryBudget.awsStandard), 1000, kind)
      )
    }
  })

  it("cost for the other kinds what a failure costs, throttled not more than 5, where only that is given", () => {
    const granted = (failure: number, kind: RetryBudget.Kind) =>
      client(RetryBudget.tokens({ capacity: 60, cost: { failure } })).retries(1000, 0, kind)
    assert.deepStrictEqual([granted(20, "timeout"), granted(20, "throttled"), granted(3, "throttled")], [3, 12, 20])
  })

  it.each([
    { what: "a retry that succeeds gives back its price", refund: true, outcome: "success", left: 3 },
    { what: "not where it is not to", refund: false, outcome: "success", left: 2 },
    { what: "a retry that fails gives back nothing", refund: true, outcome: "failure", left: 2 },
    { what: "nor one that is ignored", refund: true, outcome: "ignored", left: 2 }
  ] as const)("$what", ({ left, outcome, refund }) => {
    const { balance, retry, use } = client(RetryBudget.tokens({ capacity: 15, cost: five, refund }))
    use(retry()!, outcome)
    assert.strictEqual(balance(), left)
  })

  it("are given by a success, one, or what the retry has cost, where nothing else is said", () => {
    const { balance, retry, settle, use } = client(RetryBudget.tokens({ capacity: 15, initial: 9, cost: five }))
    settle("success", 1)
    const [first, second] = [retry()!, retry()!]
    assert.strictEqual(balance(), 0)
    use(first, "success")
    use(second, "failure")
    settle("success", 4)
    assert.strictEqual(balance(), 1)
    settle("success", 1)
    assert.strictEqual(balance(), 2)
  })

  it("are never more than the capacity, whoever gives them", () => {
    const { balance, giveBack, retries, retry, settle } = client(RetryBudget.tokens({ capacity: 10, cost: five }))
    settle("success", 1000)
    const permit = retry()!
    settle("success", 1000)
    giveBack(permit)
    assert.deepStrictEqual([balance(), retries(10)], [2, 2])
  })

  it("must all be there: a retry is never had for what is left", () => {
    const { balance, retries } = client(RetryBudget.tokens({ capacity: 14.999, cost: { failure: 5 } }))
    assert.deepStrictEqual([balance(), retries(10)], [2, 2])
  })

  it("cost nothing where a retry does not", () => {
    const { balance, retries } = client(RetryBudget.tokens({ capacity: 0, cost: { failure: 0 } }))
    assert.deepStrictEqual([balance(), retries(1000)], [Infinity, 1000])
  })
})

describe("a throttle", () => {
  it("C71: piles up nothing on a good day, pauses at half, and falls to nothing and not below", () => {
    const { balance, retries, settle } = client(RetryBudget.throttle({ maxTokens: 10, tokenRatio: 0.1 }))
    settle("success", 1e6)
    const failures = Array.from({ length: 20 }, () => {
      settle("failure", 1)
      return retries(1)
    })
    // 9, 8, 7, 6; then 5 and less
    assert.deepStrictEqual(failures, [1, 1, 1, 1, ...new Array<number>(16).fill(0)])
    settle("success", 60)
    settle("failure", 1)
    assert.deepStrictEqual([balance(), retries(1)], [0, 0]) // at 5.0
    settle("failure", 20)
    settle("success", 61)
    settle("failure", 1)
    assert.deepStrictEqual([balance(), retries(1)], [Infinity, 1]) // at 5.1
  })

  it("C71: stands exactly at half after the successes that make it up, whatever share each of them gives", () => {
    for (const maxTokens of [2, 7, 10, 1000]) {
      for (let ratio = 1; ratio <= 2000; ratio++) {
        const half = (maxTokens * 500) / ratio
        if (!Number.isInteger(half) || half > 5000) continue
        const { balance, settle } = client(RetryBudget.throttle({ maxTokens, tokenRatio: ratio / 1000 }))
        settle("failure", maxTokens)
        settle("success", half)
        assert.strictEqual(balance(), 0, `${half} of ${ratio / 1000}`)
        settle("success", 1)
        assert.strictEqual(balance(), Infinity)
      }
    }
  })

  it("is the example of the gRFC where nothing else is said", () => {
    const { balance, settle } = client(RetryBudget.throttle())
    settle("failure", 5)
    assert.strictEqual(balance(), 0)
    settle("success", 1)
    assert.strictEqual(balance(), Infinity)
  })

  it("counts failures of retries too, and no retry, no permit given back and nothing ignored", () => {
    const { balance, giveBack, retries, retry, settle, use } = client(RetryBudget.throttle())
    assert.strictEqual(retries(1000), 1000)
    settle("ignored", 1000)
    settle("failure", 4)
    giveBack(retry()!)
    assert.strictEqual(balance(), Infinity)
    use(retry()!, "failure")
    assert.strictEqual(balance(), 0)
  })
})

describe("a share of what is in flight", () => {
  it.each([
    { operations: 0, at: 3 },
    { operations: 2, at: 3 },
    { operations: 19, at: 3 },
    { operations: 20, at: 4 },
    { operations: 24, at: 4 },
    { operations: 25, at: 5 }
  ])("C74: of 20 %, at least 3, grants $at retries at the same time to $operations operations", ({ at, operations }) => {
    const { balance, retries, start } = client(RetryBudget.inFlight({ percent: 20, minimum: 3 }))
    start(operations)
    assert.strictEqual(balance(), at)
    assert.strictEqual(retries(operations + 10), at)
  })

  it("is 20 %, at least 3, where nothing else is said", () => {
    const { balance, start } = client(RetryBudget.inFlight())
    const quiet = balance()
    start(50)
    assert.deepStrictEqual([quiet, balance()], [3, 10])
  })

  it("is free again when a retry has ended in whatever way, or was never sent", () => {
    const { balance, giveBack, retry, use } = client(RetryBudget.inFlight())
    for (const outcome of ["success", "failure", "ignored"] as const) {
      const permit = retry()!
      assert.strictEqual(balance(), 2)
      use(permit, outcome)
      assert.strictEqual(balance(), 3)
    }
    giveBack(retry()!)
    assert.strictEqual(balance(), 3)
  })

  it("counts an operation while it waits for its next attempt, until it ends", () => {
    const { balance, end, settle, start } = client(RetryBudget.inFlight({ percent: 50, minimum: 0 }))
    start(4)
    settle("failure", 4)
    assert.strictEqual(balance(), 2)
    end(3)
    assert.strictEqual(balance(), 0)
  })

  it("grants nothing new while more is in use than what is left in flight allows, and owes nothing afterwards", () => {
    const { balance, end, retry, start, use } = client(RetryBudget.inFlight({ percent: 50, minimum: 1 }))
    start(8)
    const permits = Array.from({ length: 4 }, () => retry()!)
    end(8)
    assert.deepStrictEqual([balance(), retry()], [0, undefined])
    for (const permit of permits) use(permit, "failure")
    assert.strictEqual(balance(), 1)
  })
})

describe("a fixed rate", () => {
  /** The times at which a retry is granted, of all at which one is wanted. */
  const grants = (ledger: RetryBudget.Ledger, wanted: ReadonlyArray<number>) => {
    const { retry } = client(ledger, wanted[0])
    return wanted.filter((now) => retry(now) !== undefined)
  }
  const everyMillisecond = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

  /** The most that any span of so much time holds, both its ends included. */
  const most = (times: ReadonlyArray<number>, span: number) => {
    let first = 0
    return times.reduce((most, time, index) => {
      while (times[first]! < time - span) first++
      return Math.max(most, index - first + 1)
    }, 0)
  }

  it.each([0, 1, 999, 1000, 59_999, 60_000, 123_456])(
    "S7: never has more than 60 in any minute of a storm that begins at %i, and has them again a second late at the most",
    (from) => {
      const granted = grants(RetryBudget.fixedRate(), everyMillisecond(from, from + 200_000))
      assert.strictEqual(most(granted, 60_000), 60)
      assert.strictEqual(granted[59], from + 59)
      const again = granted[60]! - from
      assert.isTrue(again > 60_000 && again <= 61_000, String(again))
    }
  )

  it("S7: has not twice as many at the edge of a window", () => {
    const edge = [...new Array<number>(100).fill(59_999), ...new Array<number>(100).fill(60_000)]
    assert.strictEqual(grants(RetryBudget.fixedRate(), edge).length, 60)
  })

  it.each([
    // A slot is a second long: what was granted within it is counted until the 61st after it begins.
    { granted: 0, last: 60_999 },
    { granted: 999, last: 60_999 },
    { granted: 1000, last: 61_999 }
  ])("counts a retry of $granted until $last", ({ granted, last }) => {
    const ledger = RetryBudget.fixedRate({ retries: 1 })
    const { balance, retry } = client(ledger, granted)
    assert.isDefined(retry())
    assert.deepStrictEqual([balance(last), balance(last + 1)], [0, 1])
  })

  it("takes what was given back out of the time it was granted at", () => {
    const { balance, giveBack, retry } = client(RetryBudget.fixedRate({ retries: 2 }))
    const permit = retry()!
    assert.isDefined(retry(30_000))
    giveBack(permit, 30_000)
    assert.strictEqual(balance(30_000), 1)
    assert.deepStrictEqual([60_999, 61_000, 90_999, 91_000].map(balance), [1, 1, 1, 2])
  })

  it("owes nothing to a permit that comes back when its time is over", () => {
    const { balance, giveBack, retry } = client(RetryBudget.fixedRate({ retries: 2 }))
    const permit = retry()!
    assert.isDefined(retry(61_000))
    giveBack(permit, 61_000)
    assert.strictEqual(balance(61_000), 1)
  })

  it("may be none, and may be without a bound", () => {
    assert.strictEqual(client(RetryBudget.fixedRate({ retries: 0 })).retries(10), 0)
    const { balance, retries } = client(RetryBudget.fixedRate({ retries: Infinity }))
    assert.deepStrictEqual([retries(1000), balance()], [1000, Infinity])
  })
})

describe("a ledger", () => {
  it("is empty, or has no limit, whatever happens", () => {
    for (const [ledger, granted, balance] of [
      [RetryBudget.empty, 0, 0],
      [RetryBudget.unlimited, 1000, Infinity]
    ] as const) {
      const budget = client(ledger)
      budget.start(10)
      budget.settle("failure", 10)
      assert.deepStrictEqual([budget.retries(1000), budget.balance()], [granted, balance])
    }
  })

  it("has a name for metrics and messages", () => {
    const { empty, fixedRate, inFlight, ratio, throttle, tokens, unlimited } = RetryBudget
    assert.deepStrictEqual(
      [ratio(), tokens(), throttle(), inFlight(), fixedRate(), empty, unlimited].map(({ name }) => name),
      ["ratio", "tokens", "throttle", "inFlight", "fixedRate", "empty", "unlimited"]
    )
  })

  it.each([
    ["ratio", RetryBudget.ratio({ percent: 50, reservePerSecond: 0 })],
    ["tokens", RetryBudget.tokens({ capacity: 10, initial: 3, cost: { failure: 1 }, refillPerSecond: 1 })],
    ["fixedRate", RetryBudget.fixedRate({ retries: 3 })]
  ])("gains nothing from a clock that goes back: %s", (_, ledger) => {
    const { balance, retries, start } = client(ledger, 100_000)
    start(6)
    assert.deepStrictEqual([balance(), balance(1000)], [3, 3])
    assert.strictEqual(retries(50, 1000), 3)
    assert.strictEqual(balance(), 0)
  })

  it("keeps what it is given on the happy path where nothing changes", () => {
    const full = [RetryBudget.tokens({ refillPerSecond: 10 }), RetryBudget.throttle(), RetryBudget.fixedRate()]
    for (const ledger of full) {
      const state = ledger.initial(0)
      const started = ledger.started(state, 5000)
      assert.strictEqual(ledger.ended(ledger.settled(started, "success", undefined, 5000), 5000), state)
    }
  })

  it("grants nothing before all have been asked: what one takes is not taken where another refuses", () => {
    const [ratio, process] = [RetryBudget.ratio({ reservePerSecond: 0 }), RetryBudget.fixedRate({ retries: 0 })]
    const state = Array.from({ length: 10 }).reduce<unknown>((state) => ratio.started(state, 0), ratio.initial(0))
    assert.isDefined(ratio.retry(state, "failure", 0))
    assert.isUndefined(process.retry(process.initial(0), "failure", 0))
    assert.strictEqual(ratio.balance(state, 0), 1)
  })
})

describe("a wrong option", () => {
  const millis = (least: number) => `a whole number of milliseconds, at least ${least}`
  const decimal = (most: number) => `a number from 0 to ${most} with at most three decimals`

  it.each([
    ["ratio", { percent: -1 }, "percent", decimal(1000)],
    ["ratio", { percent: 1000.001 }, "percent", decimal(1000)],
    ["ratio", { percent: 0.0001 }, "percent", decimal(1000)],
    ["ratio", { percent: NaN }, "percent", decimal(1000)],
    ["ratio", { reservePerSecond: -0.1 }, "reservePerSecond", decimal(1e6)],
    ["ratio", { reservePerSecond: Infinity }, "reservePerSecond", decimal(1e6)],
    ["ratio", { window: 9 }, "window", millis(10)],
    ["ratio", { window: 100.5 }, "window", millis(10)],
    ["ratio", { window: Infinity }, "window", millis(10)],
    ["ratio", { of: "requests" }, "of", `"operations" or "attempts"`],
    ["tokens", { capacity: -1 }, "capacity", decimal(1e6)],
    ["tokens", { capacity: 1e6 + 1 }, "capacity", decimal(1e6)],
    ["tokens", { cost: { failure: -5 } }, "cost.failure", decimal(1e6)],
    ["tokens", { cost: { timeout: 0.0005 } }, "cost.timeout", decimal(1e6)],
    ["tokens", { cost: { throttled: NaN } }, "cost.throttled", decimal(1e6)],
    ["tokens", { success: -1 }, "success", decimal(1e6)],
    ["tokens", { refillPerSecond: 0.0001 }, "refillPerSecond", decimal(1e6)],
    ["tokens", { initial: -1 }, "initial", decimal(500)],
    ["tokens", { initial: 501 }, "initial", decimal(500)],
    ["tokens", { capacity: 0.5, initial: 0.501 }, "initial", decimal(0.5)],
    ["throttle", { maxTokens: 0 }, "maxTokens", "a number from 1 to 1000"],
    ["throttle", { maxTokens: 1001 }, "maxTokens", "a number from 1 to 1000"],
    ["throttle", { maxTokens: 10.0001 }, "maxTokens", decimal(1000)],
    ["throttle", { tokenRatio: 0 }, "tokenRatio", "a number from 0.001 to 1000"],
    ["throttle", { tokenRatio: 1001 }, "tokenRatio", "a number from 0.001 to 1000"],
    ["throttle", { tokenRatio: 0.5466 }, "tokenRatio", decimal(1000)],
    ["inFlight", { percent: -1 }, "percent", decimal(100)],
    ["inFlight", { percent: 100.001 }, "percent", decimal(100)],
    ["inFlight", { minimum: -1 }, "minimum", "a whole number, at least 0, or Infinity"],
    ["inFlight", { minimum: 1.5 }, "minimum", "a whole number, at least 0, or Infinity"],
    ["fixedRate", { retries: -1 }, "retries", "a whole number, at least 0, or Infinity"],
    ["fixedRate", { retries: 0.5 }, "retries", "a whole number, at least 0, or Infinity"],
    ["fixedRate", { per: 0 }, "per", millis(1)],
    ["fixedRate", { per: Infinity }, "per", millis(1)]
  ] as const)("is refused: %s %o: %s must be %s", (ledger, options, field, rule) => {
    const make = RetryBudget[ledger] as (options: object) => unknown
    const value: unknown = field.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], options)
    const shown = typeof value === "string" ? `"${value}"` : String(value)
    try {
      make(options)
    } catch (error) {
      assert.instanceOf(error, InvalidOption.InvalidOption)
      assert.strictEqual(error.message, `RetryBudget.${ledger}: ${field} must be ${rule}, got ${shown}`)
      assert.deepStrictEqual([error.where, error.field, error.rule, error.value], [`RetryBudget.${ledger}`, field, rule, value])
      return
    }
    assert.fail("was taken")
  })

  it.each([
    ["ratio", { percent: 1000, reservePerSecond: 1e6, window: 10, of: "attempts" }],
    ["ratio", { percent: 33.333, reservePerSecond: 0 }],
    ["tokens", { capacity: 0.001, initial: 0.001, success: 0, refillPerSecond: 0, cost: { failure: 1e6 } }],
    ["throttle", { maxTokens: 1, tokenRatio: 0.001 }],
    ["throttle", { maxTokens: 1000, tokenRatio: 1000 }],
    ["inFlight", { percent: 100, minimum: Infinity }],
    ["fixedRate", { retries: Infinity, per: 1 }]
  ] as const)("is not one at its bound: %s %o", (ledger, options) => {
    assert.doesNotThrow(() => (RetryBudget[ledger] as (options: object) => unknown)(options))
  })
})
