/**
 * What a retry counts, for a dashboard and an alert: first attempts, retries and give-ups apart, because their ratio is what shows
 * bad retry behaviour in an incident (SRE book, chapter 21).
 *
 * | metric                     | kind      | labels            | counts                                                 |
 * | -------------------------- | --------- | ----------------- | ------------------------------------------------------ |
 * | `retry_first_attempts`     | counter   | `policy`          | first attempts that reached the wire                   |
 * | `retry_retries`            | counter   | `policy`          | further attempts that reached the wire                 |
 * | `retry_operations`         | counter   | `policy`,`outcome`| operations, each once: see {@link Outcome}             |
 * | `retry_give_ups`           | counter   | `policy`,`reason` | operations that ended without a success, by the reason |
 * | `retry_attempt_duration_seconds`   | histogram | `policy`          | seconds from the start of an attempt to its end        |
 * | `retry_operation_duration_seconds` | histogram | `policy`          | seconds from the first start to the end, waits included|
 * | `retry_budget_balance`     | gauge     | `budget`          | retries the budget would grant, as of its last change |
 * | `retry_budget_refusals`    | counter   | `budget`          | retries the budget did not grant                       |
 *
 * An attempt is counted when it ends; one that a breaker or a bulkhead did not let through is none.
 *
 * @since 0.1.0
 */
import type { RetryObserver } from "@breakwater/schedule"
import type * as Metric from "effect/Metric"
import { counter, gauge, histogram, memoized } from "./internal/metrics.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * How an operation ended. Each has exactly one.
 *
 * - `succeeded`: on its first attempt
 * - `succeeded-after-retry`: on a later one
 * - `failed`: with an error, whatever may answer in its place
 * - `interrupted`: before it had an outcome
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = "succeeded" | "succeeded-after-retry" | "failed" | "interrupted"

/**
 * The metrics of one policy.
 *
 * @category models
 * @since 0.1.0
 */
export interface OfPolicy {
  readonly firstAttempts: Metric.Metric.Counter<number>
  readonly retries: Metric.Metric.Counter<number>
  readonly operations: (outcome: Outcome) => Metric.Metric.Counter<number>
  readonly giveUps: (reason: RetryObserver.Reason) => Metric.Metric.Counter<number>
  readonly attemptDuration: Metric.Metric.Histogram<number>
  readonly operationDuration: Metric.Metric.Histogram<number>
}

/**
 * The metrics of one budget.
 *
 * @category models
 * @since 0.1.0
 */
export interface OfBudget {
  readonly balance: Metric.Metric.Gauge<number>
  readonly refusals: Metric.Metric.Counter<number>
}

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * The metrics of a policy, by the `name` that `Retry` was given.
 *
 * @example
 * ```ts
 * import { Retry, RetryMetrics } from "@breakwater/resilience"
 * import { Effect, Metric, Schedule } from "effect"
 *
 * const call = Effect.fail("unavailable").pipe(
 *   Retry.retry({ name: "docs", schedule: Schedule.recurs(2), log: false }),
 *   Effect.ignore
 * )
 * const program = Effect.zipRight(call, Metric.value(RetryMetrics.ofPolicy("docs").retries))
 * console.log((await Effect.runPromise(program)).count) // 2
 * ```
 * @category getters
 * @since 0.1.0
 */
export const ofPolicy = (policy: string): OfPolicy => ({
  firstAttempts: counter("retry_first_attempts", "First attempts", { policy }),
  retries: counter("retry_retries", "Attempts after the first", { policy }),
  operations: memoized((outcome) => counter("retry_operations", "Operations by outcome", { policy, outcome })),
  giveUps: memoized((reason) => counter("retry_give_ups", "Operations without a success, by reason", { policy, reason })),
  attemptDuration: histogram("retry_attempt_duration_seconds", "Seconds an attempt took", { policy }),
  operationDuration: histogram("retry_operation_duration_seconds", "Seconds an operation took, waits included", { policy })
})

/**
 * The metrics of a budget, by the `name` it was made with.
 *
 * @category getters
 * @since 0.1.0
 */
export const ofBudget = (budget: string): OfBudget => ({
  balance: gauge("retry_budget_balance", "Retries the budget would grant", { budget }),
  refusals: counter("retry_budget_refusals", "Retries the budget did not grant", { budget })
})
