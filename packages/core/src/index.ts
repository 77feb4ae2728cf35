/**
 * The rules of Breakwater as pure functions, without any dependency: time is a number of milliseconds, chance is an argument.
 *
 * @since 0.1.0
 */
export * as AdaptiveThrottle from "./AdaptiveThrottle.js"
export * as AttemptTimeout from "./AttemptTimeout.js"
export * as Backoff from "./Backoff.js"
export * as CircuitBreaker from "./CircuitBreaker.js"
export * as Deadline from "./Deadline.js"
export * as HttpDate from "./HttpDate.js"
export * as InvalidOption from "./InvalidOption.js"
export * as Jitter from "./Jitter.js"
export * as KeyedEntries from "./KeyedEntries.js"
export * as LatencySketch from "./LatencySketch.js"
export * as Limit from "./Limit.js"
export * as Presets from "./Presets.js"
export * as RandomStream from "./RandomStream.js"
export * as RateLimitReset from "./RateLimitReset.js"
export * as Retry from "./Retry.js"
export * as RetryAfter from "./RetryAfter.js"
export * as RetryBudget from "./RetryBudget.js"
export * as RetryScope from "./RetryScope.js"
