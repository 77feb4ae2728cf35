import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import { sleep } from "./sleep.js"

/** How an effect with a time limit ended: of itself, or because it was cut. */
export interface Limited<A, E> {
  readonly exit: Exit.Exit<A, E>
  readonly cut: boolean
}

/** Of `Effect.uninterruptibleMask`. */
export type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Runs an effect in a fiber of its own, which is cut after `limit` milliseconds and waited for until it has ended.
 *
 * The fiber starts at once, in the turn of its parent, so that an effect that ends without waiting costs no timer; what has been
 * started is gone when this ends, however it ends. It belongs into an uninterruptible region, whose `restore` it is given.
 */
export const limited = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  limit: number,
  restore: Restore
): Effect.Effect<Limited<A, E>, never, R> =>
  Effect.withFiberRuntime((parent, { runtimeFlags }) => {
    const fork = Runtime.runFork(
      Runtime.make({ context: parent.currentContext as never, fiberRefs: parent.getFiberRefs(), runtimeFlags })
    )
    const child = fork(restore(self) as Effect.Effect<A, E>)
    const ended = child.unsafePoll()
    if (ended !== null) return result(child, ended, false)

    let cut = false
    const timer = fork(Effect.interruptible(sleep(limit)))
    timer.addObserver((exit) => {
      if (exit._tag === "Failure") return
      cut = true
      child.unsafeInterruptAsFork(parent.id())
    })
    const wait = Effect.async<Exit.Exit<A, E>>((resume) => {
      child.addObserver((exit) => {
        timer.unsafeInterruptAsFork(parent.id())
        resume(Effect.succeed(exit))
      })
    }, child.id())
    return restore(wait).pipe(
      Effect.onInterrupt(() => Effect.zipRight(Fiber.interrupt(timer), Fiber.interrupt(child))),
      Effect.flatMap((exit) => result(child, exit, cut))
    )
  })

/** What a successful effect has set in its fiber stays set, as if it had run in the fiber of its parent. */
const result = <A, E>(child: Fiber.RuntimeFiber<A, E>, exit: Exit.Exit<A, E>, cut: boolean): Effect.Effect<Limited<A, E>> =>
  exit._tag === "Success" ? Effect.as(child.inheritAll, { exit, cut }) : Effect.succeed({ exit, cut })
