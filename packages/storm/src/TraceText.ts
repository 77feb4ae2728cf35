/**
 * The whole of one run as text to read, for a replay: what happened to whom, in order. The same trace gives the same text; a
 * program reads the trace itself, which is plain data.
 *
 * @since 0.1.0
 */
import { Trace } from "@breakwater/simulation"

// -----------------------------------------------------------------------------
// text
// -----------------------------------------------------------------------------

/**
 * A line for each event, under a head that says what ran. Clients count from 1, as in the pictures.
 *
 * ```text
 *      time  in flight  client
 *      0 ms        6/4       1  begins
 *      0 ms        6/4       1  attempt 1 starts
 *      0 ms        6/4       1  attempt 1 is worked on for 100 ms
 *    100 ms        0/4       1  attempt 1 timed out after 100 ms
 * ```
 *
 * What is in flight is what there is when all that happens at that instant has happened.
 *
 * @example
 * ```ts
 * import { Simulation } from "@breakwater/simulation"
 * import { SixClients, TraceText } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const trace = Effect.runSync(Simulation.run(SixClients.fullJitter.scenario, { seed: 6 }))
 * console.log(TraceText.of(trace).split("\n")[0]) // full jitter, seed 6
 * ```
 * @category text
 * @since 0.1.0
 */
export const of = (trace: Trace.Trace): string => {
  const lines = [...inOrder(trace)]
  const digits = lines.every(({ at }) => at % 1000 === 0) ? 0 : 3
  const times = lines.map(({ at }) => `${(at / 1000).toFixed(digits)} ms`)
  const width = Math.max(timeHead.length, ...times.map((time) => time.length))
  const inFlight = inFlightAt(trace)
  const row = (time: string, inFlight: string, client: string, what: string) =>
    `${time.padStart(width)}  ${inFlight.padStart(inFlightHead.length)}  ${client.padStart(clientHead.length)}  ${what}`.trimEnd()
  return [
    ...head(trace),
    "",
    row(timeHead, inFlightHead, clientHead, ""),
    ...lines.map(({ at, client, what }, index) => row(times[index]!, inFlight(at), client, what))
  ]
    .map((line) => `${line}\n`)
    .join("")
}

const timeHead = "time"
const inFlightHead = "in flight"
const clientHead = "client"

const head = ({ clients, generator, engine, scenario, seed, slots, until }: Trace.Trace): ReadonlyArray<string> => [
  `${scenario}, seed ${seed}`,
  [
    `${clients} ${clients === 1 ? "client" : "clients"}`,
    ...(slots === null ? [] : [`${slots} ${slots === 1 ? "slot" : "slots"}`]),
    `watched for ${span(until)}`,
    `engine ${engine}`,
    generator
  ].join(", ")
]

const span = (micros: number): string => `${micros / 1000} ms`

// -----------------------------------------------------------------------------
// lines
// -----------------------------------------------------------------------------

interface Line {
  readonly at: number
  readonly client: string
  readonly what: string
}

/** The events, and what has no event: the beginning and the end of a disturbance, and the end of the run. */
const inOrder = (trace: Trace.Trace): ReadonlyArray<Line> => {
  const between = trace.disturbances
    .flatMap(({ from, to }): ReadonlyArray<Line> => [
      { at: from, client: "", what: "--- disturbance begins ---" },
      { at: to, client: "", what: "--- disturbance is over ---" }
    ])
    .filter(({ at }) => at < trace.until)
  const end: Line = { at: trace.until, client: "", what: "--- end of the run ---" }
  // Sorting is stable: what is between goes before the events of its instant, the end after them.
  return [...between, ...events(trace), end].sort((one, other) => one.at - other.at)
}

const events = (trace: Trace.Trace): ReadonlyArray<Line> => {
  const started = new Map<string, number>()
  const several = trace.events.some(({ operation }) => operation > 0)
  return trace.events.map((event) => {
    const { at, client, operation } = event
    const key = `${client}/${operation}/${"attempt" in event ? event.attempt : 0}`
    if (event._tag === "OperationStarted" || event._tag === "AttemptStarted") started.set(key, at)
    const took = span(at - (started.get(key) ?? at))
    return { at, client: String(client + 1), what: `${several ? `operation ${operation + 1}: ` : ""}${inWords(event, took)}` }
  })
}

const inWords = (event: Trace.Event, took: string): string => {
  switch (event._tag) {
    case "OperationStarted":
      return "begins"
    case "AttemptStarted":
      return `attempt ${event.attempt} starts`
    case "LayerCalled":
      return `attempt ${event.attempt} calls ${event.layer}`
    case "WorkStarted":
      return `attempt ${event.attempt} is worked on for ${span(event.until - event.at)}`
    case "AttemptEnded":
      return `attempt ${event.attempt} ${outcome(event.outcome)} after ${took}`
    case "OperationEnded":
      return `${outcome(event.outcome)} after ${took}`
  }
}

const outcome = (outcome: Trace.AttemptOutcome | Trace.OperationOutcome): string =>
  outcome === "interrupted" ? "was interrupted" : outcome.startsWith("refused") ? `was ${outcome}` : outcome

/** How many attempts are in flight from an instant on, of how many there can be; asked in order of time. */
const inFlightAt = (trace: Trace.Trace): ((at: number) => string) => {
  const steps = Trace.inFlight(trace)
  const of = trace.slots === null ? "" : `/${trace.slots}`
  let next = 0
  let count = 0
  return (at) => {
    for (; next < steps.length && steps[next]!.at <= at; next++) count = steps[next]!.count
    return `${count}${of}`
  }
}
