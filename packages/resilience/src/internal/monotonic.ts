import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

/**
 * Monotonic time in milliseconds, from a beginning of its own: a step of the wall clock changes nothing.
 */
export const unsafeNow = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6

export const clockOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Clock.Clock =>
  Context.get(fiber.currentDefaultServices, Clock.Clock)

export const now: Effect.Effect<number> = Effect.map(Effect.clock, unsafeNow)
