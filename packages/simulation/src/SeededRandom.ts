/**
 * Effect's `Random` over core's integer generator: the same numbers for the same seed on every machine and every version of
 * Effect.
 *
 * @since 0.1.0
 */
import type { RandomStream } from "@breakwater/core"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * @example
 * ```ts
 * import { RandomStream } from "@breakwater/core"
 * import { SeededRandom } from "@breakwater/simulation"
 * import { Effect, Random } from "effect"
 *
 * const roll = Random.nextIntBetween(1, 7).pipe(Effect.withRandom(SeededRandom.make(RandomStream.make(14, "dice"))))
 * // the stream goes on: not the same roll twice
 * console.log(Effect.runSync(roll) === Effect.runSync(roll)) // false
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const make = (stream: RandomStream.RandomStream): Random.Random => {
  const between = (min: number, max: number): number => min + Math.floor(stream.next() * (max - min))
  return {
    [Random.RandomTypeId]: Random.RandomTypeId,
    next: Effect.sync(stream.next),
    nextBoolean: Effect.sync(() => stream.nextUint32() >= 0x80000000),
    nextInt: Effect.sync(() => between(0, Number.MAX_SAFE_INTEGER)),
    nextRange: (min, max) => Effect.sync(() => min + stream.next() * (max - min)),
    nextIntBetween: (min, max) => Effect.sync(() => between(min, max)),
    shuffle: (elements) =>
      Effect.sync(() => {
        const shuffled = Array.from(elements)
        for (let i = shuffled.length - 1; i > 0; i--) {
          const j = between(0, i + 1)
          const moved = shuffled[i]!
          shuffled[i] = shuffled[j]!
          shuffled[j] = moved
        }
        return Chunk.unsafeFromArray(shuffled)
      })
  }
}
