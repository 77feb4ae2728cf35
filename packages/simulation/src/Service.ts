/**
 * Models of the thing that clients call. A service is a description; `open` gives it fresh state for one run. Its calls are
 * ordinary effects that take virtual time and succeed or fail.
 *
 * ```text
 * what it can carry   unlimited, capacity, queue, rateLimited
 * what it decides     scripted, contended
 * what goes wrong     outage, failing, withFaults          each around any service
 * what is in between  remote (a network), behind (a layer) each around any service
 * ```
 *
 * A caller that goes away is not noticed: work that has begun goes on, messages under way arrive. What happens at one instant is
 * decided by intervals, as each model says, never by the order in which the clock happens to run it. A client's own time limit
 * that ends at the very instant of an answer is beyond a service: there the clock's order decides.
 *
 * @since 0.1.0
 */
import { InvalidOption, type RandomStream } from "@breakwater/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { dual } from "effect/Function"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Fault from "./Fault.js"
import * as Capacity from "./internal/capacity.js"
import * as Fifo from "./internal/fifo.js"
import * as FixedWindow from "./internal/fixedWindow.js"
import { format, interval, microsAboveZero } from "./internal/micros.js"
import * as OptimisticLock from "./internal/optimisticLock.js"
import * as Latency from "./Latency.js"
import * as SeededRandom from "./SeededRandom.js"
import type { Interval } from "./Trace.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Service {
  /** The model in words, for reports. */
  readonly description: string
  /** How many calls it can carry at once, where the model has such a number. */
  readonly slots: number | undefined
  /** What a call goes through, from the clients down; one name where the service stands alone. */
  readonly layers: ReadonlyArray<string>
  /** When it is disturbed, where that is known beforehand. */
  readonly disturbances: ReadonlyArray<Interval>
  /** Fresh state for one run. What it forks into the scope ends with the run. */
  readonly open: (run: Run) => Effect.Effect<Handler, never, Scope.Scope>
}

/**
 * What becomes of a call.
 *
 * @category models
 * @since 0.1.0
 */
export type Handler = (call: Call) => Effect.Effect<void, Failure>

/**
 * What a service may know of a call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  /** Number of the client, from 0. */
  readonly client: number
  /** Number of the operation of this client, from 0. */
  readonly operation: number
  /** Number of the client's attempt within the operation, from 1; the same for all that a layer makes of it. */
  readonly attempt: number
  /** Since when the caller has been gone, in microseconds of the run; Infinity while it waits. A call that has ended is gone. */
  readonly goneAt: number
}

/**
 * What a service has from the run it is opened for. Times are whole microseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Run {
  /** The time since the run began. */
  readonly now: () => number
  readonly sleep: (micros: number) => Effect.Effect<void>
  /** A stream of chance, another one each time it is asked for; the purpose is part of its seed. */
  readonly random: (purpose: string) => RandomStream.RandomStream
  /** Tells the trace that work on a call begins now and takes so long. */
  readonly worksFor: (call: Call, takes: number) => void
  /** Tells the trace that a layer is called. */
  readonly calls: (layer: string, call: Call) => void
}

/**
 * The service did not answer in time.
 *
 * @category models
 * @since 0.1.0
 */
export interface TimedOut {
  readonly _tag: "TimedOut"
}

/**
 * The service answered with an error status.
 *
 * @category models
 * @since 0.1.0
 */
export interface Refused {
  readonly _tag: "Refused"
  readonly status: number
  /** When the service asks its caller to come back, counted from its answer. */
  readonly retryAfter: Duration.Duration | undefined
}

/**
 * How a call can fail. Plain data: a model that makes a million of them pays for no stack traces.
 *
 * @category models
 * @since 0.1.0
 */
export type Failure = TimedOut | Refused

// -----------------------------------------------------------------------------
// failures
// -----------------------------------------------------------------------------

/**
 * @category failures
 * @since 0.1.0
 */
export const timedOut: Failure = { _tag: "TimedOut" }

/**
 * @category failures
 * @since 0.1.0
 */
export const refused = (status: number, retryAfter?: Duration.DurationInput): Failure => ({
  _tag: "Refused",
  status,
  retryAfter: retryAfter === undefined ? undefined : Duration.decode(retryAfter)
})

// -----------------------------------------------------------------------------
// own models
// -----------------------------------------------------------------------------

/**
 * A service of your own: what `open` gives is called once for each attempt.
 *
 * @example
 * ```ts
 * import { Service } from "@breakwater/simulation"
 * import { Effect } from "effect"
 *
 * // Every third call fails, whoever makes it.
 * const flaky = Service.make({
 *   description: "every third call fails",
 *   open: (run) => {
 *     let calls = 0
 *     return () =>
 *       Effect.suspend(() => {
 *         const outcome = ++calls % 3 === 0 ? Effect.fail(Service.refused(503)) : Effect.void
 *         return Effect.zipRight(run.sleep(10_000), outcome)
 *       })
 *   }
 * })
 * ```
 * @category own models
 * @since 0.1.0
 */
export const make = (options: {
  readonly description: string
  /** How many calls it can carry at once, where it has such a number. */
  readonly slots?: number | undefined
  /** Fresh state for one run. */
  readonly open: (run: Run) => Handler
}): Service => ({
  description: options.description,
  slots: options.slots,
  layers: ["service"],
  disturbances: [],
  open: (run) => Effect.sync(() => options.open(run))
})

/** Works on a call from now on. */
const work = (run: Run, call: Call, takes: number): Effect.Effect<void> => {
  run.worksFor(call, takes)
  return takes === 0 ? Effect.void : run.sleep(takes)
}

/** Never answers. `Effect.never` would hold a real timer. */
const silence: Effect.Effect<never> = Effect.async<never>(() => undefined)

// -----------------------------------------------------------------------------
// what it can carry
// -----------------------------------------------------------------------------

/**
 * A service that carries any number of calls at once and never fails: something for the wrappers to go around.
 *
 * @example
 * ```ts
 * import { Latency, Service } from "@breakwater/simulation"
 *
 * const calm = Service.unlimited({ takes: Latency.exponential({ mean: "20 millis" }) })
 * ```
 * @category what it can carry
 * @since 0.1.0
 */
export const unlimited = (options: { readonly takes: Duration.DurationInput | Latency.Latency }): Service => {
  const takes = Latency.of("Service.unlimited", "takes", options.takes)
  return make({
    description: `any number of calls at once, ${takes.description} each`,
    open: (run) => {
      const random = run.random("service")
      return (call) => Effect.suspend(() => work(run, call, takes.sample(random)))
    }
  })
}

/**
 * A service that carries a fixed number of calls at once. A start that makes more either dooms **every** call then in flight,
 * the earlier ones too: they keep their slots for their whole time and then time out. Or it is refused at once, with a 503.
 *
 * A call occupies the half-open interval [start, start + takes): one that starts at the very instant another ends does not
 * meet it, whichever of the two the clock happens to run first. A caller that gives up does not free the slot.
 *
 * @example
 * ```ts
 * import { Service } from "@breakwater/simulation"
 *
 * const checkout = Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" })
 * ```
 * @category what it can carry
 * @since 0.1.0
 */
export const capacity = (options: {
  readonly slots: number
  readonly takes: Duration.DurationInput | Latency.Latency
  /** What happens when more calls are in flight than there are slots. */
  readonly above: "everything in flight times out" | "refuse"
}): Service => {
  const slots = InvalidOption.count("Service.capacity", "slots", options.slots, 1)
  const takes = Latency.of("Service.capacity", "takes", options.takes)
  const start = options.above === "refuse" ? Capacity.refuse : Capacity.overload
  return make({
    description: `${slots} slots, ${takes.description} each; above that ${aboveInWords[options.above]}`,
    slots,
    open: (run) => {
      const random = run.random("service")
      const inFlight: Array<Capacity.InFlight> = []
      return (call) =>
        Effect.suspend(() => {
          const now = run.now()
          const time = takes.sample(random)
          const started = start(inFlight, slots, now, now + time)
          if (started === undefined) return overloaded
          return Effect.zipRight(
            work(run, call, time),
            Effect.suspend(() => (started.doomed ? tooLate : Effect.void))
          )
        })
    }
  })
}

const aboveInWords = {
  "everything in flight times out": "everything in flight times out",
  refuse: "503 at once"
}

const tooLate = Effect.fail(timedOut)

const overloaded = Effect.fail(refused(503))

/**
 * Servers that work on one call each, and a queue before them, first come, first served. Beyond the limit of the queue a call is
 * refused at once, with a 503.
 *
 * A call whose caller has gone is still worked on, for nobody, unless `dropExpired` drops it when it comes to the head: what a
 * server can do that is told the deadlines of its calls. That alone does not save an overloaded queue: first come, first served,
 * it may begin each call just before its caller goes. A caller that goes at the very instant at which its call would begin still
 * counts as there, and a call that arrives at the very instant a server is free finds it free.
 *
 * @example
 * ```ts
 * import { Latency, Service } from "@breakwater/simulation"
 *
 * const database = Service.queue({ servers: 4, takes: Latency.exponential({ mean: "12 millis" }), limit: 100 })
 * ```
 * @category what it can carry
 * @since 0.1.0
 */
export const queue = (options: {
  readonly servers: number
  readonly takes: Duration.DurationInput | Latency.Latency
  /** How many calls may wait. Default: any number. */
  readonly limit?: number | undefined
  /** Whether a call whose caller has gone is dropped at the head of the queue. Default false. */
  readonly dropExpired?: boolean | undefined
  /**
   * When the servers begin no call, while the queue grows: from the first instant to just before the second. A call that has begun
   * is finished. Default: never.
   */
  readonly pause?: { readonly from: Duration.DurationInput; readonly to: Duration.DurationInput } | undefined
}): Service => {
  const where = "Service.queue"
  const servers = atLeastOne(where, "servers", options.servers)
  const takes = Latency.of(where, "takes", options.takes)
  const rule: Fifo.Options = {
    servers,
    limit: InvalidOption.count(where, "limit", options.limit ?? Infinity),
    dropExpired: options.dropExpired === true,
    pause: options.pause === undefined ? undefined : interval(where, options.pause)
  }
  return {
    ...make({ description: queueInWords(rule, takes), slots: servers, open: () => () => silence }),
    disturbances: rule.pause === undefined ? [] : [rule.pause],
    open: (run) => {
      const random = run.random("service")
      const state = Fifo.make<Job>(rule)
      const idle: Array<(wakeUp: Effect.Effect<void>) => void> = []
      const untilNextArrival = Effect.async<void>((resume) => {
        idle.push(resume)
      })
      const serve = (server: number) => () => {
        const now = run.now()
        if (rule.pause !== undefined && Fifo.isPaused(state, now)) return run.sleep(rule.pause.to - now)
        const job = Fifo.begin(state, server, now)
        if (job === undefined) return untilNextArrival
        return Effect.zipRight(
          work(run, job.call, job.takes),
          Effect.sync(() => job.answer(Effect.void))
        )
      }
      const handle: Handler = (call) =>
        Effect.async<void, Failure>((answer) => {
          const job = { call, takes: takes.sample(random), answer }
          if (Fifo.arrive(state, job, run.now()) === "refused") return answer(overloaded)
          idle.pop()?.(Effect.void)
        })
      return Effect.forEach(
        Array.from({ length: servers }, (_, server) => serve(server)),
        (body) => Effect.forkScoped(Effect.whileLoop({ while: always, body, step: () => undefined })),
        { discard: true }
      ).pipe(Effect.as(handle))
    }
  }
}

interface Job extends Fifo.Job {
  readonly call: Call
  readonly answer: (outcome: Effect.Effect<void, Failure>) => void
}

const always = (): boolean => true

const queueInWords = ({ dropExpired, limit, pause, servers }: Fifo.Options, takes: Latency.Latency): string =>
  [
    `${servers} ${servers === 1 ? "server" : "servers"}, ${takes.description} each`,
    limit === Infinity ? "a queue without limit" : `a queue of ${limit}, beyond it 503`,
    ...(dropExpired ? ["calls that nobody waits for are dropped"] : []),
    ...(pause === undefined ? [] : [`paused from ${format(pause.from)} to ${format(pause.to)}`])
  ].join("; ")

/**
 * A service that admits a number of calls in each window of time, the first window from the start of the run, and refuses the
 * rest at once: 429, with a Retry-After to the end of the window. What it admits it carries, whatever its number.
 *
 * A window is half-open: a call at the very instant at which it ends belongs to the next.
 *
 * @example
 * ```ts
 * import { Service } from "@breakwater/simulation"
 *
 * const api = Service.rateLimited({ permits: 5, per: "1 second", takes: "20 millis" })
 * ```
 * @category what it can carry
 * @since 0.1.0
 */
export const rateLimited = (options: {
  readonly permits: number
  readonly per: Duration.DurationInput
  readonly takes: Duration.DurationInput | Latency.Latency
}): Service => {
  const where = "Service.rateLimited"
  const permits = atLeastOne(where, "permits", options.permits)
  const per = microsAboveZero(where, "per", options.per)
  const takes = Latency.of(where, "takes", options.takes)
  return make({
    description: `${permits} calls every ${format(per)}, ${takes.description} each; beyond that 429 with Retry-After`,
    open: (run) => {
      const random = run.random("service")
      const state = FixedWindow.make()
      return (call) =>
        Effect.suspend(() => {
          const time = takes.sample(random)
          const admitted = FixedWindow.take(state, permits, per, run.now())
          return admitted === "admitted" ? work(run, call, time) : Effect.fail(refused(429, Duration.millis(admitted / 1000)))
        })
    }
  })
}

// -----------------------------------------------------------------------------
// what it decides
// -----------------------------------------------------------------------------

/**
 * A service that follows a script: for each client, by its number, what each attempt of an operation gives. The last entry
 * holds for all later attempts.
 *
 * @example
 * ```ts
 * import { Service } from "@breakwater/simulation"
 *
 * const flaky = Service.scripted({
 *   takes: "100 millis",
 *   script: [
 *     [Service.refused(429, "1 second"), "ok"], // the first client is throttled once
 *     ["ok"]
 *   ]
 * })
 * ```
 * @category what it decides
 * @since 0.1.0
 */
export const scripted = (options: {
  readonly takes: Duration.DurationInput | Latency.Latency
  readonly script: ReadonlyArray<readonly [Failure | "ok", ...ReadonlyArray<Failure | "ok">]>
  /** Drawn as the service's capacity; the script itself does not care. */
  readonly slots?: number | undefined
}): Service => {
  const takes = Latency.of("Service.scripted", "takes", options.takes)
  return make({
    description: `answers by a script, ${takes.description} each`,
    slots: options.slots,
    open: (run) => {
      const random = run.random("service")
      return (call) =>
        Effect.suspend(() => {
          const outcomes = options.script[call.client]
          if (outcomes === undefined) {
            const none = `none for ${call.client}`
            return Effect.die(new InvalidOption.InvalidOption("Service.scripted", "script", "a list for every client", none))
          }
          const outcome = outcomes[Math.min(call.attempt, outcomes.length) - 1]!
          const answer = outcome === "ok" ? Effect.void : Effect.fail(outcome)
          return Effect.zipRight(work(run, call, takes.sample(random)), answer)
        })
    }
  })
}

/**
 * One row under optimistic concurrency control, behind a network. A call reads the row and writes it: request and reply of the
 * read, request and reply of the write, one hop each, and no time at the row. The write succeeds if what was read is still
 * current, and fails with 409 otherwise. Contention, not overload: the more clients, the more of them are in vain (Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
 *
 * A version is current from its write to just before the next: a read at the very instant of a write sees what was written.
 *
 * @example
 * ```ts
 * import { Latency, Service } from "@breakwater/simulation"
 *
 * const row = Service.contended({ hop: Latency.normal({ mean: "10 millis", deviation: "2 millis", folded: true }) })
 * ```
 * @category what it decides
 * @since 0.1.0
 */
export const contended = (options: { readonly hop: Duration.DurationInput | Latency.Latency }): Service => {
  const hop = Latency.of("Service.contended", "hop", options.hop)
  return make({
    description: `one row, written if still as read, else 409; four hops of ${hop.description} a call`,
    open: (run) => {
      const random = run.random("network")
      const row = OptimisticLock.make()
      return () =>
        Effect.suspend(() => {
          const readRequest = hop.sample(random)
          const betweenReadAndWrite = hop.sample(random) + hop.sample(random)
          const writeReply = run.sleep(hop.sample(random))
          return Effect.flatMap(run.sleep(readRequest), () => {
            const readAt = run.now()
            return Effect.flatMap(run.sleep(betweenReadAndWrite), () =>
              OptimisticLock.write(row, readAt, run.now()) === "written" ? writeReply : Effect.zipRight(writeReply, conflict)
            )
          })
        })
    }
  })
}

const conflict = Effect.fail(refused(409))

// -----------------------------------------------------------------------------
// what goes wrong
// -----------------------------------------------------------------------------

/**
 * Out of order for a while, from the first instant to just before the second: calls that arrive then fail at once, or hang: are
 * never answered and never reach the service. Calls that arrived before go on.
 *
 * @example
 * ```ts
 * import { Service } from "@breakwater/simulation"
 *
 * const api = Service.outage(Service.unlimited({ takes: "20 millis" }), {
 *   from: "1 second",
 *   to: "3 seconds",
 *   how: Service.refused(503)
 * })
 * ```
 * @category what goes wrong
 * @since 0.1.0
 */
export const outage: {
  (options: OutageOptions): (self: Service) => Service
  (self: Service, options: OutageOptions): Service
} = dual(2, (self: Service, options: OutageOptions): Service => {
  const { from, to } = interval("Service.outage", options)
  const { how } = options
  const answer = how === "hang" ? silence : Effect.fail(how)
  const inWords = how === "hang" ? "no answer" : how._tag === "TimedOut" ? "time-outs" : String(how.status)
  return around(self, {
    description: `${inWords} from ${format(from)} to ${format(to)}`,
    disturbances: [{ from, to }],
    open: (run, handle) => {
      const isOut = (now: number) => from <= now && now < to
      return (call) => Effect.suspend(() => (isOut(run.now()) ? answer : handle(call)))
    }
  })
})

/**
 * @category models
 * @since 0.1.0
 */
export interface OutageOptions {
  readonly from: Duration.DurationInput
  readonly to: Duration.DurationInput
  readonly how: Failure | "hang"
}

/**
 * Each call fails with a probability, independent of all else. It costs what a call costs: it takes its time, and fails instead
 * of succeeding.
 *
 * @example
 * ```ts
 * import { Service } from "@breakwater/simulation"
 *
 * const api = Service.failing(Service.unlimited({ takes: "20 millis" }), { share: 0.05 })
 * ```
 * @category what goes wrong
 * @since 0.1.0
 */
export const failing: {
  (options: FailingOptions): (self: Service) => Service
  (self: Service, options: FailingOptions): Service
} = dual(2, (self: Service, options: FailingOptions): Service => {
  const share = InvalidOption.between("Service.failing", "share", options.share, 0, 1)
  const failure = Effect.fail(options.how ?? refused(503))
  return around(self, {
    description: `${Number((100 * share).toFixed(3))} % of the calls fail`,
    open: (run, handle) => {
      const random = run.random("failing")
      return (call) => Effect.suspend(() => (random.next() < share ? Effect.zipRight(handle(call), failure) : handle(call)))
    }
  })
})

/**
 * @category models
 * @since 0.1.0
 */
export interface FailingOptions {
  /** 0 to 1. */
  readonly share: number
  /** Default: a 503. */
  readonly how?: Failure | undefined
}

/**
 * Puts rules before a service: the first that matches a call decides whether it passes, is delayed, fails or gets lost. See
 * `Fault`.
 *
 * @example
 * ```ts
 * import { Fault, Service } from "@breakwater/simulation"
 *
 * const api = Service.withFaults(Service.unlimited({ takes: "20 millis" }), [
 *   Fault.pass({ clients: [0] }),
 *   Fault.drop({ from: "1 second", to: "2 seconds", share: 0.5 }),
 *   Fault.delay("50 millis", { from: "1 second", to: "2 seconds" })
 * ])
 * ```
 * @category what goes wrong
 * @since 0.1.0
 */
export const withFaults: {
  (rules: ReadonlyArray<Fault.Fault>): (self: Service) => Service
  (self: Service, rules: ReadonlyArray<Fault.Fault>): Service
} = dual(2, (self: Service, rules: ReadonlyArray<Fault.Fault>): Service => ({
  ...self,
  description: [self.description, ...rules.map((rule) => rule.description)].join("; "),
  disturbances: [...self.disturbances, ...rules.flatMap(Fault.disturbance)],
  open: (run) =>
    Effect.zipWith(self.open(run), Effect.scope, (handle, scope) => {
      // A stream for each rule: one more rule moves no draw of another.
      const streams = rules.map(() => run.random("fault"))
      return (call) =>
        Effect.suspend(() => {
          const draws = rules.map((rule, index) => Fault.draw(rule, streams[index]!))
          const decision = Fault.decide(rules, { client: call.client, attempt: call.attempt, at: run.now() }, draws)
          switch (decision._tag) {
            case "Pass":
              return handle(call)
            case "Delay":
              return underWay(
                run,
                scope,
                decision.by,
                Effect.suspend(() => handle(call))
              )
            case "Fail":
              return Effect.fail(decision.failure)
            case "Drop":
              return silence
          }
        })
    })
}))

const around = (
  self: Service,
  options: {
    readonly description: string
    readonly disturbances?: ReadonlyArray<Interval>
    readonly open: (run: Run, handle: Handler) => Handler
  }
): Service => ({
  ...self,
  description: `${self.description}; ${options.description}`,
  disturbances: [...self.disturbances, ...(options.disturbances ?? [])],
  open: (run) => Effect.map(self.open(run), (handle) => options.open(run, handle))
})

// -----------------------------------------------------------------------------
// what is in between
// -----------------------------------------------------------------------------

/**
 * The service at the other end of a network: one hop for the request, one for the answer. A request under way arrives even if
 * its caller has gone by then.
 *
 * @example
 * ```ts
 * import { Latency, Service } from "@breakwater/simulation"
 *
 * const far = Service.remote(Service.queue({ servers: 1, takes: "3 millis" }), {
 *   hop: Latency.exponential({ mean: "10 millis" })
 * })
 * ```
 * @category what is in between
 * @since 0.1.0
 */
export const remote: {
  (options: RemoteOptions): (self: Service) => Service
  (self: Service, options: RemoteOptions): Service
} = dual(2, (self: Service, options: RemoteOptions): Service => {
  const hop = Latency.of("Service.remote", "hop", options.hop)
  return {
    ...self,
    description: `${self.description}; a network, ${hop.description} each way`,
    open: (run) =>
      Effect.zipWith(self.open(run), Effect.scope, (handle, scope) => {
        const random = run.random("network")
        return (call) =>
          Effect.suspend(() => {
            const request = hop.sample(random)
            const reply = run.sleep(hop.sample(random))
            return underWay(
              run,
              scope,
              request,
              Effect.suspend(() => handle(call))
            ).pipe(
              Effect.matchEffect({
                onFailure: (failure) => Effect.zipRight(reply, Effect.fail(failure)),
                onSuccess: () => reply
              })
            )
          })
      })
  }
})

/**
 * @category models
 * @since 0.1.0
 */
export interface RemoteOptions {
  /** How long a message takes, one way. */
  readonly hop: Duration.DurationInput | Latency.Latency
}

/** What a message brings about when it arrives. Its sender may have gone by then; it arrives all the same. */
const underWay = (
  run: Run,
  scope: Scope.Scope,
  hop: number,
  arrival: Effect.Effect<void, Failure>
): Effect.Effect<void, Failure> =>
  Effect.suspend(() => {
    const arrivesAt = run.now() + hop
    return run.sleep(hop).pipe(
      Effect.onInterrupt(() =>
        Effect.suspend(() => run.sleep(arrivesAt - run.now())).pipe(
          Effect.zipRight(Effect.ignore(arrival)),
          Effect.forkIn(scope)
        )
      ),
      Effect.zipRight(arrival)
    )
  })

/**
 * A layer in front of a service, which clients call instead. It makes one operation of each call it gets, with a policy of its own:
 * where that retries too, attempts multiply from layer to layer.
 *
 * @example
 * ```ts
 * import { Clients, Scenario, Service, Simulation, Summary } from "@breakwater/simulation"
 * import { Effect, pipe } from "effect"
 *
 * const shop = Scenario.make({
 *   name: "three layers of retries",
 *   service: pipe(
 *     Service.outage(Service.unlimited({ takes: "1 millis" }), { from: 0, to: "1 minute", how: Service.refused(503) }),
 *     Service.behind({ layer: "orders", policy: Effect.retry({ times: 2 }) }),
 *     Service.behind({ layer: "gateway", policy: Effect.retry({ times: 2 }) })
 *   ),
 *   clients: Clients.together(1),
 *   client: Effect.retry({ times: 2 }),
 *   until: "1 second"
 * })
 * console.log(Summary.of(Effect.runSync(Simulation.run(shop, { seed: 1 }))).calls) // { gateway: 3, orders: 9, service: 27 }
 * ```
 * @category what is in between
 * @since 0.1.0
 */
export const behind: {
  (options: BehindOptions): (self: Service) => Service
  (self: Service, options: BehindOptions): Service
} = dual(2, (self: Service, { cancels, layer, policy }: BehindOptions): Service => {
  const below = self.layers[0]!
  if (self.layers.includes(layer)) {
    throw new InvalidOption.InvalidOption("Service.behind", "layer", "a name that no layer has yet", layer)
  }
  return {
    ...self,
    description: `${layer}, and behind it: ${self.description}`,
    // What clients have in flight is no longer what the service has.
    slots: undefined,
    layers: [layer, ...self.layers],
    open: (run) =>
      Effect.map(Effect.all([self.open(run), Effect.scope, Effect.runtime<never>()]), ([handle, scope, runtime]) => {
        const random = SeededRandom.make(run.random("layer"))
        // Another process: nothing that the caller's fiber carries gets there.
        const start = Runtime.runFork(runtime)
        return (call) => {
          const operation = Effect.withRandom(Effect.asVoid(policy(forward(run, handle, below, call))), random)
          return Effect.suspend(() => {
            const fiber = start(operation, { scope, immediate: false })
            const answer = Effect.flatten(Fiber.await(fiber))
            return cancels === true ? Effect.onInterrupt(answer, () => Fiber.interrupt(fiber)) : answer
          })
        }
      })
  }
})

/**
 * @category models
 * @since 0.1.0
 */
export interface BehindOptions {
  /** The name of the layer, in traces and summaries. */
  readonly layer: string
  /** What the layer does with the call that it makes for each call it gets. */
  readonly policy: (call: Effect.Effect<void, Failure>) => Effect.Effect<unknown, Failure>
  /** Whether the layer gives up when its caller has gone. Default false: it goes on, retries and all, as most servers do. */
  readonly cancels?: boolean | undefined
}

/** A call of a layer to the one below, which is gone when it ends. */
const forward = (run: Run, handle: Handler, layer: string, outer: Call): Effect.Effect<void, Failure> =>
  Effect.suspend(() => {
    const call = { ...outer, goneAt: Infinity }
    run.calls(layer, call)
    return Effect.ensuring(
      handle(call),
      Effect.sync(() => {
        call.goneAt = run.now()
      })
    )
  })

// -----------------------------------------------------------------------------
// options
// -----------------------------------------------------------------------------

const atLeastOne = (where: string, field: string, value: number): number => {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new InvalidOption.InvalidOption(where, field, "a whole number, at least 1", value)
}
