import { Deadline } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"

describe("a wait and its attempt", () => {
  it.each([
    ["end before the deadline", 1000, 999, 0, true],
    ["would end exactly at it, where nothing can start", 1000, 1000, 0, false],
    ["would leave less than an attempt needs", 1000, 800, 201, false],
    ["leave exactly what an attempt needs", 1000, 800, 200, true],
    ["find nothing left", 0, 0, 0, false],
    ["come too late", -5, 0, 0, false],
    ["have no deadline", Infinity, 1e15, 1e15, true]
  ])("%s", (_, left, wait, minimum, fits) => {
    assert.strictEqual(Deadline.fits(left, wait, minimum), fits)
  })
})

describe("the header", () => {
  it.each([
    [1500, "1500m"],
    [1500.999, "1500m"],
    [0.4, "0m"],
    [0, "0m"],
    [-1, "0m"],
    [NaN, "0m"],
    [99_999_999, "99999999m"],
    [100_000_000, "100000S"],
    [1e12, "16666666M"],
    [8.64e15, "99999999H"],
    [Infinity, "99999999H"]
  ])("of %d ms is %s", (millis, header) => {
    assert.strictEqual(Deadline.toHeader(millis), header)
  })

  it.each([
    ["1H", 3_600_000],
    ["2M", 120_000],
    ["3S", 3000],
    ["4m", 4],
    ["5000u", 5],
    ["6000000n", 6],
    ["1u", 0.001],
    ["1999n", 0.001],
    ["999n", 0],
    ["99999999H", 359_999_996_400_000],
    [" 7m\t", 7],
    ["00000008m", 8],
    ["0m", 0]
  ])("%s is read as %d ms", (header, millis) => {
    assert.strictEqual(Deadline.parseHeader(header), millis)
  })

  it.each([
    "",
    " ",
    "m",
    "1",
    "-1m",
    "+1m",
    "1.5S",
    "1e3m",
    "0x1m",
    "1 m",
    "1mm",
    "1s",
    "123456789m",
    "١m",
    "1m\n",
    "1m,2m",
    "NaN"
  ])("%j is none", (header) => {
    assert.isUndefined(Deadline.parseHeader(header))
  })

  it("that is longer than any deadline is not even read", () => {
    const unread = () => assert.fail("read")
    assert.isUndefined(Deadline.parseHeader({ length: 1e7, toString: unread } as unknown as string))
    assert.strictEqual(Deadline.parseHeader(" ".repeat(30) + "1m"), 1)
    assert.isUndefined(Deadline.parseHeader(" ".repeat(31) + "1m"))
  })

  it("is never read as more than was sent, in whole microseconds", () => {
    const nanos = { H: 3_600_000_000_000n, M: 60_000_000_000n, S: 1_000_000_000n, m: 1_000_000n, u: 1000n, n: 1n }
    fc.assert(
      fc.property(fc.nat(99_999_999), fc.constantFrom(...Object.entries(nanos)), (count, [unit, each]) => {
        const sent = (BigInt(count) * each) / 1000n
        assert.strictEqual(Deadline.parseHeader(`${count}${unit}`), Number(sent) / 1000)
      }),
      { numRuns: 2000 }
    )
  })

  it("never gives the next hop more than there is, and loses less than its unit", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e14, noNaN: true }), (millis) => {
        const read = Deadline.parseHeader(Deadline.toHeader(millis))!
        assert.isAtMost(read, millis)
        if (millis < 99_999_999 * 3_600_000) assert.isAtMost(millis - read, Math.max(1, millis / 99_999))
      })
    )
  })

  it("whatever is sent gives nothing or a finite time", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9]{0,9}[HMSmunx]?$/)), (value) => {
        const read = Deadline.parseHeader(value)
        if (read !== undefined) assert.isTrue(read >= 0 && read <= 99_999_999 * 3_600_000)
      })
    )
  })
})
