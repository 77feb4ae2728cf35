/**
 * What a closed breaker remembers of its calls, and when that is enough to open. Rings that are changed in place: a copy would cost
 * as much as the window is long. Every step is O(1), whatever the window.
 */
import * as InvalidOption from "../InvalidOption.js"

/** Of one kind of rule, for one time of being closed. */
export interface Window {
  /** Adds a call, and says whether the breaker must open now. `bad` is a failure, or a call that was too slow. */
  readonly add: (bad: boolean, now: number) => boolean
}

/** So many bad calls in a row. */
export const consecutive = (threshold: number): Window => {
  let inARow = 0
  return { add: (bad) => (inARow = bad ? inARow + 1 : 0) >= threshold }
}

/** So many bad calls in any span of `length` ms: the times of the last ones are all that has to be known. */
export const withinTime = (threshold: number, length: number): Window => {
  const times = new Array<number>(threshold).fill(-Infinity)
  let next = 0
  return {
    add: (bad, now) => {
      if (!bad) return false
      times[next] = now
      next = (next + 1) % threshold
      // The oldest of the last `threshold` is the one that would be overwritten next.
      return times[next]! > now - length
    }
  }
}

/** A share of the last `length` calls. */
export const rateOfCalls = (threshold: number, length: number, minimumCalls: number): Window => {
  const ring = new Uint8Array(length)
  let calls = 0
  let badCalls = 0
  return {
    add: (bad) => {
      const at = calls % length
      if (calls >= length) badCalls -= ring[at]!
      ring[at] = bad ? 1 : 0
      if (bad) badCalls++
      calls++
      const counted = Math.min(calls, length)
      return bad && counted >= minimumCalls && badCalls >= threshold * counted
    }
  }
}

const bucketCount = 10

/** A share of the calls of the last `length` ms, in tenths of it: what counts is between nine and ten tenths of it old. */
export const rateOfTime = (threshold: number, length: number, minimumCalls: number): Window => {
  const calls = new Array<number>(bucketCount).fill(0)
  const badCalls = new Array<number>(bucketCount).fill(0)
  let current = -Infinity
  let allCalls = 0
  let allBad = 0
  const forget = (bucket: number) => {
    allCalls -= calls[bucket]!
    allBad -= badCalls[bucket]!
    calls[bucket] = badCalls[bucket] = 0
  }
  const advance = (to: number) => {
    if (to <= current) return
    if (to - current >= bucketCount) for (let bucket = 0; bucket < bucketCount; bucket++) forget(bucket)
    else for (let slot = current + 1; slot <= to; slot++) forget(slot % bucketCount)
    current = to
  }
  return {
    add: (bad, now) => {
      advance(Math.floor((now * bucketCount) / length))
      const bucket = ((current % bucketCount) + bucketCount) % bucketCount
      calls[bucket]!++
      allCalls++
      if (bad) {
        badCalls[bucket]!++
        allBad++
      }
      return bad && allCalls >= minimumCalls && allBad >= threshold * allCalls
    }
  }
}

export const count = (where: string, field: string, value: number): number => {
  const checked = InvalidOption.count(where, field, value, 1)
  if (checked <= longestRing) return checked
  throw new InvalidOption.InvalidOption(where, field, `at most ${longestRing}`, value)
}

/** What one breaker may remember: a million calls. */
const longestRing = 1e6
