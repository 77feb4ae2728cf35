import type { RetryObserver } from "@breakwater/schedule"
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"

// -----------------------------------------------------------------------------
// spans
// -----------------------------------------------------------------------------

/** The tracer of Effect itself keeps spans that nobody is shown. */
const nobodysTracer = Context.get(DefaultServices.liveServices, Tracer.Tracer)

/** An attempt as a span of its own, where somebody listens. */
export const spanned = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  fiber: Fiber.RuntimeFiber<unknown, unknown>,
  policy: string,
  attempt: number
): Effect.Effect<A, E, R> =>
  fiber.currentTracer === nobodysTracer
    ? self
    : (Effect.withSpan(self, "retry.attempt", {
        attributes: { "retry.policy": policy, "retry.attempt": attempt },
        captureStackTrace: false
      }) as Effect.Effect<A, E, R>)

// -----------------------------------------------------------------------------
// logs
// -----------------------------------------------------------------------------

/**
 * A failure that is retried is information, only the final one is an error (Azure Architecture Center, "Transient fault
 * handling"). Inside of another retry it is not final, and an interruption is no failure.
 */
export const logged = (
  policy: string,
  event: RetryObserver.Event,
  cause: Cause.Cause<unknown>,
  isFinal: boolean
): Effect.Effect<void> => {
  const annotations = { policy, attempt: event.attempt }
  if (event._tag === "Retrying") {
    const wait = Duration.format(event.wait)
    return Effect.annotateLogs(Effect.logInfo(`Attempt ${event.attempt} failed, next in ${wait}`, cause), {
      ...annotations,
      wait
    })
  }
  if (event.reason === "interrupted") return Effect.void
  const message = `Gave up after attempt ${event.attempt}: ${event.reason}`
  return Effect.annotateLogs(isFinal ? Effect.logError(message, cause) : Effect.logInfo(message, cause), {
    ...annotations,
    reason: event.reason
  })
}

export const warnOfNesting = (policy: string): Effect.Effect<void> =>
  Effect.annotateLogs(
    Effect.logWarning(
      "A retry runs inside another one: their attempts multiply. Retry in one place, or allow it in the policy"
    ),
    { policy }
  )
