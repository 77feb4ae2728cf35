/**
 * What the pictures of a report show, as numbers: each picture is drawn from these, and each can be read as a table instead, by a
 * screen reader or a test. However long the run, there are only so many of them: time is cut into bins, and long tables end with
 * the number of rows that are left out.
 *
 * ```text
 * Trace, decisions -> numbers -> picture (Charts)
 *                            \-> table
 * ```
 *
 * Times are milliseconds.
 *
 * @since 0.1.0
 */
import { Distribution, type Summary, Trace } from "@breakwater/simulation"
import * as Array from "effect/Array"
import { type Decision, keyOf } from "./Decisions.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Table {
  readonly head: ReadonlyArray<string>
  /** The first cell of a row names it. */
  readonly rows: ReadonlyArray<ReadonlyArray<string | number>>
  /** How many more rows there would be. */
  readonly leftOut: number
}

/** Beyond this a table is no longer read, and the page no longer small. */
const mostRows = 150

const table = (head: Table["head"], rows: Table["rows"]): Table => ({
  head,
  rows: rows.slice(0, mostRows),
  leftOut: Math.max(0, rows.length - mostRows)
})

const millis = (micros: number): number => micros / 1000

/**
 * A number as it is read: whole if it is large, with at most two digits behind the point if not, thousands set apart.
 *
 * @internal
 */
export const number = (value: number): string =>
  value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) >= 100 ? 0 : 2 })

/** @internal */
export const time = (millis: number): string => (millis >= 10_000 ? `${number(millis / 1000)} s` : `${number(millis)} ms`)

// -----------------------------------------------------------------------------
// time
// -----------------------------------------------------------------------------

/**
 * How much of the run a picture shows: to its end, unless all was over long before.
 *
 * @internal
 */
export const shownUntil = (trace: Trace.Trace): number => {
  const last = trace.events[trace.events.length - 1]?.at ?? 0
  return millis(last * 1.25 < trace.until ? Math.max(1000, last * 1.15) : trace.until)
}

/** @internal */
export interface Span {
  readonly from: number
  readonly to: number
}

/**
 * When the run was disturbed, as far as the picture goes.
 *
 * @internal
 */
export const disturbances = (trace: Trace.Trace): ReadonlyArray<Span> => {
  const end = shownUntil(trace)
  return trace.disturbances.flatMap(({ from, to }) =>
    millis(from) < end ? [{ from: millis(from), to: Math.min(end, millis(to)) }] : []
  )
}

/** Equal bins over the time that is shown. */
const binsOf = (trace: Trace.Trace, count: number) => {
  const width = shownUntil(trace) / count
  return {
    width,
    spans: Array.makeBy(count, (bin): Span => ({ from: bin * width, to: (bin + 1) * width })),
    /** The bin of an instant in milliseconds. */
    at: (millis: number): number => Math.min(count - 1, Math.floor(millis / width))
  }
}

/** A row for each bin, or for several in a row that say the same. */
const binTable = (
  head: ReadonlyArray<string>,
  bins: ReadonlyArray<Span & { readonly cells: ReadonlyArray<number> }>
): Table => {
  const rows: Array<{ readonly from: number; to: number; readonly cells: ReadonlyArray<number> }> = []
  for (const { cells, from, to } of bins) {
    const last = rows[rows.length - 1]
    if (last !== undefined && last.cells.every((cell, index) => cell === cells[index])) last.to = to
    else rows.push({ from, to, cells })
  }
  return table(
    [`in each ${time(bins[0]?.to ?? 0)}, ms`, ...head],
    rows.map(({ cells, from, to }) => [`${number(from)} to ${number(to)}`, ...cells])
  )
}

// -----------------------------------------------------------------------------
// attempts and waits
// -----------------------------------------------------------------------------

/**
 * What an attempt came to. Doomed: it timed out, and more calls than the service can carry were in flight while it ran. Client
 * gone: interrupted, most often by a time limit of the client.
 *
 * @internal
 */
export type OutcomeName = "succeeded" | "refused" | "timed out" | "doomed" | "client gone" | "unfinished"

/** @internal */
export interface Attempt extends Span {
  readonly client: number
  readonly operation: number
  readonly number: number
  readonly outcome: OutcomeName
  /** As the trace says it: `refused 503`. */
  readonly exactly: string
}

/** @internal */
export const attempts = (trace: Trace.Trace): ReadonlyArray<Attempt> => {
  const overloaded = overloads(trace)
  return Trace.operations(trace).flatMap(({ attempts, client, operation }) =>
    attempts.map(({ endedAt, outcome, startedAt }, index): Attempt => {
      const from = millis(startedAt)
      const to = millis(endedAt ?? trace.until)
      const name = outcome === "timed out" && overlaps(overloaded, from, to) ? "doomed" : outcomeName(outcome)
      return { client, operation, number: index + 1, from, to, outcome: name, exactly: exactly(name, outcome) }
    })
  )
}

const exactly = (name: OutcomeName, outcome: Trace.AttemptOutcome | undefined): string =>
  name === "doomed" ? "timed out in overload" : name === "refused" ? (outcome ?? name) : name

const outcomeName = (outcome: Trace.AttemptOutcome | undefined): OutcomeName => {
  if (outcome === undefined) return "unfinished"
  if (outcome === "interrupted") return "client gone"
  return outcome === "succeeded" || outcome === "timed out" ? outcome : "refused"
}

/** When more attempts were in flight than the service can carry, in order. */
const overloads = (trace: Trace.Trace): ReadonlyArray<Span> => {
  const spans: Array<{ readonly from: number; to: number }> = []
  let open: { readonly from: number; to: number } | undefined
  for (const { at, count } of Trace.inFlight(trace)) {
    const isOver = count > (trace.slots ?? Infinity)
    if (isOver && open === undefined) spans.push((open = { from: millis(at), to: millis(trace.until) }))
    if (!isOver && open !== undefined) {
      open.to = millis(at)
      open = undefined
    }
  }
  return spans
}

const overlaps = (spans: ReadonlyArray<Span>, from: number, to: number): boolean => {
  // The first span that ends after `from`.
  let low = 0
  let high = spans.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (spans[middle]!.to > from) high = middle
    else low = middle + 1
  }
  return low < spans.length && spans[low]!.from < to
}

/** @internal */
export interface Wait extends Span {
  readonly client: number
  readonly operation: number
  /** When it would have ended at the latest, where the policy told. */
  readonly latest: number | undefined
}

/**
 * The waits before retries: as the policies told them, else the gaps between the attempts.
 *
 * @internal
 */
export const waits = (trace: Trace.Trace, decisions: ReadonlyArray<Decision>): ReadonlyArray<Wait> => {
  const told = byOperation(decisions)
  return Trace.operations(trace).flatMap((whole) => {
    const { attempts, client, endedAt, operation, outcome } = whole
    const end = millis(endedAt ?? trace.until)
    const known = told[keyOf(whole)]
    if (known !== undefined) {
      return known.flatMap((decision): ReadonlyArray<Wait> => {
        if (decision._tag === "GaveUp") return []
        const from = millis(decision.at)
        const to = Math.min(end, from + millis(decision.wait))
        return [{ client, operation, from, to, latest: from + millis(decision.maximumWait) }]
      })
    }
    return attempts.flatMap(({ endedAt: from }, index): ReadonlyArray<Wait> => {
      const to = attempts[index + 1]?.startedAt ?? (outcome === undefined ? trace.until : undefined)
      return from === undefined || to === undefined
        ? []
        : [{ client, operation, from: millis(from), to: millis(to), latest: undefined }]
    })
  })
}

const byOperation = (decisions: ReadonlyArray<Decision>): Readonly<Record<string, ReadonlyArray<Decision>>> =>
  Array.groupBy(decisions, keyOf)

/**
 * How many operations gave up for which reason, the most frequent first, as far as the policies told.
 *
 * @internal
 */
export const giveUps = (trace: Trace.Trace, decisions: ReadonlyArray<Decision>) => {
  const reasons = Array.groupBy(ends(trace, decisions), ({ reason }) => reason ?? "")
  return Object.entries(reasons)
    .flatMap(([reason, { length }]) => (reason === "" ? [] : [{ reason, count: length }]))
    .sort((one, other) => other.count - one.count)
}

/** @internal */
export interface End {
  readonly client: number
  readonly operation: number
  readonly at: number
  readonly outcome: Trace.OperationOutcome
  /** Why it was given up, where the policy told. */
  readonly reason: string | undefined
}

/** @internal */
export const ends = (trace: Trace.Trace, decisions: ReadonlyArray<Decision>): ReadonlyArray<End> => {
  const told = byOperation(decisions)
  return Trace.operations(trace).flatMap((whole): ReadonlyArray<End> => {
    const { client, endedAt, operation, outcome } = whole
    if (endedAt === undefined || outcome === undefined) return []
    const last = outcome === "gave up" ? told[keyOf(whole)]?.at(-1) : undefined
    const reason = last?._tag === "GaveUp" ? last.reason.replaceAll("-", " ") : undefined
    return [{ client, operation, at: millis(endedAt), outcome, reason }]
  })
}

// -----------------------------------------------------------------------------
// lanes
// -----------------------------------------------------------------------------

/**
 * Every attempt and what followed it: the waits as drawn and at most, how the operation ended, and why.
 *
 * @category one run
 * @since 0.1.0
 */
export const lanes = (trace: Trace.Trace, decisions: ReadonlyArray<Decision> = []): Table => {
  const waitsOf = Array.groupBy(waits(trace, decisions), keyOf)
  const endOf = new Map(ends(trace, decisions).map((end) => [keyOf(end), end]))
  const rows = Object.values(Array.groupBy(attempts(trace), keyOf)).flatMap((operation) => {
    const key = keyOf(operation[0])
    const left = [...(waitsOf[key] ?? [])]
    return operation.map((attempt, index) => {
      const wait = takeWait(left, attempt, operation[index + 1])
      const next = index < operation.length - 1 || wait !== undefined ? waitInWords(wait) : endInWords(endOf.get(key))
      return [attemptName(attempt), number(attempt.from), number(attempt.to), attempt.exactly, next]
    })
  })
  return table(["attempt", "from, ms", "to, ms", "outcome", "then"], rows)
}

const attemptName = ({ client, number, operation }: Attempt): string =>
  `client ${client + 1}, ${operation === 0 ? "" : `operation ${operation + 1}, `}attempt ${number}`

/** The first wait between an attempt and the one after it; taken from those that are left. */
const takeWait = (left: Array<Wait>, attempt: Attempt, next: Attempt | undefined): Wait | undefined => {
  while (left.length > 0 && left[0]!.from < attempt.to) left.shift()
  return left.length > 0 && left[0]!.from <= (next?.from ?? Infinity) ? left.shift() : undefined
}

const waitInWords = (wait: Wait | undefined): string => {
  if (wait === undefined) return "retries"
  const { from, latest, to } = wait
  return `waits ${number(to - from)} ms${latest === undefined ? "" : ` of at most ${number(latest - from)}`}`
}

/** @internal */
export const endInWords = (end: End | undefined): string => {
  if (end === undefined) return "the run ends"
  return end.reason === undefined ? end.outcome : `${end.outcome}: ${end.reason}`
}

// -----------------------------------------------------------------------------
// crowd
// -----------------------------------------------------------------------------

/**
 * What clients can be busy with, worst last: an attempt, by what will come of it, or the wait for the next.
 *
 * @internal
 */
export const states = ["succeeded", "refused", "timed out", "doomed", "client gone", "unfinished", "waiting"] as const

/** @internal */
export interface Strip {
  readonly state: (typeof states)[number]
  readonly bins: ReadonlyArray<Span & { readonly count: number }>
}

/**
 * How many attempts of each outcome, and how many waits, there are at some time in each bin; states that never occur are left out.
 *
 * @internal
 */
export const crowdBins = (trace: Trace.Trace, decisions: ReadonlyArray<Decision>): ReadonlyArray<Strip> => {
  const { at, spans, width } = binsOf(trace, 60)
  const counts = new Map<(typeof states)[number], Array<number>>()
  const count = (state: (typeof states)[number], { from, to }: Span) => {
    // Changes from bin to bin; summed up below.
    let changes = counts.get(state)
    if (changes === undefined) counts.set(state, (changes = Array.makeBy(spans.length + 1, () => 0)))
    changes[at(from)]!++
    // A span ends before the instant of its end.
    changes[Math.max(at(from), Math.min(spans.length, Math.ceil(to / width)) - 1) + 1]!--
  }
  for (const attempt of attempts(trace)) count(attempt.outcome, attempt)
  for (const wait of waits(trace, decisions)) if (wait.to > wait.from) count("waiting", wait)
  return states.flatMap((state) => {
    let sum = 0
    const changes = counts.get(state)
    return changes === undefined
      ? []
      : [{ state, bins: spans.map((span, bin) => ({ ...span, count: (sum += changes[bin]!) })) }]
  })
}

/**
 * @category one run
 * @since 0.1.0
 */
export const crowd = (trace: Trace.Trace, decisions: ReadonlyArray<Decision> = []): Table =>
  crowdTable(crowdBins(trace, decisions))

/** @internal */
export const crowdTable = (strips: ReadonlyArray<Strip>): Table =>
  binTable(
    strips.map(({ state }) => state),
    (strips[0]?.bins ?? []).map(({ from, to }, bin) => ({ from, to, cells: strips.map(({ bins }) => bins[bin]!.count) }))
  )

// -----------------------------------------------------------------------------
// calls in flight
// -----------------------------------------------------------------------------

/**
 * The least and the most calls in flight in each bin.
 *
 * @internal
 */
export const inFlightBins = (trace: Trace.Trace) => {
  const { at, spans } = binsOf(trace, 60)
  const bins = spans.map((span) => ({ ...span, least: Infinity, most: -Infinity, last: 0 }))
  const note = (bin: (typeof bins)[number], count: number) => {
    bin.least = Math.min(bin.least, count)
    bin.most = Math.max(bin.most, count)
    bin.last = count
  }
  let filled = 0
  let count = 0
  for (const step of Trace.inFlight(trace)) {
    const bin = at(millis(step.at))
    // What was in flight before lasts up to the step, unless the step is the first instant of its bin.
    for (; filled <= bin; filled++) if (filled < bin || bins[filled]!.from < millis(step.at)) note(bins[filled]!, count)
    note(bins[bin]!, (count = step.count))
  }
  for (; filled < bins.length; filled++) note(bins[filled]!, count)
  return bins
}

/**
 * The steps of calls in flight; where there are too many to be seen, the extremes of each bin.
 *
 * @internal
 */
export const inFlightSteps = (trace: Trace.Trace): ReadonlyArray<Step> => {
  const whole = Trace.inFlight(trace).map(({ at, count }) => ({ at: millis(at), count }))
  const changes = (whole.length > 160 ? extremes(trace) : whole).filter(
    ({ count }, index, steps) => count !== (steps[index - 1]?.count ?? 0)
  )
  return [{ at: 0, count: 0 }, ...changes, { at: shownUntil(trace), count: changes[changes.length - 1]?.count ?? 0 }]
}

/** @internal */
export interface Step {
  readonly at: number
  readonly count: number
}

const extremes = (trace: Trace.Trace): ReadonlyArray<Step> =>
  inFlightBins(trace).flatMap(({ from, last, least, most, to }) => {
    // The one that is nearer to how the bin ends comes second.
    const rises = most - last < last - least
    return [
      { at: from, count: rises ? least : most },
      { at: (from + to) / 2, count: rises ? most : least }
    ]
  })

/**
 * @category one run
 * @since 0.1.0
 */
export const inFlight = (trace: Trace.Trace): Table =>
  binTable(
    ["least in flight", "most in flight"],
    inFlightBins(trace).map(({ from, least, most, to }) => ({ from, to, cells: [least, most] }))
  )

// -----------------------------------------------------------------------------
// attempts over time
// -----------------------------------------------------------------------------

/** @internal */
export const attemptNames = ["first attempts", "second attempts", "third and later"] as const

/**
 * How many attempts begin in each bin, by their number, and how many operations succeed in it.
 *
 * @internal
 */
export const timeBins = (trace: Trace.Trace) => {
  const { at, spans } = binsOf(trace, 40)
  const bins = spans.map((span) => ({ ...span, begun: [0, 0, 0] as [number, number, number], succeeded: 0 }))
  for (const event of trace.events) {
    const bin = bins[at(millis(event.at))]!
    if (event._tag === "AttemptStarted") bin.begun[Math.min(event.attempt, 3) - 1]!++
    if (event._tag === "OperationEnded" && event.outcome === "succeeded") bin.succeeded++
  }
  return bins
}

/**
 * @category one run
 * @since 0.1.0
 */
export const attemptsOverTime = (trace: Trace.Trace): Table =>
  binTable(
    [...attemptNames, "successes"],
    timeBins(trace).map(({ begun, from, succeeded, to }) => ({ from, to, cells: [...begun, succeeded] }))
  )

/**
 * Attempts and successes up to the end of each bin.
 *
 * @internal
 */
export const progressPoints = (trace: Trace.Trace) => {
  let attempts = 0
  let successes = 0
  return [
    { at: 0, attempts, successes },
    ...timeBins(trace).map(({ begun: [first, second, later], succeeded, to }) => ({
      at: to,
      attempts: (attempts += first + second + later),
      successes: (successes += succeeded)
    }))
  ]
}

/**
 * @category one run
 * @since 0.1.0
 */
export const progress = (trace: Trace.Trace): Table => {
  const points = progressPoints(trace)
  const changes = points.filter(({ attempts, successes }, index) => {
    const before = points[index - 1]
    return before !== undefined && (attempts > before.attempts || successes > before.successes)
  })
  return table(
    ["up to, ms", "attempts", "successes"],
    changes.map(({ at, attempts, successes }) => [number(at), attempts, successes])
  )
}

// -----------------------------------------------------------------------------
// attempts of an operation
// -----------------------------------------------------------------------------

const mostAttempts = 10

/**
 * How many operations succeeded with so many attempts; then how many gave up, and how many had not ended.
 *
 * @internal
 */
export const operationBars = (trace: Trace.Trace) => {
  const byAttempts = Array.makeBy(mostAttempts + 1, () => 0)
  let gaveUp = 0
  let unfinished = 0
  for (const { attempts, outcome } of Trace.operations(trace)) {
    if (outcome === "succeeded") byAttempts[Math.min(mostAttempts, attempts.length)]!++
    else if (outcome === undefined) unfinished++
    else gaveUp++
  }
  const most = byAttempts.reduce((most, count, attempts) => (count > 0 ? attempts : most), 1)
  const bars = byAttempts.slice(0, most + 1).map((count, attempts) => ({
    name: attempts === mostAttempts ? `${attempts}+` : String(attempts),
    words: `succeeded with ${attempts}${attempts === mostAttempts ? " or more" : ""} ${attempts === 1 ? "attempt" : "attempts"}`,
    outcome: "succeeded" as const,
    count
  }))
  return [
    // A success without an attempt is rare: an answer from elsewhere.
    ...(byAttempts[0] === 0 ? bars.slice(1) : bars),
    ...(unfinished === 0 ? [] : [{ name: "not ended", words: "had not ended", outcome: undefined, count: unfinished }]),
    { name: "gave up", words: "gave up", outcome: "gave up" as const, count: gaveUp }
  ]
}

/**
 * @category one run
 * @since 0.1.0
 */
export const attemptsOfOperations = (trace: Trace.Trace, decisions: ReadonlyArray<Decision> = []): Table =>
  table(
    ["operations that", "how many"],
    [
      ...operationBars(trace).map(({ count, words }) => [words, count]),
      ...giveUps(trace, decisions).map(({ count, reason }) => [`gave up: ${reason}`, count])
    ]
  )

// -----------------------------------------------------------------------------
// many runs
// -----------------------------------------------------------------------------

const mostBars = 30

/**
 * How many runs took how many attempts: each number by itself, or ranges of them where they are many.
 *
 * @internal
 */
export const attemptBars = (replicas: ReadonlyArray<Summary.Summary>) => {
  const counts = Distribution.counts(replicas.map((run) => run.attempts))
  const first = counts[0]!.value
  const width = Math.ceil((counts[counts.length - 1]!.value - first + 1) / mostBars)
  const bars = new Map<number, number>()
  for (const { count, value } of counts) {
    const from = first + width * Math.floor((value - first) / width)
    bars.set(from, (bars.get(from) ?? 0) + count)
  }
  return Array.fromIterable(bars).map(([from, count]) => ({
    from,
    to: from + width - 1,
    name: width === 1 ? String(from) : `${from} to ${from + width - 1}`,
    count,
    percent: (100 * count) / replicas.length
  }))
}

/**
 * @category many runs
 * @since 0.1.0
 */
export const attemptsOfRuns = (replicas: ReadonlyArray<Summary.Summary>): Table =>
  table(
    ["attempts in a run", "runs", "% of runs"],
    attemptBars(replicas).map(({ count, name, percent }) => [name, number(count), percent.toFixed(2)])
  )

/**
 * When a run was well: after what disturbed it, or else when its last operation had succeeded. `undefined` where it never was.
 *
 * @internal
 */
export const recoveredAfter = ({ allSucceededAt, recovery }: Summary.Summary): number | undefined => {
  if (recovery === undefined) return allSucceededAt
  return recovery._tag === "Recovered" ? recovery.after : undefined
}

/**
 * By when so many percent of all runs had recovered: a point for each percent, as far as they did.
 *
 * @internal
 */
export const recoveryPoints = (replicas: ReadonlyArray<Summary.Summary>) => {
  const recoveries = replicas.flatMap((run) => recoveredAfter(run) ?? [])
  const sorted = Float64Array.from(recoveries).sort()
  return Array.makeBy(101, (percent) => percent).flatMap((percent) => {
    // Nearest rank, among all runs: those that never recovered come last.
    const at = sorted[Math.max(1, Math.ceil((percent * replicas.length) / 100)) - 1]
    return at === undefined ? [] : [{ percent, at }]
  })
}

/**
 * @category many runs
 * @since 0.1.0
 */
export const recoveryOfRuns = (replicas: ReadonlyArray<Summary.Summary>): Table =>
  table(
    ["% of runs", "recovered by, ms"],
    recoveryPoints(replicas).flatMap(({ at, percent }) => (percent > 0 && percent % 5 === 0 ? [[percent, number(at)]] : []))
  )

/**
 * Where a run stands among many: how many percent of them have at most its figure.
 *
 * @internal
 */
export const percentile = (
  replicas: ReadonlyArray<Summary.Summary>,
  shown: number,
  of: (run: Summary.Summary) => number
): number => Math.round(100 * Distribution.share(replicas, (run) => of(run) <= shown))
