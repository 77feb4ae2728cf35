import { VirtualTime } from "@breakwater/simulation"
import type { Schedule } from "effect"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/**
 * When each call of a program that fails as long as `fail` gives an error is made under a schedule, in ms, and when the program
 * ends. Each call takes `callTakes` ms. With a limit on the virtual time where the schedule has no end of its own.
 */
export const calls = <Out, E>(
  schedule: Schedule.Schedule<Out, E>,
  fail: (call: number) => E | undefined,
  options: { readonly seed?: number; readonly callTakes?: number; readonly for?: number } = {}
): { readonly calls: ReadonlyArray<number>; readonly endedAt: number | undefined; readonly succeeded: boolean } => {
  const times: Array<number> = []
  const call = Effect.gen(function* () {
    times.push(yield* Clock.currentTimeMillis)
    if (options.callTakes !== undefined) yield* Effect.sleep(options.callTakes)
    const error = fail(times.length)
    if (error !== undefined) return yield* Effect.fail(error)
  })
  const program = Effect.gen(function* () {
    const exit = yield* Effect.exit(Effect.retry(call, schedule))
    return { endedAt: yield* Clock.currentTimeMillis, succeeded: exit._tag === "Success" }
  })
  const bounded = options.for === undefined ? program : Effect.timeoutTo(program, bound(options.for))
  const result = Effect.runSync(VirtualTime.run(bounded, { seed: options.seed }))
  return { calls: times, ...result }
}

const bound = (millis: number) => ({
  duration: millis,
  onSuccess: (result: { readonly endedAt: number; readonly succeeded: boolean }) => result,
  onTimeout: () => ({ endedAt: undefined, succeeded: false })
})

/** The waits between the calls of a program that fails `calls` times and then succeeds; the calls take no time. */
export const waits = <Out, E>(
  schedule: Schedule.Schedule<Out, E>,
  error: E,
  options: { readonly count: number; readonly seed?: number }
): ReadonlyArray<number> => {
  const { calls: times } = calls(schedule, (call) => (call <= options.count ? error : undefined), options)
  return times.slice(1).map((at, index) => at - times[index]!)
}
