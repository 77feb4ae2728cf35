import { Backoff, InvalidOption } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

describe("Backoff", () => {
  it.each([
    { what: "base 100, cap 800", options: { base: 100, cap: 800 }, waits: [100, 200, 400, 800, 800] },
    { what: "base 1 s, cap 8 s", options: { base: 1000, cap: 8000 }, waits: [1000, 2000, 4000, 8000, 8000] },
    { what: "factor 5", options: { base: 1000, factor: 5 }, waits: [1000, 5000, 25_000, 30_000] },
    { what: "factor 1", options: { base: 70, factor: 1 }, waits: [70, 70, 70] },
    { what: "factor 1.5, rounded", options: { base: 25, factor: 1.5 }, waits: [25, 38, 56, 84] },
    { what: "base 0", options: { base: 0 }, waits: [0, 0, 0] }
  ])("waits as the formula says: $what", ({ options, waits }) => {
    const { delay } = Backoff.exponential(options)
    assert.deepStrictEqual(
      waits.map((_, retries) => delay(retries)),
      waits
    )
  })

  it("grows as the other laws say", () => {
    const first = (backoff: Backoff.Backoff) => [0, 1, 2, 3, 4, 5].map(backoff.delay)
    assert.deepStrictEqual(first(Backoff.constant({ delay: 70 })), [70, 70, 70, 70, 70, 70])
    assert.deepStrictEqual(first(Backoff.linear({ base: 70 })), [70, 140, 210, 280, 350, 420])
    assert.deepStrictEqual(first(Backoff.linear({ base: 70, increment: 0 })), [70, 70, 70, 70, 70, 70])
    assert.deepStrictEqual(first(Backoff.fibonacci({ base: 70, cap: 500 })), [70, 70, 140, 210, 350, 500])
    assert.deepStrictEqual(first(Backoff.immediateFirst(Backoff.linear({ base: 70 }))), [0, 70, 140, 210, 280, 350])
  })

  it("stays at the cap where the power has overflowed, also with base 0", () => {
    assert.strictEqual(Backoff.exponential({ base: 100, cap: 30_000 }).delay(1_000_000), 30_000)
    assert.strictEqual(Backoff.exponential({ base: 0, cap: 30_000 }).delay(1_000_000), 0)
  })

  it("saturates at the longest time where the cap was lifted", () => {
    assert.strictEqual(Backoff.exponential({ base: 100, cap: Infinity }).delay(1_000_000), InvalidOption.maxMillis)
  })

  it("never leaves 0..cap, never shrinks, and is whole, for any law, any options and any number of retries", () => {
    const millis = FastCheck.integer({ min: 0, max: 1e9 })
    const options = FastCheck.record({
      base: millis,
      increment: millis,
      factor: FastCheck.double({ min: 1, max: 1e6, noNaN: true }),
      cap: FastCheck.oneof(FastCheck.integer({ min: 0, max: 1e12 }), FastCheck.constant(Infinity)),
      delay: millis
    })
    const law = FastCheck.constantFrom(Backoff.exponential, Backoff.linear, Backoff.fibonacci, Backoff.constant)
    FastCheck.assert(
      FastCheck.property(law, options, FastCheck.integer({ min: 0, max: 1e6 }), (law, options, retries) => {
        for (const { cap, delay } of [law(options), Backoff.immediateFirst(law(options))]) {
          const wait = delay(retries)
          assert.isTrue(Number.isInteger(wait) && wait >= 0 && wait <= cap)
          assert.isAtLeast(delay(retries + 1), wait)
        }
      }),
      { numRuns: 1000 }
    )
  })

  it("decorrelated: every wait is whole and between the base and three times the one before, or the cap", () => {
    const unit = FastCheck.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1, max: 1e6 }),
        FastCheck.oneof(FastCheck.integer({ min: 0, max: 1e9 }), FastCheck.constant(Infinity)),
        FastCheck.array(unit, { minLength: 1, maxLength: 60, size: "max" }),
        (base, above, draws) => {
          const { cap, initial, most, next } = Backoff.decorrelated({ base, cap: base + above })
          draws.reduce((previous, random) => {
            const wait = next(previous, random)
            assert.isTrue(
              Number.isInteger(wait) && wait >= base && wait <= Math.min(cap, 3 * previous) && wait <= most(previous)
            )
            return wait
          }, initial)
        }
      )
    )
  })

  it.each([
    { options: { base: -1 }, message: "Backoff.exponential: base must be a whole number of milliseconds, at least 0, got -1" },
    {
      options: { base: NaN },
      message: "Backoff.exponential: base must be a whole number of milliseconds, at least 0, got NaN"
    },
    {
      options: { base: 0.5 },
      message: "Backoff.exponential: base must be a whole number of milliseconds, at least 0, got 0.5"
    },
    { options: { base: 1, factor: 0.5 }, message: "factor must be a number from 1 to" },
    { options: { base: 1, factor: Infinity }, message: "factor must be a number from 1 to" },
    { options: { base: 1, cap: -5 }, message: "cap must be a whole number of milliseconds, at least 0, or infinite, got -5" }
  ])("refuses $options and says why", ({ message, options }) => {
    assert.throws(() => Backoff.exponential(options), InvalidOption.InvalidOption, message)
  })
})
