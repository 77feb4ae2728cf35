/** Some seeds of a scenario, run in one go, in whichever thread. */
import { Simulation, Summary, type VirtualTime } from "@breakwater/simulation"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Seeds } from "../Part.js"
import type * as Source from "../Source.js"

/** The seeds of a share, both ends included. */
export type Request = Seeds

/** What a share ends in. Errors lose their class on the way between threads, so they travel as plain data. */
export type Reply =
  | { readonly _tag: "Ran"; readonly run: Run; readonly summaries: ReadonlyArray<Summary.Summary> }
  | { readonly _tag: "NotLoaded"; readonly missing: Source.SourceError["missing"]; readonly problem: string }
  | { readonly _tag: "RunFailed"; readonly seed: number; readonly error: PlainError }

/** What is the same for every run of a scenario. */
export interface Run {
  readonly scenario: string
  readonly engine: number
  readonly generator: string
}

/** A `VirtualTimeError` as plain data: `at` in milliseconds. */
export type PlainError =
  | { readonly _tag: "Deadlock"; readonly at: number; readonly waiting: ReadonlyArray<string> }
  | { readonly _tag: "RealAsynchrony"; readonly at: number; readonly call: string; readonly callStack: string }
  | {
      readonly _tag: "Livelock" | "TooManySteps"
      readonly at: number
      readonly steps: number
      readonly waiting: ReadonlyArray<string>
    }

const plain = (error: VirtualTime.VirtualTimeError): PlainError => {
  const at = Duration.toMillis(error.at)
  switch (error._tag) {
    case "Deadlock":
      return { _tag: error._tag, at, waiting: error.waiting }
    case "RealAsynchrony":
      return { _tag: error._tag, at, call: error.call, callStack: error.callStack }
    default:
      return { _tag: error._tag, at, steps: error.steps, waiting: error.waiting }
  }
}

/** Runs a share. */
export const answer = (load: ReturnType<typeof Source.load>, { from, to }: Request): Effect.Effect<Reply> =>
  Effect.gen(function* () {
    const scenario = yield* load
    const summaries: Array<Summary.Summary> = []
    let run: Run | undefined
    for (let seed = from; seed <= to; seed++) {
      const ended = yield* Effect.either(Simulation.run(scenario, { seed }))
      if (ended._tag === "Left") return { _tag: "RunFailed", seed, error: plain(ended.left) } as const
      const { engine, generator } = ended.right
      run = { scenario: scenario.name, engine, generator }
      summaries.push(Summary.of(ended.right))
    }
    return { _tag: "Ran", run: run!, summaries } as const
  }).pipe(Effect.catchAll(({ missing, problem }) => Effect.succeed<Reply>({ _tag: "NotLoaded", missing, problem })))
