import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import * as LiveTimer from "./liveTimer.js"
import { clockOf } from "./monotonic.js"

/** Sleeps so many milliseconds, in pieces where one timer is too short for it; zero ends the turn, `Infinity` never ends. */
export const sleep = (millis: number, clock: Clock.Clock): Effect.Effect<void> =>
  millis <= LiveTimer.longest
    ? clock.sleep(Duration.millis(millis))
    : Effect.zipRight(
        clock.sleep(Duration.millis(LiveTimer.longest)),
        Effect.suspend(() => sleep(millis - LiveTimer.longest, clock))
      )

/**
 * Calls back after so many milliseconds on the clock of a fiber, unless what it returns is called first.
 *
 * On any clock but the live one it is a fiber that sleeps and needs nothing else. On the live one a timer of the platform does the
 * same for a tenth: most limits are never reached.
 */
export const startTimer = (millis: number, of: Fiber.RuntimeFiber<unknown, unknown>, onTime: () => void): (() => void) => {
  const clock = clockOf(of)
  if (LiveTimer.isLive(clock)) return LiveTimer.start(millis, onTime)
  const timer = Runtime.runFork(Runtime.defaultRuntime, sleep(millis, clock), { scheduler: of.currentScheduler })
  timer.addObserver((exit) => {
    if (exit._tag === "Success") onTime()
  })
  return () => timer.unsafeInterruptAsFork(of.id())
}
