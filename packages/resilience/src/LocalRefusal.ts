/**
 * What is refused on this side of the wire: a call that a breaker, a bulkhead or a throttle did not let through. The dependency
 * has not seen it, so it is no attempt, it is not retried, and nothing further out counts it as a failure of the dependency.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * Marks an error as a local refusal.
 *
 * @category models
 * @since 0.1.0
 */
export const TypeId: TypeId = "~@breakwater/resilience/LocalRefusal"

/**
 * @category models
 * @since 0.1.0
 */
export type TypeId = "~@breakwater/resilience/LocalRefusal"

/**
 * Any error of yours becomes a local refusal by carrying the mark.
 *
 * @example
 * ```ts
 * import { LocalRefusal } from "@breakwater/resilience"
 * import { Data, Duration } from "effect"
 *
 * class PoolEmpty extends Data.TaggedError("PoolEmpty") {
 *   readonly [LocalRefusal.TypeId] = LocalRefusal.TypeId
 *   readonly retryAfter = Duration.zero
 * }
 * console.log(LocalRefusal.isLocalRefusal(new PoolEmpty())) // true
 * ```
 * @category models
 * @since 0.1.0
 */
export interface LocalRefusal {
  readonly [TypeId]: TypeId
  /** How long it is of no use to come back. */
  readonly retryAfter: Duration.Duration
}

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * A circuit breaker is open.
 *
 * @category errors
 * @since 0.1.0
 */
export class CircuitOpen
  extends Data.TaggedError("CircuitOpen")<{
    /** Its name. */
    readonly breaker: string
    readonly retryAfter: Duration.Duration
  }>
  implements LocalRefusal
{
  readonly [TypeId]: TypeId = TypeId
  override get message(): string {
    return `The circuit breaker "${this.breaker}" is open${
      Duration.isFinite(this.retryAfter) ? `; try again in ${Duration.format(this.retryAfter)}` : " until it is reset"
    }`
  }
}

/**
 * A bulkhead has no free permit, and no place in its queue.
 *
 * @category errors
 * @since 0.1.0
 */
export class BulkheadFull
  extends Data.TaggedError("BulkheadFull")<{
    /** Its name. */
    readonly bulkhead: string
    readonly retryAfter: Duration.Duration
  }>
  implements LocalRefusal
{
  readonly [TypeId]: TypeId = TypeId
  override get message(): string {
    return `The bulkhead "${this.bulkhead}" is full`
  }
}

/**
 * A client-side throttle holds the call back.
 *
 * @category errors
 * @since 0.1.0
 */
export class Throttled
  extends Data.TaggedError("Throttled")<{
    /** Its name. */
    readonly throttle: string
    readonly retryAfter: Duration.Duration
  }>
  implements LocalRefusal
{
  readonly [TypeId]: TypeId = TypeId
  override get message(): string {
    return `Held back by the throttle "${this.throttle}": the dependency refuses too many calls`
  }
}

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * @category getters
 * @since 0.1.0
 */
export const isLocalRefusal = (error: unknown): error is LocalRefusal => Predicate.hasProperty(error, TypeId)
