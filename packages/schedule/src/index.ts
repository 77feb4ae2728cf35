/**
 * Retry schedules for Effect that help and cannot hurt: backoff, jitter that survives the cap, limits, `Retry-After`.
 *
 * @since 0.1.0
 */
export * as Backoff from "./Backoff.js"
export * as DurationOption from "./DurationOption.js"
export * as Jitter from "./Jitter.js"
export * as Limit from "./Limit.js"
export * as Presets from "./Presets.js"
export * as Preview from "./Preview.js"
export * as RetryAfter from "./RetryAfter.js"
export * as RetryObserver from "./RetryObserver.js"
export * as ScheduleStep from "./ScheduleStep.js"
