/**
 * Runs a scenario and records what happens: once, or under many seeds.
 *
 * ```text
 * Scenario -> Simulation -> Trace -> Summary
 * ```
 *
 * @since 0.1.0
 */
import { InvalidOption, RandomStream } from "@breakwater/core"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { Scenario } from "./Scenario.js"
import * as SeededRandom from "./SeededRandom.js"
import type { Failure } from "./Service.js"
import * as Summary from "./Summary.js"
import type * as Trace from "./Trace.js"
import * as VirtualTime from "./VirtualTime.js"

// -----------------------------------------------------------------------------
// running
// -----------------------------------------------------------------------------

/**
 * Runs a scenario in virtual time. Same seed, same trace, byte for byte.
 *
 * @example
 * ```ts
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Clients, Scenario, Service, Simulation, Summary } from "@breakwater/simulation"
 * import { Effect } from "effect"
 *
 * const noon = Scenario.make({
 *   name: "checkout at noon",
 *   service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
 *   clients: Clients.together(6),
 *   client: (call) =>
 *     call.pipe(
 *       Effect.retry(Backoff.exponential({ base: "100 millis", cap: "800 millis" }).pipe(Jitter.full, Limit.attempts(5)))
 *     ),
 *   until: "2 seconds"
 * })
 *
 * const trace = Effect.runSync(Simulation.run(noon, { seed: 14 }))
 * console.log(Summary.of(trace).succeeded) // 6
 * ```
 * @category running
 * @since 0.1.0
 */
export const run = (
  scenario: Scenario,
  options: { readonly seed: number }
): Effect.Effect<Trace.Trace, VirtualTime.VirtualTimeError> => VirtualTime.run(record(scenario, options), options)

/**
 * Runs a scenario on whatever clock the fiber has, and gives its trace when it is over: for comparing virtual time with another
 * clock. Each client has a `Random` of its own, derived from the seed and the client's number.
 *
 * @category running
 * @since 0.1.0
 */
export const record = (scenario: Scenario, options: { readonly seed: number }): Effect.Effect<Trace.Trace> =>
  Effect.clockWith((clock) => {
    const recorder = new Recorder(clock, Math.round(Duration.toMillis(scenario.until) * 1000))
    const service = scenario.service.open()
    const operations = scenario.clients.startsAt.map((startsAt, client) => {
      const operation = recorder.operation(client, scenario.client(recorder.call(client, service)))
      const random = SeededRandom.make(RandomStream.make(options.seed, "client", client))
      return Effect.withRandom(
        Duration.equals(startsAt, Duration.zero) ? operation : Effect.zipRight(Effect.sleep(startsAt), operation),
        random
      )
    })
    return Effect.forEach(operations, (operation) => operation, { concurrency: "unbounded", discard: true }).pipe(
      // What ends at `until` still counts, so the watch is over one tick of the clock later.
      Effect.raceFirst(
        Effect.zipRight(
          clock.sleep(Duration.sum(scenario.until, Duration.micros(1n))),
          Effect.sync(() => recorder.close())
        )
      ),
      Effect.map((): Trace.Trace => ({
        scenario: scenario.name,
        seed: options.seed,
        engine: 1,
        generator: RandomStream.id,
        clients: operations.length,
        slots: scenario.service.slots ?? null,
        until: recorder.until,
        events: recorder.events
      }))
    )
  })

class Recorder {
  readonly events: Array<Trace.Event> = []
  private readonly startedAt: number
  private closed = false

  constructor(
    private readonly clock: Clock.Clock,
    readonly until: number
  ) {
    this.startedAt = VirtualTime.unsafeCurrentTimeMicros(clock)
  }

  close(): void {
    this.closed = true
  }

  operation(client: number, self: Effect.Effect<unknown, unknown>): Effect.Effect<void> {
    return this.span(
      self,
      (at) => ({ _tag: "OperationStarted", at, client }),
      (at, exit) => ({ _tag: "OperationEnded", at, client, outcome: operationOutcome(exit) })
      // A client's error is its outcome; a defect is a bug in the scenario and ends the run.
    ).pipe(Effect.ignore)
  }

  call(
    client: number,
    service: (call: { readonly client: number; readonly attempt: number }) => Effect.Effect<void, Failure>
  ): Effect.Effect<void, Failure> {
    let attempts = 0
    return Effect.suspend(() => {
      const attempt = ++attempts
      return this.span(
        service({ client, attempt }),
        (at) => ({ _tag: "AttemptStarted", at, client, attempt }),
        (at, exit) => ({ _tag: "AttemptEnded", at, client, attempt, outcome: attemptOutcome(exit) })
      )
    })
  }

  private span<A, E>(
    self: Effect.Effect<A, E>,
    started: (at: number) => Trace.Event,
    ended: (at: number, exit: Exit.Exit<A, E>) => Trace.Event
  ): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const at = this.now()
      // What starts at the end of the watch is no longer part of it; what ends there is.
      if (at >= this.until) return self
      this.events.push(started(at))
      return Effect.onExit(self, (exit) =>
        Effect.sync(() => {
          if (!this.closed) this.events.push(ended(this.now(), exit))
        })
      )
    })
  }

  private now(): number {
    return VirtualTime.unsafeCurrentTimeMicros(this.clock) - this.startedAt
  }
}

const operationOutcome = (exit: Exit.Exit<unknown, unknown>): Trace.OperationOutcome => {
  if (Exit.isSuccess(exit)) return "succeeded"
  return Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "gave up"
}

const attemptOutcome = (exit: Exit.Exit<void, Failure>): Trace.AttemptOutcome => {
  if (Exit.isSuccess(exit)) return "succeeded"
  if (Cause.isInterruptedOnly(exit.cause)) return "interrupted"
  const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
  if (failure === undefined) return "failed"
  return failure._tag === "TimedOut" ? "timed out" : `refused ${failure.status}`
}

// -----------------------------------------------------------------------------
// replication
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface ReplicateOptions {
  /** How many runs. */
  readonly seeds: number
  /** The first seed; each run takes the next. Default 1. */
  readonly firstSeed?: number | undefined
  /** Told now and then how many runs are done. */
  readonly onProgress?: ((done: number) => Effect.Effect<void>) | undefined
}

/**
 * Runs the same scenario under many seeds, in this process, and gives the figures of each run in order of the seeds.
 *
 * @example
 * ```ts
 * import { Clients, Scenario, Service, Simulation } from "@breakwater/simulation"
 * import { Effect } from "effect"
 *
 * const crowd = Scenario.make({
 *   name: "two at once, no retry",
 *   service: Service.capacity({ slots: 1, takes: "100 millis", above: "everything in flight times out" }),
 *   clients: Clients.together(2),
 *   client: (call) => call,
 *   until: "1 second"
 * })
 *
 * const summaries = await Effect.runPromise(Simulation.replicate(crowd, { seeds: 100 }))
 * console.log(summaries.filter((summary) => summary.succeeded > 0).length) // 0
 * ```
 * @category replication
 * @since 0.1.0
 */
export const replicate = (
  scenario: Scenario,
  options: ReplicateOptions
): Effect.Effect<ReadonlyArray<Summary.Summary>, VirtualTime.VirtualTimeError> => {
  const seeds = InvalidOption.count("Simulation.replicate", "seeds", options.seeds, 1)
  const firstSeed = options.firstSeed ?? 1
  return Effect.gen(function* () {
    const summaries: Array<Summary.Summary> = []
    for (let done = 0; done < seeds; done++) {
      if (done > 0 && done % runsPerTurn === 0) {
        if (options.onProgress !== undefined) yield* options.onProgress(done)
        // Real timers and signals get their turn between the runs.
        yield* Effect.sleep(0)
      }
      summaries.push(Summary.of(yield* run(scenario, { seed: firstSeed + done })))
    }
    if (options.onProgress !== undefined) yield* options.onProgress(seeds)
    return summaries
  })
}

const runsPerTurn = 100
