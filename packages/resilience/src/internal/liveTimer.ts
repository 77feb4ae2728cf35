import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"

/** Neither of the browser nor of Node: it runs in both. */
declare const setTimeout: (onTime: () => void, millis: number) => unknown
declare const clearTimeout: (timer: unknown) => void

/** The clock that is real time. */
const live = Context.get(DefaultServices.liveServices, Clock.Clock)

export const isLive = (clock: Clock.Clock): boolean => clock === live

/** What a timer of the platform can wait for: 2^31 - 1 ms, 24.8 days. The live clock never wakes from more. */
export const longest = 2 ** 31 - 1

/** Calls back after so many milliseconds of real time, unless what it returns is called first. */
export const start = (millis: number, onTime: () => void): (() => void) => {
  let timer = setTimeout(next, Math.min(millis, longest))
  let left = millis - longest
  function next() {
    if (left <= 0) return onTime()
    timer = setTimeout(next, Math.min(left, longest))
    left -= longest
  }
  return () => clearTimeout(timer)
}
