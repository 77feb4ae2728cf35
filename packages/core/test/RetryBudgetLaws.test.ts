import { RetryBudget } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

// What each ledger is to do, said a second time: as a question to all that has happened, in whole numbers of any size.

type Happening =
  | { readonly _tag: "started" | "ended"; readonly at: number }
  | { readonly _tag: "settled"; readonly at: number; readonly outcome: RetryBudget.Outcome; readonly retry: number | undefined }
  | { readonly _tag: "granted"; readonly at: number; readonly kind: RetryBudget.Kind; readonly retry: number }
  | { readonly _tag: "returned"; readonly at: number; readonly retry: number }

type History = ReadonlyArray<Happening>

/** Whether one more retry of that kind is to be granted. */
type Grants = (history: History, kind: RetryBudget.Kind, now: number) => boolean

const thousandths = (value: number): bigint => BigInt(Math.round(value * 1000))
const count = (history: History, is: (happening: Happening) => boolean): bigint => BigInt(history.filter(is).length)

/** Retries that were granted, are not given back, and meet a condition. */
const retries = (history: History, is: (at: number) => boolean = () => true): bigint => {
  const returned = new Set(history.flatMap((happening) => (happening._tag === "returned" ? [happening.retry] : [])))
  return count(history, (happening) => happening._tag === "granted" && !returned.has(happening.retry) && is(happening.at))
}

const slotOf = (at: number, slots: number, span: number): bigint => (BigInt(at) * BigInt(slots)) / BigInt(span)

const ratio = (options: {
  percent: number
  reservePerSecond: number
  window: number
  of: "operations" | "attempts"
}): Grants => {
  const percent = thousandths(options.percent)
  const reserve = thousandths(options.reservePerSecond) * BigInt(options.window)
  return (history, _kind, now) => {
    const counts = (at: number) => slotOf(now, 10, options.window) - slotOf(at, 10, options.window) < 10n
    const operations = count(history, (happening) => happening._tag === "started" && counts(happening.at))
    const withThis = retries(history, counts) + 1n
    const base = options.of === "attempts" ? operations + withThis : operations
    // retries <= percent * base + reserve, multiplied by 100 * 1000 and by 10
    return withThis * 1_000_000n <= percent * base * 10n + reserve
  }
}

interface TokensOptions {
  capacity: number
  initial: number
  cost: Record<RetryBudget.Kind, number>
  success: number
  refund: boolean
  refillPerSecond: number
}

const tokens = (options: TokensOptions): Grants => {
  const millionths = (value: number) => thousandths(value) * 1000n
  const least = (a: bigint, b: bigint) => (a < b ? a : b)
  const capacity = millionths(options.capacity)
  return (history, kind, now) => {
    const kinds = new Map<number | undefined, RetryBudget.Kind>()
    let [have, last] = [millionths(options.initial), 0n]
    const at = (time: number) => {
      const passed = BigInt(Math.floor(time)) - last
      last += passed
      have = least(capacity, have + passed * thousandths(options.refillPerSecond))
    }
    const costOf = (retry: number) => millionths(options.cost[kinds.get(retry)!])
    for (const happening of history) {
      at(happening.at)
      if (happening._tag === "granted") {
        kinds.set(happening.retry, happening.kind)
        have -= costOf(happening.retry)
      }
      if (happening._tag === "returned") have += costOf(happening.retry)
      if (happening._tag === "settled" && happening.outcome === "success") {
        if (happening.retry === undefined) have += millionths(options.success)
        else if (options.refund) have += costOf(happening.retry)
      }
      have = least(capacity, have)
      assert.isTrue(have >= 0n)
    }
    at(now)
    return have >= millionths(options.cost[kind])
  }
}

const throttle = (options: { maxTokens: number; tokenRatio: number }): Grants => {
  const most = thousandths(options.maxTokens)
  return (history) => {
    let have = most
    for (const happening of history) {
      if (happening._tag !== "settled") continue
      if (happening.outcome === "success") have += thousandths(options.tokenRatio)
      if (happening.outcome === "failure") have -= 1000n
      have = have < 0n ? 0n : have > most ? most : have
    }
    return 2n * have > most
  }
}

const inFlight = (options: { percent: number; minimum: number }): Grants => {
  return (history) => {
    const of = (tag: Happening["_tag"]) => count(history, ({ _tag }) => _tag === tag)
    const used = count(history, (happening) => happening._tag === "settled" && happening.retry !== undefined)
    const withThis = retries(history) - used + 1n
    const share = thousandths(options.percent) * (of("started") - of("ended"))
    return withThis <= options.minimum || withThis * 100_000n <= share
  }
}

const fixedRate = (options: { retries: number; per: number }): Grants => {
  return (history, _kind, now) => {
    const counts = (at: number) => slotOf(now, 60, options.per) - slotOf(at, 60, options.per) <= 60n
    return retries(history, counts) < options.retries
  }
}

// Any options, any use.

const decimal = (max: number) => FastCheck.integer({ min: 0, max: max * 1000 }).map((value) => value / 1000)
const small = (max: number) => FastCheck.integer({ min: 0, max })

interface Subject {
  readonly ledger: RetryBudget.Ledger
  readonly grants: Grants
  /** In milliseconds, how far apart times are that are worth a look. */
  readonly edge: number
  /** How long nothing must happen, with nothing in flight, for the ledger to be as good as a new one, and which that is. */
  readonly rests?: { readonly after: number; readonly like: RetryBudget.Ledger }
}

const subject = <Options>(
  options: FastCheck.Arbitrary<Options>,
  of: (options: Options) => Subject
): FastCheck.Arbitrary<Subject> =>
  options.map((options) => ({ ...of(options), [FastCheck.toStringMethod]: () => JSON.stringify(options) }))

const subjects: Record<string, FastCheck.Arbitrary<Subject>> = {
  ratio: subject(
    FastCheck.record({
      percent: FastCheck.oneof(decimal(200), FastCheck.constantFrom(0, 10, 33.333, 60, 100, 99.999, 1000)),
      reservePerSecond: FastCheck.oneof(FastCheck.constant(0), decimal(2)),
      window: FastCheck.constantFrom(10, 13, 1000, 1003, 10_000),
      of: FastCheck.constantFrom("operations" as const, "attempts" as const)
    }),
    (options) => {
      const ledger = RetryBudget.ratio(options)
      return { ledger, grants: ratio(options), edge: options.window / 10, rests: { after: options.window, like: ledger } }
    }
  ),
  tokens: subject(
    FastCheck.record({
      capacity: decimal(40),
      share: FastCheck.double({ min: 0, max: 1, noNaN: true }),
      cost: FastCheck.record({ failure: decimal(14), timeout: decimal(14), throttled: decimal(14) }),
      success: decimal(3),
      refund: FastCheck.boolean(),
      refillPerSecond: FastCheck.oneof(FastCheck.constant(0), decimal(100))
    }).map(({ share, ...rest }) => ({ ...rest, initial: Math.floor(rest.capacity * share * 1000) / 1000 })),
    (options) => {
      const { capacity, cost, refillPerSecond } = options
      const without = { ledger: RetryBudget.tokens(options), grants: tokens(options), edge: 1 }
      if (refillPerSecond === 0) return without
      return {
        ...without,
        edge: Math.max(1, (1000 * cost.failure) / refillPerSecond),
        rests: {
          after: Math.ceil((1000 * capacity) / refillPerSecond),
          like: RetryBudget.tokens({ ...options, initial: capacity })
        }
      }
    }
  ),
  throttle: subject(
    FastCheck.record({
      maxTokens: FastCheck.oneof(
        decimal(9).map((above) => 1 + above),
        FastCheck.constantFrom(1, 10, 1000)
      ),
      tokenRatio: decimal(2).map((ratio) => Math.max(0.001, ratio))
    }),
    (options) => ({ ledger: RetryBudget.throttle(options), grants: throttle(options), edge: 1 })
  ),
  inFlight: subject(FastCheck.record({ percent: decimal(100), minimum: small(4) }), (options) => {
    const ledger = RetryBudget.inFlight(options)
    return { ledger, grants: inFlight(options), edge: 1, rests: { after: 0, like: ledger } }
  }),
  fixedRate: subject(
    FastCheck.record({ retries: small(8), per: FastCheck.constantFrom(1, 7, 60, 61, 1000, 60_000) }),
    (options) => {
      const [ledger, edge] = [RetryBudget.fixedRate(options), options.per / 60]
      return { ledger, grants: fixedRate(options), edge, rests: { after: Math.ceil(options.per + edge), like: ledger } }
    }
  )
}

type Command =
  | { readonly _tag: "start" | "end" | "settle" | "retry" | "return" }
  | { readonly _tag: "wait"; readonly edges: number; readonly millis: number }

const command: FastCheck.Arbitrary<Command> = FastCheck.oneof(
  { weight: 4, arbitrary: FastCheck.constant({ _tag: "start" as const }) },
  { weight: 1, arbitrary: FastCheck.constant({ _tag: "end" as const }) },
  { weight: 3, arbitrary: FastCheck.constant({ _tag: "settle" as const }) },
  { weight: 6, arbitrary: FastCheck.constant({ _tag: "retry" as const }) },
  { weight: 1, arbitrary: FastCheck.constant({ _tag: "return" as const }) },
  // To an edge, a millisecond before it or after it; a few of them, or as many as there are; a long time.
  {
    weight: 3,
    arbitrary: FastCheck.record({
      _tag: FastCheck.constant("wait" as const),
      edges: FastCheck.oneof(small(3), FastCheck.constantFrom(9, 10, 11, 59, 60, 61)),
      millis: FastCheck.constantFrom(-1, 0, 0, 1)
    })
  },
  {
    weight: 1,
    arbitrary: FastCheck.record({
      _tag: FastCheck.constant("wait" as const),
      edges: FastCheck.constant(0),
      millis: FastCheck.oneof(small(1000), FastCheck.constant(1e9))
    })
  }
)

const steps = FastCheck.array(
  FastCheck.record({
    command,
    pick: FastCheck.nat(),
    kind: FastCheck.constantFrom("failure" as const, "timeout" as const, "throttled" as const),
    outcome: FastCheck.constantFrom("success" as const, "failure" as const, "ignored" as const)
  }),
  { maxLength: 60, size: "max" }
)
type Step = typeof steps extends FastCheck.Arbitrary<Array<infer S>> ? S : never

const frozen = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

/** A permit, and the number that its retry has in the history. */
interface Held {
  readonly permit: RetryBudget.Permit
  readonly retry: number
}

/** Makes the same use of a ledger and of the model, and holds them together. Whatever the ledger has seen cannot be changed. */
class Run {
  now = 0
  state: unknown
  history: Array<Happening> = []
  operations = 0
  attempts = 0
  held: Array<Held> = []

  constructor(readonly subject: Subject) {
    this.state = frozen(subject.ledger.initial(0))
  }

  become(state: unknown, happening: Happening) {
    this.state = frozen(state)
    this.history.push(happening)
  }

  start() {
    this.operations++
    this.attempts++
    this.become(this.subject.ledger.started(this.state, this.now), { _tag: "started", at: this.now })
  }

  end() {
    if (this.operations === 0) return
    this.operations--
    this.become(this.subject.ledger.ended(this.state, this.now), { _tag: "ended", at: this.now })
  }

  /** Of the attempts in flight any, first ones and retries. */
  settle(pick: number, outcome: RetryBudget.Outcome) {
    const all = this.attempts + this.held.length
    if (all === 0) return
    const index = (pick % all) - this.attempts
    const used = index < 0 ? undefined : this.held.splice(index, 1)[0]
    if (used === undefined) this.attempts--
    this.become(this.subject.ledger.settled(this.state, outcome, used?.permit, this.now), {
      _tag: "settled",
      at: this.now,
      outcome,
      retry: used?.retry
    })
  }

  retry(kind: RetryBudget.Kind) {
    const granted = this.subject.ledger.retry(this.state, kind, this.now)
    assert.strictEqual(granted !== undefined, this.subject.grants(this.history, kind, this.now), `a ${kind} at ${this.now}`)
    if (granted === undefined) return false
    const retry = this.history.length
    this.held.push({ permit: frozen(granted.permit), retry })
    this.become(granted.state, { _tag: "granted", at: this.now, kind, retry })
    return true
  }

  giveBack(pick: number) {
    if (this.held.length === 0) return
    const { permit, retry } = this.held.splice(pick % this.held.length, 1)[0]!
    this.become(this.subject.ledger.returned(this.state, permit, this.now), { _tag: "returned", at: this.now, retry })
  }

  wait({ edges, millis }: { readonly edges: number; readonly millis: number }) {
    const { edge } = this.subject
    const to = edges === 0 ? this.now + millis : Math.ceil((Math.floor(this.now / edge) + edges) * edge) + millis
    this.now = Math.min(1e12, Math.max(this.now, to))
  }

  step({ command, kind, outcome, pick }: Step) {
    if (command._tag === "start") this.start()
    if (command._tag === "end") this.end()
    if (command._tag === "settle") this.settle(pick, outcome)
    if (command._tag === "retry") this.retry(kind)
    if (command._tag === "return") this.giveBack(pick)
    if (command._tag === "wait") this.wait(command)
    this.balance()
  }

  balance(): number {
    const balance = this.subject.ledger.balance(this.state, this.now)
    assert.isTrue(balance >= 0 && (balance === Infinity || Number.isInteger(balance)), String(balance))
    return balance
  }

  /** Takes all there is, or as many as are enough to believe that there is no end. */
  drain(enough = 40): number {
    let taken = 0
    while (taken < enough && this.retry("failure")) taken++
    return taken
  }
}

const used = (subject: Subject, all: ReadonlyArray<Step>): Run => {
  const run = new Run(subject)
  for (const step of all) run.step(step)
  return run
}

describe.each(Object.entries(subjects))("%s, for any options and any use", (name, subject) => {
  const holds = (law: (run: Run) => void, numRuns = 300) =>
    FastCheck.assert(
      FastCheck.property(subject, steps, (subject, steps) => law(used(subject, steps))),
      { numRuns }
    )

  it("grants what the model grants, and its balance is what it grants one after the other", () => {
    holds((run) => {
      const balance = run.balance()
      assert.strictEqual(run.drain(), Math.min(40, balance))
      if (balance < 40) assert.strictEqual(run.balance(), 0)
    })
  })

  it("has back what permits took that are given back at once, in any order", () => {
    FastCheck.assert(
      FastCheck.property(
        subject,
        steps,
        FastCheck.array(FastCheck.nat(), { maxLength: 40, size: "max" }),
        (subject, steps, picks) => {
          const run = used(subject, steps)
          run.held = []
          const balance = run.balance()
          run.drain()
          for (const pick of [...picks, ...run.held.map(() => 0)]) run.giveBack(pick)
          assert.strictEqual(run.balance(), balance)
        }
      ),
      { numRuns: 200 }
    )
  })

  it("is as good as new when nothing is left in flight and all is long past", () => {
    holds((run) => {
      const { rests } = run.subject
      if (rests === undefined) return
      while (run.operations > 0) run.end()
      while (run.held.length > 0) run.settle(run.attempts, "failure")
      run.now += rests.after
      assert.strictEqual(run.balance(), rests.like.balance(rests.like.initial(run.now), run.now))
      run.drain()
    })
  })

  it("changes nothing it is given, and refuses to the same state what it refused", () => {
    holds((run) => {
      const before = JSON.stringify(run.state)
      const first = run.subject.ledger.retry(run.state, "failure", run.now)
      assert.deepStrictEqual(run.subject.ledger.retry(run.state, "failure", run.now), first)
      assert.strictEqual(JSON.stringify(run.state), before)
    }, 100)
  })

  it(`is called ${name}`, () => {
    FastCheck.assert(
      FastCheck.property(subject, ({ ledger }) => assert.strictEqual(ledger.name, name)),
      { numRuns: 5 }
    )
  })
})

describe("after hundreds of thousands of events", () => {
  const grantedOf = (
    ledger: RetryBudget.Ledger,
    tries: number,
    before: (state: unknown, index: number) => [unknown, number]
  ) => {
    let [state, granted] = [ledger.initial(0), 0]
    for (let index = 0; index < tries; index++) {
      const [next, now] = before(state, index)
      const retry = ledger.retry(next, "failure", now)
      state = retry?.state ?? next
      if (retry !== undefined) granted++
    }
    return granted
  }

  it.each([
    { percent: 33.333, of: "operations", granted: 66_666 },
    { percent: 0.1, of: "operations", granted: 200 },
    { percent: 14.286, of: "operations", granted: 28_572 },
    // 0.07 / 0.93 of the operations
    { percent: 7, of: "attempts", granted: 15_053 }
  ] as const)("$percent % of 200,000 $of are $granted retries, not one more or less", ({ granted, of, percent }) => {
    const ledger = RetryBudget.ratio({ percent, of, reservePerSecond: 0 })
    assert.strictEqual(
      grantedOf(ledger, 200_000, (state) => [ledger.started(state, 0), 0]),
      granted
    )
  })

  it("the slots of a window that has gone round ten thousand times hold what they should", () => {
    const ledger = RetryBudget.ratio({ percent: 33.333, reservePerSecond: 0 })
    // Every 100 ms, so 100 operations in the window: 33 retries, of which each tenth of it frees what it held.
    const granted = grantedOf(ledger, 200_000, (state, index) => [ledger.started(state, index * 100), index * 100])
    assert.isTrue(granted > 65_000 && granted <= 66_666, String(granted))
    const idle = ledger.balance(ledger.initial(0), 0)
    let state = ledger.initial(0)
    for (let index = 0; index < 200_000; index++) {
      state = ledger.started(state, index * 100)
      state = ledger.retry(state, "failure", index * 100)?.state ?? state
    }
    assert.strictEqual(ledger.balance(state, 200_000 * 100 + 10_000), idle)
  })

  it("tokens come at their rate, however often one looks", () => {
    const ledger = RetryBudget.tokens({ capacity: 5, initial: 0, cost: { failure: 0.7 }, refillPerSecond: 0.123, success: 0 })
    // 200,000 looks 3 ms apart: 599.997 s, 73.799 tokens
    assert.strictEqual(
      grantedOf(ledger, 200_000, (state, index) => [state, index * 3]),
      105
    )
  })

  it("a throttle that stands at a balance of failures and successes stays there", () => {
    const ledger = RetryBudget.throttle({ maxTokens: 10, tokenRatio: 0.1 })
    const settle = (state: unknown, outcome: RetryBudget.Outcome, times: number) => {
      for (let i = 0; i < times; i++) state = ledger.settled(state, outcome, undefined, 0)
      return state
    }
    let state = settle(ledger.initial(0), "failure", 4)
    for (let round = 0; round < 20_000; round++) state = settle(settle(state, "failure", 1), "success", 10)
    assert.strictEqual(ledger.balance(state, 0), Infinity)
    assert.strictEqual(ledger.balance(settle(state, "failure", 1), 0), 0)
  })

  it("what is in flight goes back to nothing", () => {
    const ledger = RetryBudget.inFlight({ percent: 33.333, minimum: 0 })
    let state = ledger.initial(0)
    for (let operation = 0; operation < 100_000; operation++) state = ledger.started(state, 0)
    assert.strictEqual(ledger.balance(state, 0), 33_333)
    for (let operation = 0; operation < 100_000; operation++) state = ledger.ended(state, 0)
    assert.deepStrictEqual(state, ledger.initial(0))
  })
})

describe("a fixed rate", () => {
  it("S7: no span holds more, to the millisecond, and what a little more than a span holds is granted, whenever it is wanted", () => {
    const gap = FastCheck.oneof(
      { weight: 6, arbitrary: FastCheck.constant(0) },
      { weight: 3, arbitrary: small(2000) },
      { weight: 2, arbitrary: FastCheck.constantFrom(1, 999, 1000, 1001, 59_999, 60_000, 60_001, 60_999, 61_000) }
    )
    FastCheck.assert(
      FastCheck.property(
        small(100_000),
        small(20),
        FastCheck.array(gap, { maxLength: 300, size: "max" }),
        (from, retries, gaps) => {
          const [per, late] = [60_000, 1000]
          const ledger = RetryBudget.fixedRate({ retries, per })
          const granted: Array<number> = []
          let [state, now] = [ledger.initial(from), from]
          for (const gap of gaps) {
            now += gap
            const retry = ledger.retry(state, "failure", now)
            const within = (span: number) => granted.filter((at) => at >= now - span).length
            if (retry !== undefined) {
              // The span ends with it, and what was granted a whole span before is in it.
              assert.isBelow(within(per), retries)
              granted.push(now)
              state = retry.state
            } else {
              assert.isAtLeast(within(per + late), retries)
            }
          }
        }
      ),
      { numRuns: 200 }
    )
  })
})
