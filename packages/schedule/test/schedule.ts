import { Effect, TestClock, TestContext } from "effect"
import type { Schedule } from "effect"
import * as Clock from "effect/Clock"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"

/** When each call of a program that always fails with `error` is made under a schedule, in ms, and when the error comes out. */
export const callTimes = <Out, E>(
  schedule: Schedule.Schedule<Out, E>,
  error: E,
  options: { readonly for: number; readonly seed?: string }
): Promise<{ readonly calls: ReadonlyArray<number>; readonly endedAt: number | undefined }> =>
  Effect.gen(function* () {
    const calls: Array<number> = []
    let endedAt: number | undefined
    const call = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      calls.push(now)
      return Effect.fail(error)
    })
    const fiber = yield* call.pipe(
      Effect.retry(schedule),
      Effect.exit,
      Effect.zipLeft(Effect.map(Clock.currentTimeMillis, (now) => (endedAt = now))),
      Effect.withRandom(Random.make(options.seed ?? "seed")),
      Effect.fork
    )
    yield* TestClock.adjust(options.for)
    yield* Fiber.interrupt(fiber)
    return { calls, endedAt }
  }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)

/** The waits between call times. */
export const gaps = (calls: ReadonlyArray<number>): ReadonlyArray<number> =>
  calls.slice(1).map((at, index) => at - calls[index]!)
