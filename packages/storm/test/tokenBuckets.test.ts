import { Storm, TokenBuckets } from "@breakwater/storm"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const holds = async (storm: Storm.Storm): Promise<void> => {
  const { figures } = await Effect.runPromise(Effect.zipRight(Effect.sleep(0), Storm.check(storm)))
  for (const { figure, holds, measured } of figures) {
    assert.isTrue(holds, `${figure.name} must be ${figure.expected}, is ${measured}`)
  }
}

/** What the catalogue does not have of it. */
const others = TokenBuckets.samples
  .flatMap(TokenBuckets.strategies)
  .filter(({ id }) => TokenBuckets.storms.every((storm) => storm.id !== id))

describe("the table of strategies by the share of calls that fail", () => {
  it.each(others)("$id $title", holds)
})
