import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import { clockOf } from "./monotonic.js"

/** What a timer of the platform can wait for: 2^31 - 1 ms, 24.8 days. The live clock never wakes from more. */
const longest = 2 ** 31 - 1

/** Sleeps so many milliseconds, in pieces where one timer is too short for it; zero ends the turn, `Infinity` never ends. */
export const sleep = (millis: number, clock: Clock.Clock): Effect.Effect<void> =>
  millis <= longest
    ? clock.sleep(Duration.millis(millis))
    : Effect.zipRight(
        clock.sleep(Duration.millis(longest)),
        Effect.suspend(() => sleep(millis - longest, clock))
      )

/** A fiber that sleeps on the clock of another one, and needs nothing else of it. */
export const startTimer = (millis: number, of: Fiber.RuntimeFiber<unknown, unknown>): Fiber.RuntimeFiber<void> =>
  Runtime.runFork(Runtime.defaultRuntime, sleep(millis, clockOf(of)), { scheduler: of.currentScheduler })
