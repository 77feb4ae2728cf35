import { Retry } from "@breakwater/resilience"
import { VirtualTime } from "@breakwater/simulation"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** What one attempt does: how long it takes, and how it ends. */
export interface Attempt<E> {
  readonly takes?: number
  readonly fails?: E
  readonly hangs?: boolean
}

/** A call whose attempts follow a script, the last entry of which is repeated; it knows when it was called. */
export const scripted = <E = never>(script: ReadonlyArray<Attempt<E>>) => {
  const calls: Array<number> = []
  const call: Effect.Effect<string, E> = Effect.gen(function* () {
    calls.push(yield* Clock.currentTimeMillis)
    const { fails, hangs, takes } = script[Math.min(calls.length, script.length) - 1]!
    if (hangs === true) return yield* Effect.never
    if (takes !== undefined) yield* Effect.sleep(takes)
    if (fails !== undefined) return yield* Effect.fail(fails)
    return `answer ${calls.length}`
  })
  return { call, calls }
}

/** Runs a program in virtual time and says when it ended, in ms. */
export const timed = <A, E>(program: Effect.Effect<A, E>, seed = 1) =>
  Effect.runSync(
    VirtualTime.run(
      Effect.gen(function* () {
        const exit = yield* Effect.exit(program)
        return { exit, endedAt: yield* Clock.currentTimeMillis }
      }),
      { seed }
    )
  )

/** The account of a scripted operation under options of `Retry`, with when its calls were made and when it ended. */
export const operation = <E, const O extends Retry.Options<E>>(script: ReadonlyArray<Attempt<E>>, options: O) => {
  const { call, calls } = scripted(script)
  const { endedAt, exit } = timed(
    Retry.report(call, { log: false, ...options }) as Effect.Effect<Retry.Report<string, Retry.Failure<E, O>>>
  )
  if (exit._tag === "Failure") throw new Error(`The report failed: ${String(exit.cause)}`)
  return { ...exit.value, calls, endedAt }
}

/** Interrupts a program at a time, and waits until it has let go. */
export const interruptedAt = <A, E>(program: Effect.Effect<A, E>, millis: number) =>
  timed(
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(program)
      yield* Effect.sleep(millis)
      const exit = yield* Fiber.interrupt(fiber)
      return { exit, at: yield* Clock.currentTimeMillis }
    })
  )

/** What a program gives, how many sleeps are under way on its clock when it has ended, and how many have been begun. */
export const withSleeps = <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.clockWith((clock) => {
    const sleeps = { begun: 0, pending: 0 }
    const counting: Clock.Clock = {
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis(),
      unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
      currentTimeMillis: clock.currentTimeMillis,
      currentTimeNanos: clock.currentTimeNanos,
      sleep: (duration) =>
        Effect.suspend(() => {
          sleeps.begun++
          sleeps.pending++
          return Effect.onExit(clock.sleep(duration), () => Effect.sync(() => sleeps.pending--))
        })
    }
    return Effect.map(Effect.withClock(program, counting), (value) => ({ value, sleeps }))
  })

export const sleepsOf = <A, E, R>(program: Effect.Effect<A, E, R>) => Effect.map(withSleeps(program), ({ sleeps }) => sleeps)
