import { SingleBar } from "cli-progress"
import * as Effect from "effect/Effect"

/** Shows how far long work is, with its rate and the time left, for as long as the scope is open. On stderr: stdout is the result. */
export const progressBar = (title: string, total: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const bar = new SingleBar({
        format: `${title} [{bar}] {percentage} %, {value} of {total} runs, {speed} a second, {eta_formatted} left`,
        stream: process.stderr,
        noTTYOutput: true,
        notTTYSchedule: 5000,
        hideCursor: true
      })
      bar.start(total, 0, { speed: "?" })
      return {
        update: (done: number, perSecond: number) => Effect.sync(() => bar.update(done, { speed: Math.round(perSecond) })),
        bar
      }
    }),
    ({ bar }) => Effect.sync(() => bar.stop())
  )
