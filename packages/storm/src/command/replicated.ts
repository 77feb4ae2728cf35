/** Many runs of a scenario, over threads, with their progress. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Seeds } from "../Part.js"
import * as Workers from "../Workers.js"
import type { Named } from "./named.js"
import { progressBar } from "./progress.js"

export interface Options {
  readonly seeds: Seeds
  readonly workers: Option.Option<number>
  /** Whether to show how far it is. */
  readonly progress: boolean
  readonly onUnfinished?: (done: Workers.Replicated) => Effect.Effect<void>
}

export const replicated = ({ name, source }: Pick<Named, "name" | "source">, options: Options) =>
  Effect.gen(function* () {
    const bar = options.progress ? yield* progressBar(name, options.seeds.to - options.seeds.from + 1) : undefined
    const done = yield* Workers.replicate(source, {
      seeds: options.seeds,
      workers: Option.getOrUndefined(options.workers),
      onProgress: bar === undefined ? undefined : ({ done, perSecond }) => bar.update(done, perSecond),
      onUnfinished: options.onUnfinished
    })
    for (const { reason, seeds } of done.crashes) {
      yield* Console.error(`A thread crashed on the seeds from ${seeds.from} to ${seeds.to}, which were run again: ${reason}`)
    }
    return done
  }).pipe(Effect.scoped)
