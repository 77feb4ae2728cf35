/**
 * What ran and what came out, as text for a terminal.
 *
 * @since 0.1.0
 */
import { Distribution, type Summary } from "@breakwater/simulation"
import Table from "cli-table3"
import type { Checked, Figure, Outcome } from "./Storm.js"

// -----------------------------------------------------------------------------
// figures
// -----------------------------------------------------------------------------

/**
 * A measured figure with as many digits as it is stated with.
 *
 * @category figures
 * @since 0.1.0
 */
export const measured = (figure: Figure, value: number): string => (Number.isNaN(value) ? "none" : value.toFixed(figure.digits))

/**
 * The line of a storm in the overview: one run, or what many runs say.
 *
 * @category figures
 * @since 0.1.0
 */
export const overview = (
  outcome: Outcome
): { readonly attempts: string; readonly succeeded: string; readonly recovery: string } => {
  const { replicas, summary } = outcome
  if (replicas.length === 0) {
    return {
      attempts: String(summary.attempts),
      succeeded: `${summary.succeeded} of ${summary.operations}`,
      recovery: recoveryOf(summary)
    }
  }
  const attempts = replicas.map((run) => run.attempts)
  const recoveries = replicas.flatMap((run) => run.allSucceededAt ?? [])
  return {
    attempts: `median ${Distribution.quantile(attempts, 0.5)}, mean ${Distribution.mean(attempts).toFixed(2)}`,
    succeeded: `all in ${((100 * recoveries.length) / replicas.length).toFixed(1)} %`,
    recovery: recoveries.length === 0 ? "none" : `median ${Math.round(Distribution.quantile(recoveries, 0.5))} ms`
  }
}

/** When all had succeeded, or how long after its disturbance a run was well again. */
const recoveryOf = ({ allSucceededAt, recovery }: Summary.Summary): string => {
  if (allSucceededAt !== undefined) return `${allSucceededAt} ms`
  return recovery?._tag === "Recovered" ? `${recovery.after} ms after` : "none"
}

// -----------------------------------------------------------------------------
// tables
// -----------------------------------------------------------------------------

/**
 * One row a storm, with every figure it must give.
 *
 * @category tables
 * @since 0.1.0
 */
export const table = (checked: ReadonlyArray<Checked>, options: { readonly colours: boolean }): string => {
  const rows = new Table({
    head: ["storm", "attempts", "succeeded", "recovery", "must give", "measured", "verdict"],
    wordWrap: true,
    // Narrow enough for a terminal of 120 columns.
    colWidths: [18, 12, 12, 12, 38, 10, 9],
    style: options.colours ? { head: ["bold"], border: ["gray"] } : { head: [], border: [] }
  })
  for (const { figures, outcome, storm } of checked) {
    const { attempts, recovery, succeeded } = overview(outcome)
    rows.push([
      `${storm.id} ${storm.title}`,
      attempts,
      succeeded,
      recovery,
      figures.map(({ figure }) => `${figure.name} ${figure.expected}`).join("\n"),
      figures.map(({ figure, measured: value }) => measured(figure, value)).join("\n"),
      figures.map(({ holds }) => verdict(holds, options)).join("\n")
    ])
  }
  return rows.toString()
}

const verdict = (holds: boolean, { colours }: { readonly colours: boolean }): string => {
  const word = holds ? "ok" : "WRONG"
  return colours ? `\u001b[${holds ? 32 : 31}m${word}\u001b[39m` : word
}

/**
 * How often each number of attempts came up, as bars.
 *
 * @category tables
 * @since 0.1.0
 */
export const histogram = (values: ReadonlyArray<number>, width = 60): string => {
  const counts = Distribution.counts(values)
  const most = Math.max(...counts.map(({ count }) => count))
  return counts
    .map(({ count, value }) => {
      const bar = "█".repeat(Math.round((width * count) / most)) || "▏"
      return `${String(value).padStart(5)} ${bar} ${((100 * count) / values.length).toFixed(2)} %`
    })
    .join("\n")
}
