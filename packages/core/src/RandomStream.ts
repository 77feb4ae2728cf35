/**
 * A seeded source of chance that gives the same numbers on every machine: integer arithmetic only (sfc32, Chris Doty-Humphrey,
 * PractRand), seeded by hashing a seed together with what the stream is for. One stream per purpose and client keeps a new
 * client, or one more draw in one place, from moving every draw elsewhere.
 *
 * Not for secrets.
 *
 * @since 0.1.0
 */
import { InvalidOption } from "./InvalidOption.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface RandomStream {
  /** The next number, uniform over the multiples of 2^-53 in [0, 1). Takes two steps of the generator. */
  readonly next: () => number
  /** The next whole number from 0 to 2^32 - 1. Takes one step of the generator. */
  readonly nextUint32: () => number
}

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * Names the generator and its seeding. Golden figures are tied to it: another draw order or another hash is another name.
 *
 * @category constructors
 * @since 0.1.0
 */
export const id = "sfc32/1"

/**
 * The stream of a seed and a purpose. Equal arguments give equal streams; any difference gives an unrelated one.
 *
 * Throws `InvalidOption` for a seed that is not a whole number.
 *
 * @example
 * ```ts
 * import { RandomStream } from "@breakwater/core"
 *
 * const stream = RandomStream.make(14, "client", 3)
 * const again = RandomStream.make(14, "client", 3)
 * console.log(stream.next() === again.next()) // true
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const make = (seed: number, ...purpose: ReadonlyArray<string | number>): RandomStream => {
  if (!Number.isSafeInteger(seed)) throw new InvalidOption("RandomStream.make", "seed", "a whole number", seed)
  let [a, b, c] = hash(`${seed}/${purpose.join("/")}`)
  let counter = 1
  const nextUint32 = (): number => {
    const out = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + out) | 0
    return out >>> 0
  }
  // The first outputs still show the seed; PractRand's own seeding throws away twelve.
  for (let i = 0; i < 12; i++) nextUint32()
  return { nextUint32, next: () => ((nextUint32() >>> 5) * 0x4000000 + (nextUint32() >>> 6)) / 0x20000000000000 }
}

/** Three lanes over the text in the manner of FNV-1a, each with its own offset and prime, finished with MurmurHash3's mixer. */
const hash = (text: string): [number, number, number] => {
  let a = 0x811c9dc5
  let b = 0x9e3779b9
  let c = 0x85ebca6b
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b ^ code, 0x85ebca77)
    c = Math.imul(c ^ code, 0xc2b2ae3d)
  }
  return [mix(a), mix(b), mix(c)]
}

const mix = (lane: number): number => {
  let h = lane
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
