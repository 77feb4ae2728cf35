import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import type * as FiberRefs from "effect/FiberRefs"
import * as Runtime from "effect/Runtime"
import type { Restore } from "./masked.js"
import { startTimer } from "./sleep.js"

/** How an effect with a time limit ended: of itself, or because it was cut. */
export interface Limited<A, E> {
  readonly exit: Exit.Exit<A, E>
  readonly cut: boolean
}

/**
 * Runs an effect in a fiber of its own and in a context of its own, cuts it after `limit` milliseconds and waits until it has
 * ended.
 *
 * The fiber starts at once, in the turn of its parent, so that an effect that ends without waiting costs no timer; what has been
 * started is gone when this ends, however it ends. It belongs into an uninterruptible region, whose `restore` it is given.
 */
export const limited = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  limit: number,
  restore: Restore,
  context: Context.Context<never>
): Effect.Effect<Limited<A, E>, never, R> =>
  Effect.withFiberRuntime((parent, { runtimeFlags }) => {
    const runtime = Runtime.make({ context: context as never, fiberRefs: parent.getFiberRefs(), runtimeFlags })
    let given: FiberRefs.FiberRefs | undefined
    const child = Runtime.runFork(runtime, restore(self) as Effect.Effect<A, E>, {
      updateRefs: (refs) => (given = refs)
    })
    const result = (exit: Exit.Exit<A, E>, cut: boolean): Effect.Effect<Limited<A, E>> =>
      exit._tag === "Success" && hasSet(child.getFiberRefs(), given!)
        ? Effect.as(inherited(child, parent.currentContext), { exit, cut })
        : Effect.succeed({ exit, cut })
    const ended = child.unsafePoll()
    if (ended !== null) return result(ended, false)

    let cut = false
    const stopTimer =
      limit === Infinity
        ? undefined
        : startTimer(limit, parent, () => {
            cut = true
            child.unsafeInterruptAsFork(parent.id())
          })
    const wait = Effect.async<Exit.Exit<A, E>>((resume) => {
      child.addObserver((exit) => {
        stopTimer?.()
        resume(Effect.succeed(exit))
      })
    }, child.id())
    return Effect.matchCauseEffect(restore(wait), {
      onSuccess: (exit) => result(exit, cut),
      onFailure: (cause) => {
        stopTimer?.()
        return Effect.zipRight(Fiber.interrupt(child), Effect.failCause(cause))
      }
    })
  })

/** Whether a fiber has set any of its references. To merge them into the parent's costs as much as to run the fiber. */
const hasSet = (after: FiberRefs.FiberRefs, before: FiberRefs.FiberRefs): boolean => {
  if (after === before) return false
  for (const [ref, values] of after.locals) {
    if (values !== before.locals.get(ref) && (ref as unknown) !== FiberRef.currentRuntimeFlags) return true
  }
  return false
}

/** What a successful effect has set in its fiber stays set, as if it had run in its parent; the context was given to it alone. */
const inherited = (child: Fiber.RuntimeFiber<unknown, unknown>, context: Context.Context<never>): Effect.Effect<void> =>
  Effect.zipRight(child.inheritAll, FiberRef.set(FiberRef.currentContext, context))
