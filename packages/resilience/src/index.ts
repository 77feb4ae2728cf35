/**
 * Retries for Effect with an exact account: attempt time-outs, deadlines that travel, retry budgets, a guard against nested
 * retries, and metrics that say why a retry did not happen.
 *
 * @since 0.1.0
 */
export * as AdaptiveThrottle from "./AdaptiveThrottle.js"
export * as AttemptTimeout from "./AttemptTimeout.js"
export * as Bulkhead from "./Bulkhead.js"
export * as CircuitBreaker from "./CircuitBreaker.js"
export * as Deadline from "./Deadline.js"
export * as Keyed from "./Keyed.js"
export * as LocalRefusal from "./LocalRefusal.js"
export * as Policy from "./Policy.js"
export * as Retry from "./Retry.js"
export * as RetryBudget from "./RetryBudget.js"
export * as RetryMetrics from "./RetryMetrics.js"
export * as RetryScope from "./RetryScope.js"
