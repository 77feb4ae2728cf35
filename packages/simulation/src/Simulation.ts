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
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as DefaultServices from "effect/DefaultServices"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { unsafeCurrentTimeMicros } from "./internal/engine.js"
import { micros } from "./internal/micros.js"
import type { Client, Scenario } from "./Scenario.js"
import * as SeededRandom from "./SeededRandom.js"
import type { Call, Failure, Handler, Run } from "./Service.js"
import * as Summary from "./Summary.js"
import * as Trace from "./Trace.js"
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
 * Runs a scenario on whatever clock the fiber has, and gives its trace when its time is over: for comparing virtual time with
 * another clock. Each client has a `Random` of its own, derived from the seed and the client's number; arrivals, thinking and
 * each part of the service have streams of their own, so that no draw of one moves another.
 *
 * @category running
 * @since 0.1.0
 */
export const record = (scenario: Scenario, options: { readonly seed: number }): Effect.Effect<Trace.Trace> =>
  Effect.clockWith((clock) => {
    const recorder = new Recorder(clock, options.seed, micros("Simulation.record", "until", scenario.until))
    return Effect.zip(scenario.service.open(recorder.run), clientOf(scenario)).pipe(
      Effect.flatMap(([service, client]) => watch(client, scenario.clients, recorder, service)),
      Effect.scoped,
      Effect.map((clients): Trace.Trace => ({
        scenario: scenario.name,
        seed: options.seed,
        engine: 2,
        generator: RandomStream.id,
        clients,
        slots: scenario.service.slots ?? null,
        layers: scenario.service.layers,
        disturbances: [...scenario.service.disturbances, ...scenario.clients.disturbances],
        until: recorder.until,
        events: recorder.events
      }))
    )
  })

const clientOf = ({ client }: Scenario): Effect.Effect<Client> =>
  Effect.isEffect(client) ? (client as Effect.Effect<Client>) : Effect.succeed(client)

/** Lets the clients come until the time is over, and tells how many came. */
const watch = (
  client: Client,
  clients: Scenario["clients"],
  recorder: Recorder,
  service: Handler
): Effect.Effect<number, never, Scope.Scope> => {
  const { now, sleep } = recorder.run
  const over = Deferred.unsafeMake<void>(FiberId.none)
  const arrivals = clients.arrivals(RandomStream.make(recorder.seed, "arrivals"))[Symbol.iterator]()
  let came = 0
  let next = arrivals.next()
  const come = (): Effect.Effect<unknown> => {
    const number = came++
    const random = SeededRandom.make(RandomStream.make(recorder.seed, "client", number))
    // Set for good, in a fiber that does nothing else: to take it back at the end would cost more than the fork.
    const withOwnRandom = FiberRef.update(DefaultServices.currentServices, Context.add(Random.Random, random))
    return Effect.zipRight(withOwnRandom, operationsOf(number, client, clients, recorder, service)).pipe(
      // A client's error is its outcome; a defect is a bug in the scenario and ends the run.
      Effect.catchAllCause((cause) => Deferred.failCause(over, cause)),
      Effect.fork
    )
  }
  return Effect.whileLoop({
    while: () => next.done !== true && next.value < recorder.until,
    body: () => {
      const wait = next.value - now()
      next = arrivals.next()
      return wait > 0 ? Effect.zipRight(sleep(wait), Effect.suspend(come)) : come()
    },
    step: () => undefined
  }).pipe(
    // What ends at `until` still counts, so the watch is over one tick of the clock later.
    Effect.zipRight(Effect.suspend(() => sleep(recorder.until + 1 - now()))),
    Effect.zipRight(Effect.sync(() => recorder.close())),
    Effect.zipRight(Deferred.succeed(over, undefined)),
    // The clients are children of this fiber and end with it.
    Effect.forkScoped,
    Effect.zipRight(Deferred.await(over)),
    Effect.map(() => came)
  )
}

/** All operations of one client, one after the other. */
const operationsOf = (
  number: number,
  client: Client,
  { operations, think }: Scenario["clients"],
  recorder: Recorder,
  service: Handler
): Effect.Effect<void> => {
  const one = (operation: number) =>
    recorder.operation(number, operation, client(recorder.attempts(number, operation, service), number))
  if (operations === 1) return one(0)
  const random = RandomStream.make(recorder.seed, "think", number)
  let done = 0
  return Effect.whileLoop({
    while: () => done < operations,
    body: () => {
      const operation = one(done++)
      return done === 1 ? operation : Effect.zipRight(recorder.run.sleep(think.sample(random)), operation)
    },
    step: () => undefined
  })
}

class Recorder {
  readonly events: Array<Trace.Event> = []
  readonly run: Run
  private readonly startedAt: number
  private closed = false

  constructor(
    private readonly clock: Clock.Clock,
    readonly seed: number,
    readonly until: number
  ) {
    this.startedAt = unsafeCurrentTimeMicros(clock)
    this.run = {
      now: () => unsafeCurrentTimeMicros(clock) - this.startedAt,
      sleep: this.sleep(),
      random: this.random(),
      worksFor: (call, takes) => this.worksFor(call, takes),
      calls: (layer, call) => this.calls(layer, call)
    }
  }

  close(): void {
    this.closed = true
  }

  operation(client: number, operation: number, self: Effect.Effect<unknown, unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const at = this.run.now()
      // What starts at the end of the watch is no longer part of it; what ends there is.
      const watched = at < this.until
      if (watched) this.events.push({ _tag: "OperationStarted", at, client, operation })
      const ended = (outcome: Trace.OperationOutcome) => {
        if (watched && !this.closed) {
          this.events.push({ _tag: "OperationEnded", at: this.run.now(), client, operation, outcome })
        }
      }
      return Effect.matchCauseEffect(self, {
        onFailure: (cause) => {
          ended(Cause.isInterruptedOnly(cause) ? "interrupted" : "gave up")
          return Cause.isFailure(cause) || Cause.isInterruptedOnly(cause)
            ? Effect.void
            : Effect.failCause(Cause.stripFailures(cause))
        },
        onSuccess: () => {
          ended("succeeded")
          return Effect.void
        }
      })
    })
  }

  /** What a client is given to call the service with: each run of it is an attempt of the operation. */
  attempts(client: number, operation: number, service: Handler): Effect.Effect<void, Failure> {
    let attempts = 0
    return Effect.suspend(() => {
      const call: Writable<Call> = { client, operation, attempt: ++attempts, goneAt: Infinity }
      const at = this.run.now()
      const watched = at < this.until
      if (watched) this.events.push({ _tag: "AttemptStarted", at, client, operation, attempt: call.attempt })
      const ended = (outcome: Trace.AttemptOutcome) => {
        call.goneAt = this.run.now()
        if (watched && !this.closed) {
          this.events.push({ _tag: "AttemptEnded", at: call.goneAt, client, operation, attempt: call.attempt, outcome })
        }
      }
      return Effect.uninterruptibleMask((restore) =>
        Effect.matchCauseEffect(restore(service(call)), {
          onFailure: (cause) => {
            ended(attemptOutcome(cause))
            return Effect.failCause(cause)
          },
          onSuccess: () => {
            ended("succeeded")
            return Effect.void
          }
        })
      )
    })
  }

  private worksFor({ attempt, client, operation }: Call, takes: number): void {
    const at = this.run.now()
    if (at < this.until) this.events.push({ _tag: "WorkStarted", at, client, operation, attempt, until: at + takes })
  }

  private calls(layer: string, { attempt, client, operation }: Call): void {
    const at = this.run.now()
    if (at < this.until) this.events.push({ _tag: "LayerCalled", at, client, operation, attempt, layer })
  }

  /** Most sleeps of a run are as long as the one before. */
  private sleep(): Run["sleep"] {
    let latest = 0
    let effect: Effect.Effect<void> = this.clock.sleep(Duration.zero)
    return (micros) => {
      if (micros !== latest) {
        effect = this.clock.sleep(Duration.millis(micros / 1000))
        latest = micros
      }
      return effect
    }
  }

  private random(): Run["random"] {
    const asked = new Map<string, number>()
    return (purpose) => {
      const before = asked.get(purpose) ?? 0
      asked.set(purpose, before + 1)
      return RandomStream.make(this.seed, "service", purpose, before)
    }
  }
}

type Writable<A> = { -readonly [K in keyof A]: A[K] }

const attemptOutcome = (cause: Cause.Cause<Failure>): Trace.AttemptOutcome => {
  if (Cause.isInterruptedOnly(cause)) return "interrupted"
  const failure = Option.getOrUndefined(Cause.failureOption(cause))
  if (failure === undefined) return "failed"
  return failure._tag === "TimedOut" ? "timed out" : `refused ${failure.status}`
}

// -----------------------------------------------------------------------------
// determinism
// -----------------------------------------------------------------------------

/**
 * Two runs of one scenario under one seed differ: something in it depends on more than the seed.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotDeterministic extends Data.TaggedError("NotDeterministic")<{
  readonly seed: number
  /** The number of the first line of the trace's text that differs, from 1. */
  readonly line: number
  readonly first: string
  readonly second: string
}> {
  override get message(): string {
    return `Two runs with seed ${this.seed} differ from line ${this.line} of the trace on:\n  ${this.first}\n  ${this.second}`
  }
}

/**
 * Runs a scenario twice under one seed and fails where the traces differ in a single byte, with the first difference; gives the
 * trace where they do not.
 *
 * @example
 * ```ts
 * import { Clients, Scenario, Service, Simulation } from "@breakwater/simulation"
 * import { Effect } from "effect"
 *
 * let runs = 0
 * const forgetful = Scenario.make({
 *   name: "state outside of the run",
 *   service: Service.unlimited({ takes: "10 millis" }),
 *   clients: Clients.together(1),
 *   client: (call) => Effect.delay(call, runs++),
 *   until: "1 second"
 * })
 * const error = Effect.runSync(Effect.flip(Simulation.checkDeterminism(forgetful, { seed: 1 })))
 * console.log(error._tag) // NotDeterministic
 * ```
 * @category determinism
 * @since 0.1.0
 */
export const checkDeterminism = (
  scenario: Scenario,
  options: { readonly seed: number }
): Effect.Effect<Trace.Trace, NotDeterministic | VirtualTime.VirtualTimeError> =>
  Effect.flatMap(Effect.all([run(scenario, options), run(scenario, options)]), ([trace, again]) => {
    const [first, second] = [lines(trace), lines(again)]
    const at = first.findIndex((line, index) => line !== second[index])
    if (at === -1 && first.length === second.length) return Effect.succeed(trace)
    const line = at === -1 ? first.length : at
    const end = "(no more)"
    return new NotDeterministic({ seed: options.seed, line: line + 1, first: first[line] ?? end, second: second[line] ?? end })
  })

const lines = (trace: Trace.Trace): ReadonlyArray<string> => Trace.toText(trace).trimEnd().split("\n")

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
