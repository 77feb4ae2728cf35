/**
 * What a thread of `Workers.replicate` does: it loads the scenario that it was started with, then runs the shares that it is
 * sent, one after the other.
 */
import * as NodeWorkerRunner from "@effect/platform-node/NodeWorkerRunner"
import * as WorkerRunner from "@effect/platform/WorkerRunner"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { workerData } from "node:worker_threads"
import * as Source from "../Source.js"
import { answer, type Reply, type Request } from "./share.js"

const serve = Effect.gen(function* () {
  const platform = yield* WorkerRunner.PlatformRunner
  const { run, send } = yield* platform.start<Request, Reply>(yield* WorkerRunner.CloseLatch)
  const load = yield* Effect.cached(Source.load(workerData as Source.Source))
  yield* run((port, share) => Effect.flatMap(answer(load, share), (reply) => send(port, reply)))
})

// A defect is a bug of the scenario: it rejects the promise, which ends the thread and tells the one that started it.
void Effect.runPromise(Effect.provide(WorkerRunner.launch(Layer.scopedDiscard(serve)), NodeWorkerRunner.layer))
