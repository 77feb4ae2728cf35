/**
 * Runs a scenario under many seeds, over worker threads.
 *
 * ```text
 * seeds 1..20,000  ->  shares of at most 100  ->  a thread takes the next share when it is done with its last
 * ```
 *
 * The summaries do not depend on how many threads there are, nor on which of them ran what: they are those of
 * `Simulation.replicate`. The scenario is named, see `Source`, and each thread loads it.
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import { VirtualTime } from "@breakwater/simulation"
import * as NodeWorker from "@effect/platform-node/NodeWorker"
import * as PlatformWorker from "@effect/platform/Worker"
import type { WorkerError } from "@effect/platform/WorkerError"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Mailbox from "effect/Mailbox"
import type * as Scope from "effect/Scope"
import * as os from "node:os"
import { Worker } from "node:worker_threads"
import { answer, type PlainError, type Reply, type Request, type Run } from "./internal/share.js"
import * as Part from "./Part.js"
import * as Source from "./Source.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Both ends included. */
  readonly seeds: Part.Seeds
  /** How many threads at most; 0 is this one. Default: as many as the machine runs at the same time. */
  readonly workers?: number | undefined
  /** Told after each share. */
  readonly onProgress?: ((progress: Progress) => Effect.Effect<void>) | undefined
  /**
   * Told what is done when an interruption or an error ends the run early, once its threads have ended: the seeds from the first
   * one on without a gap, because later ones that happen to be done first are those that ran quickest. Not told where nothing is
   * done.
   */
  readonly onUnfinished?: ((done: Replicated) => Effect.Effect<void>) | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Progress {
  /** How many runs. */
  readonly done: number
  readonly total: number
  /** Since the first share was done: the start of the threads says nothing about what is left. */
  readonly perSecond: number
  readonly secondsLeft: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Replicated {
  /** What has been run, in order of the seeds. */
  readonly part: Part.Part
  /** Whether all seeds have been run. */
  readonly complete: boolean
  /** What threads crashed of; their shares were run again. */
  readonly crashes: ReadonlyArray<Crash>
}

/**
 * A thread that ended in the middle of its share.
 *
 * @category models
 * @since 0.1.0
 */
export interface Crash {
  /** The share; which of its seeds it was is not known. */
  readonly seeds: Part.Seeds
  readonly reason: string
}

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * The scenario cannot be run: the error of virtual time, with the lowest seed for which it comes.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunFailed extends Data.TaggedError("RunFailed")<{
  readonly seed: number
  readonly error: VirtualTime.VirtualTimeError
}> {
  override get message(): string {
    return `Seed ${this.seed}: ${this.error.message}`
  }
}

/**
 * One and the same share crashed three threads.
 *
 * @category errors
 * @since 0.1.0
 */
export class WorkerCrashed extends Data.TaggedError("WorkerCrashed")<Crash> {
  override get message(): string {
    const { from, to } = this.seeds
    return `The seeds from ${from} to ${to} crashed each of ${tries} threads, the last one by: ${this.reason}`
  }
}

/** How many threads a share may crash. */
const tries = 3

// -----------------------------------------------------------------------------
// replication
// -----------------------------------------------------------------------------

/**
 * Runs the scenario under each of the seeds and gives the figures of each run in order of the seeds.
 *
 * @example
 * ```ts
 * import { Workers } from "@breakwater/storm"
 * import { Console, Effect } from "effect"
 *
 * const program = Workers.replicate(
 *   { _tag: "Catalogue", id: "A4" },
 *   {
 *     seeds: { from: 1, to: 500 },
 *     onUnfinished: ({ part }) => Console.log(`Ended early, after seed ${part.seeds.to}.`)
 *   }
 * )
 * const { complete, part } = await Effect.runPromise(program)
 * console.log(complete, part.summaries.length) // true 500
 * ```
 * @category replication
 * @since 0.1.0
 */
export const replicate = (
  source: Source.Source,
  options: Options
): Effect.Effect<Replicated, Source.SourceError | RunFailed | WorkerCrashed> => {
  const from = whole("seeds.from", options.seeds.from, Number.MIN_SAFE_INTEGER)
  const to = whole("seeds.to", options.seeds.to, from)
  const workers = whole("workers", options.workers ?? os.availableParallelism(), 0)
  return Effect.flatMap(Clock.currentTimeMillis, (startedAt) => {
    const sweep = new Sweep(source, { ...options, seeds: { from, to } }, workers, startedAt)
    return sweep.run.pipe(Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : sweep.tellUnfinished)))
  })
}

const whole = (field: string, value: number, least: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new InvalidOption.InvalidOption("Workers.replicate", field, `a whole number, at least ${least}`, value)
}

/** Some seeds, which one thread runs in one go. */
interface Share {
  readonly seeds: Part.Seeds
  /** How many threads it has crashed. */
  crashed: number
  ran?: Extract<Reply, { readonly _tag: "Ran" }>
}

class Sweep {
  private readonly shares: ReadonlyArray<Share>
  private readonly total: number
  /** How many shares have been given to a thread. */
  private given = 0
  /** Shares to be run again. */
  private readonly again: Array<Share> = []
  private readonly crashes: Array<Crash> = []
  private failed: RunFailed | undefined
  private done = 0
  private firstDone: { readonly at: number; readonly done: number } | undefined

  constructor(
    private readonly source: Source.Source,
    private readonly options: Options,
    private readonly workers: number,
    private readonly startedAt: number
  ) {
    const { from, to } = options.seeds
    this.total = to - from + 1
    // Small enough to show progress and to keep all threads busy to the end, large enough that handing it over costs nothing.
    const size = Math.min(100, Math.ceil(this.total / (50 * Math.max(1, workers))))
    this.shares = Array.from({ length: Math.ceil(this.total / size) }, (_, index) => ({
      seeds: { from: from + index * size, to: Math.min(to, from + (index + 1) * size - 1) },
      crashed: 0
    }))
  }

  get run(): Effect.Effect<Replicated, Source.SourceError | RunFailed | WorkerCrashed> {
    const threads = Array.from({ length: Math.min(this.workers, this.shares.length) }, () => this.thread)
    const all = this.workers === 0 ? this.here : Effect.all(threads, { concurrency: "unbounded", discard: true })
    return all.pipe(Effect.flatMap(() => this.failed ?? Effect.succeed(this.replicated(this.shares))))
  }

  get tellUnfinished(): Effect.Effect<void> {
    const open = this.shares.findIndex(({ ran }) => ran === undefined)
    const done = this.shares.slice(0, open)
    return done.length === 0 ? Effect.void : (this.options.onUnfinished?.(this.replicated(done)) ?? Effect.void)
  }

  private replicated(shares: ReadonlyArray<Share>): Replicated {
    const run: Run = shares[0]!.ran!.run
    const seeds = { from: shares[0]!.seeds.from, to: shares[shares.length - 1]!.seeds.to }
    return {
      part: Part.make({ source: this.source, ...run, seeds, summaries: shares.flatMap(({ ran }) => ran!.summaries) }),
      complete: shares.length === this.shares.length,
      crashes: this.crashes
    }
  }

  /** Shares are given out in order of their seeds, so what is lower than a seed that failed is done or at work. */
  private next(): Share | undefined {
    return this.again.pop() ?? (this.failed === undefined ? this.shares[this.given++] : undefined)
  }

  /** This thread, where timers and signals get their turn between the shares. */
  private get here(): Effect.Effect<void, Source.SourceError> {
    return Effect.flatMap(Effect.cached(Source.load(this.source)), (load) =>
      this.rest({ share: this.next() }, (share) => Effect.zipRight(Effect.sleep(0), answer(load, share)))
    )
  }

  /** A thread from its first share to its last; after a crash another one takes its place. */
  private get thread(): Effect.Effect<void, Source.SourceError | WorkerCrashed> {
    return Effect.suspend(() => {
      const at = { share: this.next() }
      if (at.share === undefined) return Effect.void
      return start(this.source).pipe(
        Effect.flatMap((ask) => this.rest(at, ask)),
        Effect.scoped,
        Effect.catchTag("WorkerError", (error) => Effect.zipRight(this.crash(at.share!, error), this.thread))
      )
    })
  }

  /** The share that is at hand, and all that are left after it. */
  private rest<E>(
    at: { share: Share | undefined },
    ask: (share: Request) => Effect.Effect<Reply, E>
  ): Effect.Effect<void, E | Source.SourceError> {
    return Effect.whileLoop({
      while: () => at.share !== undefined,
      body: () => Effect.flatMap(ask(at.share!.seeds), (reply) => this.settle(at.share!, reply)),
      step: () => {
        at.share = this.next()
      }
    })
  }

  private settle(share: Share, reply: Reply): Effect.Effect<void, Source.SourceError> {
    switch (reply._tag) {
      case "Ran":
        share.ran = reply
        this.done += reply.summaries.length
        return this.tellProgress
      case "RunFailed":
        if (this.failed === undefined || reply.seed < this.failed.seed) {
          this.failed = new RunFailed({ seed: reply.seed, error: virtualTimeError(reply.error) })
        }
        return Effect.void
      case "NotLoaded":
        return new Source.SourceError({ source: this.source, missing: reply.missing, problem: reply.problem })
    }
  }

  private crash(share: Share, { cause }: WorkerError): Effect.Effect<void, WorkerCrashed> {
    const crash: Crash = { seeds: share.seeds, reason: cause instanceof Error ? cause.message : String(cause) }
    this.crashes.push(crash)
    if (++share.crashed >= tries) return new WorkerCrashed(crash)
    this.again.push(share)
    return Effect.void
  }

  private get tellProgress(): Effect.Effect<void> {
    const { onProgress } = this.options
    if (onProgress === undefined) return Effect.void
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { done, total } = this
      const since = this.firstDone ?? { at: this.startedAt, done: 0 }
      this.firstDone ??= { at: now, done }
      const perSecond = (1000 * (done - since.done)) / Math.max(1, now - since.at)
      return onProgress({ done, total, perSecond, secondsLeft: (total - done) / perSecond })
    })
  }
}

const virtualTimeError = (plain: PlainError): VirtualTime.VirtualTimeError => {
  const at = Duration.millis(plain.at)
  switch (plain._tag) {
    case "Deadlock":
      return new VirtualTime.Deadlock({ ...plain, at })
    case "RealAsynchrony":
      return new VirtualTime.RealAsynchrony({ ...plain, at })
    case "Livelock":
      return new VirtualTime.Livelock({ ...plain, at })
    case "TooManySteps":
      return new VirtualTime.TooManySteps({ ...plain, at })
  }
}

// -----------------------------------------------------------------------------
// threads
// -----------------------------------------------------------------------------

/** The compiled worker; where this file runs as TypeScript, a few lines of JavaScript that load the worker's source. */
const entry = new URL("./internal/worker.js", import.meta.url)

/**
 * A thread for as long as the scope is open, as a function that has it run a share.
 *
 * The pool of `@effect/platform` would start a crashed thread anew each second for ever, tell of it only in the log, and wait up
 * to five seconds at the end for a thread that is busy. So this takes its platform's threads, without the pool.
 */
const start = (source: Source.Source): Effect.Effect<Ask, WorkerError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      const worker = new Worker(entry, { workerData: source })
      return Effect.map(connect.pipe(Effect.provide(NodeWorker.layerPlatform(() => worker))), (ask) => ({ worker, ask }))
    }),
    // Before what `connect` leaves to the end of the scope, so nothing waits for what the thread is at.
    ({ worker }) => Effect.promise(() => worker.terminate())
  ).pipe(Effect.map(({ ask }) => ask))

type Ask = (share: Request) => Effect.Effect<Reply, WorkerError>

const connect: Effect.Effect<Ask, WorkerError, PlatformWorker.PlatformWorker | PlatformWorker.Spawner | Scope.Scope> =
  Effect.gen(function* () {
    const platform = yield* PlatformWorker.PlatformWorker
    const thread = yield* platform.spawn<Request, Reply>(0)
    const replies = yield* Mailbox.make<Reply, WorkerError>()
    yield* thread
      .run((message) => (message[0] === 1 ? replies.offer(message[1]) : Effect.void))
      .pipe(Mailbox.into(replies), Effect.interruptible, Effect.forkScoped)
    // The mailbox ends by the error of the thread alone.
    return (share) =>
      Effect.zipRight(thread.send(share), replies.take).pipe(Effect.catchTag("NoSuchElementException", Effect.die))
  })
