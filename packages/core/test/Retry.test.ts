import { Retry } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"

const plain: Retry.Circumstances = { retryable: true, idempotent: true, nested: false }

describe("a failure", () => {
  it.each<[string, Retry.Failure, Partial<Retry.Circumstances>, Retry.Final | undefined]>([
    ["an error that may pass is retried", "error", {}, undefined],
    ["an error that may not is final", "error", { retryable: false }, "not-retryable"],
    [
      "an error of an operation that must not be repeated blindly is retried: there was an answer",
      "error",
      { idempotent: false },
      undefined
    ],
    ["a time-out is retried", "timed-out", {}, undefined],
    ["a time-out is retried whatever errors are", "timed-out", { retryable: false }, undefined],
    ["a time-out of an operation that must not be repeated blindly is final", "timed-out", { idempotent: false }, "timed-out"],
    ["a cut by the deadline is final", "deadline", {}, "deadline"],
    ["a local refusal is final", "refused-locally", {}, "refused-locally"],
    ["a defect is final", "defect", {}, "defect"],
    ["an interruption is final", "interrupted", {}, "interrupted"],
    ["what would be retried is left to the caller further out", "error", { nested: true }, "nested"],
    ["a time-out too", "timed-out", { nested: true }, "nested"],
    ["what is final for a reason of its own keeps that", "error", { nested: true, retryable: false }, "not-retryable"],
    ["so does a local refusal", "refused-locally", { nested: true }, "refused-locally"]
  ])("%s", (_, failure, circumstances, final) => {
    assert.strictEqual(Retry.final(failure, { ...plain, ...circumstances }), final)
  })
})
