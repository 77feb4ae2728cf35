import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as RuntimeFlags from "effect/RuntimeFlags"

/** Of an uninterruptible region: runs what is inside as interruptible as it was outside. */
export type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** As `Effect.uninterruptibleMask` with the fiber at hand, for a third less. */
export const masked = <A, E, R>(
  use: (fiber: Fiber.RuntimeFiber<unknown, unknown>, restore: Restore) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const begun = (restore: Restore) =>
    Effect.uninterruptible(
      Effect.withFiberRuntime<A, E, R>((fiber) => use(fiber as Fiber.RuntimeFiber<unknown, unknown>, restore))
    )
  const interruptible = begun(Effect.interruptible)
  const uninterruptible = begun(Effect.uninterruptible)
  return Effect.withFiberRuntime<A, E, R>((_, { runtimeFlags }) =>
    RuntimeFlags.interruptible(runtimeFlags) ? interruptible : uninterruptible
  )
}
