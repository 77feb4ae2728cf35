/**
 * What happened in one run, in order: plain data, equal byte for byte for equal seeds. Everything a summary or a report says is
 * a pure function of it.
 *
 * Times are whole microseconds from the start of the run. A trace holds what starts before `until` and the outcomes that are
 * there by then.
 *
 * @since 0.1.0
 */

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Trace {
  readonly scenario: string
  readonly seed: number
  /** Changes when the same seed no longer gives the same trace: another tie rule, draw order or rounding. */
  readonly engine: 2
  /** Names the generator of the random numbers. */
  readonly generator: string
  /** How many clients came before the end. */
  readonly clients: number
  /** How many calls the service can carry at once, where its model has such a number. */
  readonly slots: number | null
  /** What a call goes through, from the clients down; one name where the service stands alone. */
  readonly layers: ReadonlyArray<string>
  /** When the scenario disturbs its service or its clients: outages, faults with an end, a spike. */
  readonly disturbances: ReadonlyArray<Interval>
  readonly until: number
  readonly events: ReadonlyArray<Event>
}

/**
 * From the first instant to just before the second.
 *
 * @category models
 * @since 0.1.0
 */
export interface Interval {
  readonly from: number
  readonly to: number
}

/**
 * Clients count from 0, the operations of a client too, the attempts of an operation from 1.
 *
 * @category models
 * @since 0.1.0
 */
export type Event =
  | { readonly _tag: "OperationStarted"; readonly at: number; readonly client: number; readonly operation: number }
  | {
      readonly _tag: "AttemptStarted"
      readonly at: number
      readonly client: number
      readonly operation: number
      readonly attempt: number
    }
  /** A layer calls the one below it, which is the one that is named, for a client's attempt. */
  | {
      readonly _tag: "LayerCalled"
      readonly at: number
      readonly client: number
      readonly operation: number
      readonly attempt: number
      readonly layer: string
    }
  /** The service begins to work for an attempt, and will until `until`, whether or not the client still waits. */
  | {
      readonly _tag: "WorkStarted"
      readonly at: number
      readonly client: number
      readonly operation: number
      readonly attempt: number
      readonly until: number
    }
  | {
      readonly _tag: "AttemptEnded"
      readonly at: number
      readonly client: number
      readonly operation: number
      readonly attempt: number
      readonly outcome: AttemptOutcome
    }
  | {
      readonly _tag: "OperationEnded"
      readonly at: number
      readonly client: number
      readonly operation: number
      readonly outcome: OperationOutcome
    }

/**
 * @category models
 * @since 0.1.0
 */
export type OperationOutcome = "succeeded" | "gave up" | "interrupted"

/**
 * A refusal is told by its status. Interrupted: the client went away, most often because of a time limit of its own.
 *
 * @category models
 * @since 0.1.0
 */
export type AttemptOutcome = "succeeded" | "timed out" | "failed" | "interrupted" | `refused ${number}`

/**
 * One operation of a client, put together from its events. What had not ended by the end of the run has no `endedAt` and no
 * outcome.
 *
 * @category models
 * @since 0.1.0
 */
export interface Operation {
  readonly client: number
  readonly operation: number
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly outcome: OperationOutcome | undefined
  readonly attempts: ReadonlyArray<Attempt>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Attempt {
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly outcome: AttemptOutcome | undefined
  /** How long the service works for it, up to the end of the run. */
  readonly work: number
}

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * The operations of a trace, in the order in which they began.
 *
 * @example
 * ```ts
 * import { Clients, Scenario, Service, Simulation, Trace } from "@breakwater/simulation"
 * import { Effect } from "effect"
 *
 * const once = Scenario.make({
 *   name: "one call",
 *   service: Service.scripted({ takes: "100 millis", script: [["ok"]] }),
 *   clients: Clients.together(1),
 *   client: (call) => call,
 *   until: "1 second"
 * })
 * const trace = Effect.runSync(Simulation.run(once, { seed: 1 }))
 * console.log(Trace.operations(trace).map((operation) => operation.endedAt)) // [ 100000 ]
 * ```
 * @category getters
 * @since 0.1.0
 */
export const operations = (trace: Trace): ReadonlyArray<Operation> => {
  const inOrder: Array<OpenOperation> = []
  const byClient: Array<Array<OpenOperation>> = []
  for (const event of trace.events) {
    if (event._tag === "OperationStarted") {
      const operation: OpenOperation = {
        client: event.client,
        operation: event.operation,
        startedAt: event.at,
        endedAt: undefined,
        outcome: undefined,
        attempts: []
      }
      inOrder.push(operation)
      ;(byClient[event.client] ??= [])[event.operation] = operation
      continue
    }
    const operation = byClient[event.client]![event.operation]!
    switch (event._tag) {
      case "AttemptStarted":
        operation.attempts.push({ startedAt: event.at, endedAt: undefined, outcome: undefined, work: 0 })
        break
      case "WorkStarted":
        operation.attempts[event.attempt - 1]!.work += Math.min(event.until, trace.until) - event.at
        break
      case "AttemptEnded": {
        const attempt = operation.attempts[event.attempt - 1]!
        attempt.endedAt = event.at
        attempt.outcome = event.outcome
        break
      }
      case "OperationEnded":
        operation.endedAt = event.at
        operation.outcome = event.outcome
    }
  }
  return inOrder
}

type Writable<A> = { -readonly [K in keyof A]: A[K] }

type OpenOperation = Omit<Writable<Operation>, "attempts"> & { readonly attempts: Array<Writable<Attempt>> }

/**
 * How many attempts are in flight from each instant on, as steps in order of time. An attempt is in flight over the half-open
 * interval [start, end), so at equal instants those that end leave before those that start arrive.
 *
 * @category getters
 * @since 0.1.0
 */
export const inFlight = (trace: Trace): ReadonlyArray<{ readonly at: number; readonly count: number }> => {
  const steps: Array<{ readonly at: number; count: number }> = []
  let last: { readonly at: number; count: number } | undefined
  let count = 0
  for (const { _tag, at } of trace.events) {
    if (_tag !== "AttemptStarted" && _tag !== "AttemptEnded") continue
    count += _tag === "AttemptStarted" ? 1 : -1
    if (last === undefined || last.at !== at) steps.push((last = { at, count }))
    else last.count = count
  }
  return steps
}

/**
 * The trace as text, one JSON line for the run and one for each event: what is compared when two runs must be equal.
 *
 * @category getters
 * @since 0.1.0
 */
export const toText = ({ events, ...run }: Trace): string =>
  [run, ...events].map((line) => `${JSON.stringify(line)}\n`).join("")
