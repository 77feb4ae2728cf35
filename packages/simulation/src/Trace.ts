/**
 * What happened in one run, in order: plain data, equal byte for byte for equal seeds. Everything a summary or a report says is
 * a pure function of it.
 *
 * Times are whole microseconds from the start of the run. A trace holds the attempts that start before `until` and the
 * outcomes that are there by then.
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
  readonly engine: 1
  /** Names the generator of the random numbers. */
  readonly generator: string
  readonly clients: number
  /** How many calls the service can carry at once, where its model has such a number. */
  readonly slots: number | null
  readonly until: number
  readonly events: ReadonlyArray<Event>
}

/**
 * @category models
 * @since 0.1.0
 */
export type Event =
  | { readonly _tag: "OperationStarted"; readonly at: number; readonly client: number }
  | { readonly _tag: "AttemptStarted"; readonly at: number; readonly client: number; readonly attempt: number }
  | {
      readonly _tag: "AttemptEnded"
      readonly at: number
      readonly client: number
      readonly attempt: number
      readonly outcome: AttemptOutcome
    }
  | {
      readonly _tag: "OperationEnded"
      readonly at: number
      readonly client: number
      readonly outcome: OperationOutcome
    }

/**
 * @category models
 * @since 0.1.0
 */
export type OperationOutcome = "succeeded" | "gave up" | "interrupted"

/**
 * A refusal is told by its status.
 *
 * @category models
 * @since 0.1.0
 */
export type AttemptOutcome = "succeeded" | "timed out" | "failed" | "interrupted" | `refused ${number}`

/**
 * One client's operation, put together from its events. What had not ended by the end of the run has no `endedAt` and no
 * outcome.
 *
 * @category models
 * @since 0.1.0
 */
export interface Operation {
  readonly client: number
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
  const byClient = new Map<number, Writable<Operation> & { attempts: Array<Writable<Attempt>> }>()
  for (const event of trace.events) {
    if (event._tag === "OperationStarted") {
      byClient.set(event.client, {
        client: event.client,
        startedAt: event.at,
        endedAt: undefined,
        outcome: undefined,
        attempts: []
      })
      continue
    }
    const operation = byClient.get(event.client)!
    switch (event._tag) {
      case "AttemptStarted":
        operation.attempts.push({ startedAt: event.at, endedAt: undefined, outcome: undefined })
        break
      case "AttemptEnded":
        Object.assign(operation.attempts[event.attempt - 1]!, { endedAt: event.at, outcome: event.outcome })
        break
      case "OperationEnded":
        Object.assign(operation, { endedAt: event.at, outcome: event.outcome })
    }
  }
  return Array.from(byClient.values())
}

type Writable<A> = { -readonly [K in keyof A]: A[K] }

/**
 * How many attempts are in flight from each instant on, as steps in order of time. An attempt is in flight over the half-open
 * interval [start, end), so at equal instants those that end leave before those that start arrive.
 *
 * @category getters
 * @since 0.1.0
 */
export const inFlight = (trace: Trace): ReadonlyArray<{ readonly at: number; readonly count: number }> => {
  const changes = new Map<number, number>()
  for (const event of trace.events) {
    if (event._tag === "AttemptStarted") changes.set(event.at, (changes.get(event.at) ?? 0) + 1)
    if (event._tag === "AttemptEnded") changes.set(event.at, (changes.get(event.at) ?? 0) - 1)
  }
  let count = 0
  return Array.from(changes)
    .sort(([a], [b]) => a - b)
    .map(([at, change]) => ({ at, count: (count += change) }))
}

/**
 * The trace as text, one JSON line for the run and one for each event: what is compared when two runs must be equal.
 *
 * @category getters
 * @since 0.1.0
 */
export const toText = ({ events, ...run }: Trace): string =>
  [run, ...events].map((line) => `${JSON.stringify(line)}\n`).join("")
