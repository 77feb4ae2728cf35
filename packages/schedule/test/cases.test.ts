/**
 * Faults that people reported in systems like this one, each with the right value. `docs/cases.md` lists them in words.
 */
import { InvalidOption } from "@breakwater/core"
import { VirtualTime } from "@breakwater/simulation"
import { Backoff, Jitter, Limit, Preview, RetryAfter } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import { calls, waits } from "./schedule.js"

/** Mon, 05 Jan 2026 12:00:00 GMT */
const T0 = 1_767_614_400_000

const always = () => "down"

/** The waits before the given retries (1 is the first), without sleeping. */
const waitsBefore = (
  schedule: Schedule.Schedule<unknown, string>,
  retries: ReadonlyArray<number>,
  random: Random.Random = Random.make(1)
): ReadonlyArray<number> => {
  const most = Math.max(...retries)
  const program = Effect.gen(function* () {
    const found: Array<number> = []
    let state = schedule.initial
    for (let retry = 1; retry <= most; retry++) {
      const [next, , decision] = yield* schedule.step(0, "down", state)
      if (decision._tag === "Done") break
      if (retries.includes(retry)) found.push(decision.intervals.intervals.pipe(([first]) => first!.startMillis))
      state = next
    }
    return found
  })
  return Effect.runSync(Effect.withRandom(program, random))
}

/** A source of chance that always gives the same number. */
const fixed = (random: number): Random.Random => ({ ...Random.make(1), next: Effect.succeed(random) })

interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/** The wait before a retry of a response, on a wall clock that reads `now`. */
const waitAfter = (
  schedule: Schedule.Schedule<unknown, Response>,
  headers: Response["headers"],
  options: { readonly status?: number; readonly now?: number; readonly random?: number } = {}
): number | "gives up" => {
  const { now = T0, random = 0, status = 429 } = options
  const step = schedule.step(now, { status, headers }, schedule.initial)
  const [, , decision] = Effect.runSync(Effect.withRandom(step, fixed(random)))
  return decision._tag === "Done" ? "gives up" : decision.intervals.intervals.pipe(([first]) => first!.startMillis) - now
}

const exactly = (options: Partial<RetryAfter.RespectOptions<Response>> = {}) =>
  RetryAfter.respect<Response>({ of: RetryAfter.fromHeaders(({ headers }) => headers), jitter: 0, ...options })

const own = (delay: Duration.DurationInput) => Backoff.constant({ delay })

describe("A. overflow and timer range", () => {
  it("C01: a wait beyond the timer range of 2^31-1 ms stays what it is (in virtual time; the live sleep belongs to the retry loop)", () => {
    const schedule = Backoff.exponential({ base: 1000, factor: 10, cap: Duration.infinity }).pipe(Limit.retries(9))
    const { calls: at } = calls(schedule, always)
    assert.deepStrictEqual([at[7]! - at[6]!, at[8]! - at[7]!], [1e9, 1e10])
    assert.strictEqual(at.length, 10)
    // Without a cap of its own a schedule has one that no timer overflows.
    assert.isBelow(Duration.toMillis(Backoff.exponential({ base: 1000 }).cap), 2 ** 31)
  })

  it("C02: the cap holds where the power has overflowed (a million retries on: in the test of the rule)", () => {
    const plain = Backoff.exponential({ base: 100, cap: 30_000 })
    const at1019 = (random: number) => waitsBefore(Jitter.full(plain), [1019], fixed(random))[0]
    assert.deepStrictEqual([0, 0.5, 0.999].map(at1019), [0, 15_000, 29_970])
  })

  it("C03: no wait restarts from the smallest where a shift would wrap", () => {
    const retries = [31, 32, 33, 34, 65, 66]
    const schedule = Backoff.exponential({ base: 50, cap: 60_000 })
    assert.deepStrictEqual(
      waitsBefore(schedule, retries),
      retries.map(() => 60_000)
    )
  })

  it("C04: fibonacci stays at its cap for 2,000 retries", () => {
    const drawn = waits(Backoff.fibonacci({ base: 50, cap: 1000 }), "down", { count: 2000 })
    assert.deepStrictEqual(drawn.slice(0, 8), [50, 50, 100, 150, 250, 400, 650, 1000])
    assert.isTrue(drawn.slice(7).every((wait) => wait === 1000))
  })

  it("C05: exponential united with spaced does not turn into always-at-once, jittered by Effect or by us", () => {
    const retries = [1, 2, 5, 60, 1100, 2000]
    const united = Schedule.union(Schedule.exponential(500), Schedule.spaced(5000))
    const plain = [500, 1000, 5000, 5000, 5000, 5000]
    assert.deepStrictEqual(waitsBefore(united, retries), plain)
    const byEffect = waitsBefore(Schedule.jittered(united), retries)
    const byUs = waitsBefore(Jitter.proportional(united, { ratio: 0.2, cap: 6000 }), retries)
    for (const drawn of [byEffect, byUs]) {
      drawn.forEach((wait, index) =>
        assert.isTrue(wait >= 0.8 * plain[index]! - 1 && wait <= 1.2 * plain[index]! + 1, String(wait))
      )
    }
  })

  it("C06: an infinite number of retries is made in no time and no memory", () => {
    const schedule = Backoff.exponential({ base: 1000 }).pipe(Limit.retries(Infinity))
    assert.deepStrictEqual(
      calls(schedule, (call) => (call <= 3 ? "down" : undefined)),
      {
        calls: [0, 1000, 3000, 7000],
        endedAt: 7000,
        succeeded: true
      }
    )
  })
})

describe("B. reading Retry-After", () => {
  it("C07: an HTTP date is a date, not 0", () => {
    const schedule = own(1000).pipe(exactly({ max: "5 minutes" }))
    assert.strictEqual(waitAfter(schedule, { "retry-after": "Mon, 05 Jan 2026 12:02:00 GMT" }, { status: 503 }), 120_000)
  })

  it.each(["-3", "+3", "1e3", "0x10"])("C08: %s is no number of seconds, and no day in 2001 either", (value) => {
    assert.strictEqual(waitAfter(own(1000).pipe(exactly()), { "retry-after": value }), 1000)
  })

  it("C08: decimals, which servers send, are seconds too, never rounded down", () => {
    assert.strictEqual(waitAfter(own(1000).pipe(exactly()), { "retry-after": "1.5" }), 1500)
  })

  it("C09: 0 means now, not never", () => {
    const throttled = (call: number): Response | undefined =>
      call === 1 ? { status: 429, headers: { "retry-after": "0" } } : undefined
    const schedule = own(0).pipe(exactly(), Limit.retries(2))
    assert.deepStrictEqual(calls(schedule, throttled), { calls: [0, 0], endedAt: 0, succeeded: true })
  })

  it.each(["soon", "Mon, 32 Foo 2026 99:00:00 GMT"])("C10: %s is the same as no field", (value) => {
    assert.strictEqual(waitAfter(own(1000).pipe(exactly()), { "retry-after": value }), 1000)
  })

  it("C11: a blank field is no hint; blanks around a value are nothing", () => {
    const schedule = own(1000).pipe(exactly({ max: "5 minutes" }))
    assert.strictEqual(waitAfter(schedule, { "retry-after": "" }), 1000)
    assert.strictEqual(waitAfter(schedule, { "retry-after": "   " }), 1000)
    assert.strictEqual(waitAfter(schedule, { "retry-after": " 120 " }), 120_000)
  })

  it("C12: the unit is the second", () => {
    assert.strictEqual(waitAfter(own(0).pipe(exactly()), { "retry-after": "5" }), 5000)
  })

  it("C13: a date in the past, again and again, neither makes a hot loop nor resets the backoff", () => {
    const past = (call: number): Response | undefined =>
      // Virtual time begins in 1970.
      call <= 4 ? { status: 429, headers: { "retry-after": "Wed, 31 Dec 1969 23:59:30 GMT" } } : undefined
    const schedule = Backoff.exponential({ base: 1000 }).pipe(exactly())
    assert.deepStrictEqual(calls(schedule, past), { calls: [0, 1000, 3000, 7000, 15_000], endedAt: 15_000, succeeded: true })
    assert.strictEqual(waitAfter(own(0).pipe(exactly()), { "retry-after": "Mon, 05 Jan 2026 11:59:30 GMT" }, { now: T0 }), 0)
  })

  it("C14: the field is read on whatever status is retried", () => {
    assert.strictEqual(waitAfter(own(300).pipe(exactly()), { "retry-after": "12" }, { status: 425 }), 12_000)
  })

  it("C91: a readable millisecond field wins, 0 included; an unreadable one falls through", () => {
    const schedule = own(0).pipe(exactly())
    assert.strictEqual(waitAfter(schedule, { "retry-after-ms": "0", "retry-after": "30" }), 0)
    assert.strictEqual(waitAfter(schedule, { "retry-after-ms": "1500", "retry-after": "30" }), 1500)
    assert.strictEqual(waitAfter(schedule, { "retry-after-ms": "abc", "retry-after": "30" }), 30_000)
  })
})

describe("C. rate-limit reset headers", () => {
  const schedule = own(0).pipe(exactly({ max: "10 minutes" }))

  it("C15: a small number is seconds left", () => {
    assert.strictEqual(waitAfter(schedule, { "x-ratelimit-reset": "30" }), 30_000)
  })

  it("C16: a moment that has passed is 0, not a wait of decades cut to the cap", () => {
    assert.strictEqual(waitAfter(schedule, { "x-ratelimit-reset": "1767614395" }), 0)
    assert.strictEqual(waitAfter(schedule, { "x-ratelimit-reset": "1767614520" }), 121_000)
  })

  it("C17: the retry does not start before the named second has ended", () => {
    assert.strictEqual(waitAfter(schedule, { "x-ratelimit-reset": "1767614400" }), 1000)
    assert.strictEqual(waitAfter(schedule, { "x-ratelimit-reset": "1767614410" }), 11_000)
  })
})

describe("D. Retry-After against jitter, caps and limits", () => {
  it.each([0, 0.5, 0.999])("C18: jitter never makes the wait shorter than asked, draw %d", (random) => {
    const schedule = own(100).pipe(Jitter.full, exactly({ jitter: 0.5 }))
    const wait = waitAfter(schedule, { "retry-after": "3" }, { random })
    assert.isTrue(wait !== "gives up" && wait >= 3000 && wait <= 4500)
  })

  it("C19: a wait beyond the maximum is not slept, and not cut short either", () => {
    const schedule = own(500).pipe(exactly({ max: "60 seconds" }), Limit.retries(2))
    const throttled = (): Response => ({ status: 429, headers: { "retry-after": "600" } })
    assert.deepStrictEqual(calls(schedule, throttled), { calls: [0], endedAt: 0, succeeded: false })
  })

  it("C20: within the maximum it is waited for in full, beyond it the own short backoff is no answer", () => {
    const schedule = own(500).pipe(exactly({ max: "120 seconds" }))
    const throttledOnce = (seconds: string) => (call: number) =>
      call === 1 ? { status: 429, headers: { "retry-after": seconds } } : undefined
    assert.deepStrictEqual(calls(schedule, throttledOnce("90")).calls, [0, 90_000])
    assert.deepStrictEqual(calls(schedule, throttledOnce("150")).calls, [0])
  })

  it("C21: a wait that does not end in the allowed time is not begun", () => {
    const schedule = own(0).pipe(exactly({ max: "5 minutes" }), Limit.elapsed("10 seconds"))
    const throttled = (): Response => ({ status: 429, headers: { "retry-after": "30" } })
    assert.deepStrictEqual(calls(schedule, throttled, { callTakes: 200 }), { calls: [0], endedAt: 200, succeeded: false })
  })
})

describe("E. jitter", () => {
  it.each([0, 0.5, 0.999, 1 - 2 ** -53])("C22: jitter does not lift a wait above the cap, draw %d", (random) => {
    const schedule = Backoff.exponential({ base: 100, cap: 500 }).pipe(Jitter.proportional(0.5))
    assert.isTrue(waitsBefore(schedule, [1, 2, 3, 4, 5, 6], fixed(random)).every((wait) => wait >= 0 && wait <= 500))
  })

  it("C23: at the cap jitter keeps its spread", () => {
    const backoff = Backoff.exponential({ base: 1000, cap: 60_000 })
    const at = (schedule: Schedule.Schedule<unknown>) =>
      [0, 0.25, 0.5, 0.75, 0.999].map((random) => waitsBefore(schedule, [20], fixed(random))[0])
    assert.deepStrictEqual(at(Jitter.proportional(backoff, 0.2)), [40_000, 45_000, 50_000, 55_000, 59_980])
    assert.deepStrictEqual(at(Jitter.full(backoff)), [0, 15_000, 30_000, 45_000, 59_940])
    // Decorrelated jitter, the worst of all where its draws are clamped: five waits from the base up to the cap, all different.
    const atTheCap = Backoff.decorrelated({ base: 1000, cap: 60_000 })
    const spread = waits(atTheCap, "down", { count: 1000 }).slice(20)
    assert.isBelow(spread.filter((wait) => wait === 60_000).length / spread.length, 0.01)
  })

  it("C24: a jitter that would give negative waits is refused when the policy is built", () => {
    assert.throws(
      () => Jitter.proportional(own(100), 2),
      InvalidOption.InvalidOption,
      "ratio must be a number from 0 to 1, got 2"
    )
  })

  it("C25: jitter grows with the wait", () => {
    const schedule = Jitter.full(Backoff.exponential({ base: 1000, cap: 60_000 }))
    assert.deepStrictEqual(waitsBefore(schedule, [10], fixed(0.1)), [6000])
    assert.deepStrictEqual(waitsBefore(schedule, [10], fixed(0.9)), [54_000])
  })

  it("C92: plus or minus goes both ways, and its mean is the wait itself", () => {
    const schedule = Jitter.proportional(own(10_000), { ratio: 0.3, cap: 60_000 })
    assert.deepStrictEqual(
      [0, 0.5, 0.999].map((random) => waitsBefore(schedule, [1], fixed(random))[0]),
      [7000, 10_000, 12_994]
    )
  })
})

describe("F. counting attempts and schedule arithmetic", () => {
  it("C26: the first wait is the base, not the base times the factor", () => {
    const schedule = Backoff.exponential({ base: 1000, factor: 5 }).pipe(Limit.retries(3))
    assert.deepStrictEqual(calls(schedule, always), { calls: [0, 1000, 6000, 31_000], endedAt: 31_000, succeeded: false })
  })

  it("C27: retries are calls after the first one", () => {
    assert.strictEqual(calls(own(0).pipe(Limit.retries(1)), always).calls.length, 2)
    assert.strictEqual(calls(own(0).pipe(Limit.retries(0)), always).calls.length, 1)
    assert.strictEqual(calls(own(0).pipe(Limit.attempts(2)), always).calls.length, 2)
  })

  it("C28: an explicit 0 is not the default", () => {
    assert.deepStrictEqual(calls(own(1000).pipe(Limit.retries(0)), always), { calls: [0], endedAt: 0, succeeded: false })
  })

  it("C29: reaching the cap does not end the retrying", () => {
    const schedule = Backoff.exponential({ base: 1000, cap: 60_000 }).pipe(Limit.retries(10))
    const { calls: at, endedAt } = calls(schedule, always)
    assert.deepStrictEqual(
      at.slice(1).map((time, index) => time - at[index]!),
      [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000]
    )
    assert.strictEqual(endedAt, 303_000)
  })

  it("C30: there is no wait after the last attempt", () => {
    assert.strictEqual(calls(own(1000).pipe(Limit.retries(2)), always).endedAt, 2000)
  })

  it("C32: Effect's fixed schedule waits for the next tick, in our virtual time", () => {
    const starts: Array<number> = []
    const action = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      starts.push(now)
      return starts.length === 2 ? Effect.sleep(2000) : Effect.void
    })
    const program = Effect.repeat(action, Schedule.fixed(3000).pipe(Limit.attempts(3)))
    Effect.runSync(VirtualTime.run(program))
    // The second run lasts from 3000 to 5000; the next tick is at 6000.
    assert.deepStrictEqual(starts, [0, 3000, 6000])
  })
})

describe("W. clocks and tests", () => {
  it.each([-3_600_000, 3_600_000])("C88: a step of the wall clock by %i ms changes no limit of time", (step) => {
    const times: Array<bigint> = []
    const call = Effect.flatMap(Clock.currentTimeNanos, (nanos) => {
      times.push(nanos / 1_000_000n)
      return Effect.fail("down")
    })
    const program = Effect.gen(function* () {
      yield* Effect.fork(Effect.delay(VirtualTime.stepWallClock(step), 300))
      yield* Effect.ignore(Effect.retry(call, own(200).pipe(Limit.elapsed(1000))))
      return (yield* Clock.currentTimeNanos) / 1_000_000n
    })
    const endedAt = Effect.runSync(VirtualTime.run(program, { startsAt: T0 }))
    assert.deepStrictEqual(times, [0n, 200n, 400n, 600n, 800n])
    assert.strictEqual(endedAt, 800n)
  })
})

it("a preview shows the waits of these cases without waiting", () => {
  const schedule = Backoff.exponential({ base: 1000, factor: 10, cap: Duration.infinity })
  const { retries } = Effect.runSync(Preview.of(schedule, { retries: 8 }))
  assert.strictEqual(Duration.toMillis(retries[7]!.wait), 1e10)
})
