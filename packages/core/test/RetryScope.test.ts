import { RetryScope } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"

describe("a retry", () => {
  const modes = ["single-attempt", "warn", "fail", "allow"] as const

  it.each(modes)("outside of another one retries, whatever it says: %s", (mode) => {
    assert.strictEqual(RetryScope.decide(false, mode), "retry")
  })

  it("inside of another one does what it says", () => {
    assert.deepStrictEqual(
      modes.map((mode) => RetryScope.decide(true, mode)),
      ["single-attempt", "warn", "fail", "retry"]
    )
  })
})

describe("the header", () => {
  it("carries the number of the attempt, up to three digits", () => {
    assert.deepStrictEqual([1, 2, 999, 1000, 1e9].map(RetryScope.toHeader), ["1", "2", "999", "999", "999"])
  })

  it("is read back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999 }), (attempt) => {
        assert.strictEqual(RetryScope.parseHeader(RetryScope.toHeader(attempt)), attempt)
      })
    )
    assert.strictEqual(RetryScope.parseHeader(" 2\t"), 2)
  })

  it("that is longer than any number is not even read", () => {
    const unread = () => assert.fail("read")
    assert.isUndefined(RetryScope.parseHeader({ length: 1e7, toString: unread } as unknown as string))
  })

  it("whatever is sent gives nothing or the number of an attempt", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[ \t]?[0-9]{0,4}[ x]?$/)), (value) => {
        const read = RetryScope.parseHeader(value)
        if (read !== undefined) assert.isTrue(Number.isInteger(read) && read >= 1 && read <= 999)
      })
    )
  })

  it.each(["", "0", "01", "-1", "+1", "1.0", "1e2", "0x1", "1000", "one", "1,2", "١", "2\n", " ".repeat(1e6) + "1"])(
    "%j is none",
    (value) => {
      assert.isUndefined(RetryScope.parseHeader(value))
    }
  )
})
