import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { isLocalRefusal } from "../LocalRefusal.js"
import { masked, type Restore } from "./masked.js"
import * as Monotonic from "./monotonic.js"

/**
 * What stands before a call: it lets the call through or refuses it, and is told how it ended. A throttle, a breaker and a bulkhead
 * are guards, and so are several in a row.
 */
export interface Guard<Refusal = unknown> {
  /** A pass at once where nothing has to be waited for or done, so that the happy path costs no step of a fiber. */
  readonly admit: (arrival: Arrival) => Pass | Effect.Effect<Pass, Refusal>
  /**
   * A refusal for which nothing has to change, if the call would get one. Who asks before it begins a region that cannot be
   * interrupted refuses for less than it lets through.
   */
  readonly refusal?: (now: number) => Exit.Exit<never, Refusal> | undefined
}

/** A call that asks to be let through, in an uninterruptible region. */
export interface Arrival {
  readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  readonly clock: Clock.Clock
  readonly restore: Restore
  /** Monotonic milliseconds. */
  readonly now: number
  /** How long it may wait to be let through, in milliseconds: what its deadline leaves. */
  readonly patience: number
}

/** Of a call that was let through. */
export interface Pass<Refusal = unknown> {
  /** A refusal after all, for a call that had to wait further in while this guard changed its mind. */
  readonly recalled?: (now: number) => Exit.Exit<never, Refusal> | undefined
  /** Told once how the call ended, `latency` milliseconds after it was let through; gives what is to be done because of it. */
  readonly settle: (verdict: Verdict, latency: number, now: number) => Effect.Effect<void> | undefined
}

/**
 * How a call ended, in the eyes of a guard.
 *
 * - `answered`: with an error that is the caller's own; the dependency is well
 * - `ignored`: interrupted, or refused on this side further in; it says nothing of the dependency
 */
export type Verdict = "success" | "failure" | "answered" | "defect" | "ignored"

export const verdictOf = <A, E>(exit: Exit.Exit<A, E>, isFailure: (error: E) => boolean): Verdict => {
  if (exit._tag === "Success") return "success"
  if (Cause.isInterruptedOnly(exit.cause)) return "ignored"
  const error = Cause.failureOption(exit.cause)
  if (error._tag === "None") return "defect"
  if (isLocalRefusal(error.value)) return "ignored"
  return isFailure(error.value) ? "failure" : "answered"
}

/** Runs an effect if a guard lets it through. `judge` may throw, as it asks functions of the user. */
export const guarded = <A, E, R, Refusal>(
  self: Effect.Effect<A, E, R>,
  guard: Guard<Refusal>,
  judge: (exit: Exit.Exit<A, E>) => Verdict
): Effect.Effect<A, E | Refusal, R> => {
  const region = masked<A, E | Refusal, R>((fiber, restore) => {
    const clock = Monotonic.clockOf(fiber)
    const arrivedAt = Monotonic.unsafeNow(clock)
    const call = (pass: Pass, startedAt: number): Effect.Effect<A, E, R> =>
      Effect.flatMap(Effect.exit(restore(self)), (exit) => {
        let verdict: Verdict = "ignored"
        let end: Effect.Effect<A, E> = exit
        try {
          verdict = judge(exit)
        } catch (defect) {
          end = Effect.die(defect)
        }
        const now = Monotonic.unsafeNow(clock)
        return after(pass.settle(verdict, now - startedAt, now), end)
      })
    const entered = guard.admit({ fiber, clock, restore, now: arrivedAt, patience: Infinity })
    return Effect.isEffect(entered)
      ? Effect.flatMap(entered, (pass) => call(pass, Monotonic.unsafeNow(clock)))
      : call(entered, arrivedAt)
  })
  return guard.refusal === undefined
    ? region
    : Effect.withFiberRuntime((fiber) => guard.refusal?.(Monotonic.unsafeNow(Monotonic.clockOf(fiber))) ?? region)
}

/** What is to be done first, if anything. */
export const after = <A, E, R>(first: Effect.Effect<void> | undefined, then: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  first === undefined ? then : Effect.zipRight(first, then)

// -----------------------------------------------------------------------------
// several in a row
// -----------------------------------------------------------------------------

/**
 * Guards one behind the other, the outermost first. Where one refuses, or the caller is interrupted while it waits, those that have
 * let the call through ignore it.
 */
export const inOrder = (guards: ReadonlyArray<Guard>): Guard | undefined =>
  guards.length < 2 ? guards[0] : { admit: (arrival) => admitFrom(0, guards, [], arrival) }

const admitFrom = (
  first: number,
  guards: ReadonlyArray<Guard>,
  passes: Array<Pass>,
  arrival: Arrival
): Pass | Effect.Effect<Pass, unknown> => {
  for (let i = first; i < guards.length; i++) {
    const entered = guards[i]!.admit(arrival)
    if (Effect.isEffect(entered)) {
      return Effect.matchCauseEffect(entered, {
        onFailure: (cause) =>
          after(settleAll(passes, "ignored", 0, Monotonic.unsafeNow(arrival.clock)), Effect.failCause(cause)),
        onSuccess: (pass) => {
          passes.push(pass)
          const now = Monotonic.unsafeNow(arrival.clock)
          for (const earlier of passes) {
            const recalled = earlier.recalled?.(now)
            if (recalled !== undefined) return after(settleAll(passes, "ignored", 0, now), recalled)
          }
          const next = admitFrom(i + 1, guards, passes, arrival)
          return Effect.isEffect(next) ? next : Effect.succeed(next)
        }
      })
    }
    passes.push(entered)
  }
  return { settle: (verdict, latency, now) => settleAll(passes, verdict, latency, now) }
}

/** The innermost first, as if each stood around the next. */
const settleAll = (
  passes: ReadonlyArray<Pass>,
  verdict: Verdict,
  latency: number,
  now: number
): Effect.Effect<void> | undefined =>
  passes.reduceRight<Effect.Effect<void> | undefined>((all, pass) => {
    const one = pass.settle(verdict, latency, now)
    return all === undefined ? one : Effect.zipRight(all, one ?? Effect.void)
  }, undefined)
