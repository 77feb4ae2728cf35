/**
 * Models of the thing that clients call. A service is a description; `open` gives it fresh state for one run. Its calls are
 * ordinary effects that take virtual time and succeed or fail.
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { unsafeCurrentTimeMicros } from "./VirtualTime.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Service {
  /** The model in words, for reports. */
  readonly description: string
  /** How many calls it can carry at once, where the model has such a number. */
  readonly slots: number | undefined
  /** Fresh state for one run. */
  readonly open: () => (call: Call) => Effect.Effect<void, Failure>
}

/**
 * What a service may know of a call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  /** Number of the client, from 0. */
  readonly client: number
  /** Number of the attempt within its operation, from 1. */
  readonly attempt: number
}

/**
 * The service did not answer in time.
 *
 * @category models
 * @since 0.1.0
 */
export interface TimedOut {
  readonly _tag: "TimedOut"
}

/**
 * The service answered with an error status.
 *
 * @category models
 * @since 0.1.0
 */
export interface Refused {
  readonly _tag: "Refused"
  readonly status: number
  /** When the service asks its caller to come back, counted from its answer. */
  readonly retryAfter: Duration.Duration | undefined
}

/**
 * How a call can fail. Plain data: a model that makes a million of them pays for no stack traces.
 *
 * @category models
 * @since 0.1.0
 */
export type Failure = TimedOut | Refused

// -----------------------------------------------------------------------------
// failures
// -----------------------------------------------------------------------------

/**
 * @category failures
 * @since 0.1.0
 */
export const timedOut: Failure = { _tag: "TimedOut" }

/**
 * @category failures
 * @since 0.1.0
 */
export const refused = (status: number, retryAfter?: Duration.DurationInput): Failure => ({
  _tag: "Refused",
  status,
  retryAfter: retryAfter === undefined ? undefined : Duration.decode(retryAfter)
})

// -----------------------------------------------------------------------------
// constructors
// -----------------------------------------------------------------------------

/**
 * A service that carries a fixed number of calls at once, each for the same time. A start that makes more dooms **every** call
 * then in flight, the earlier ones too: they keep their slots for their whole time and then time out.
 *
 * A call occupies the half-open interval [start, start + takes): one that starts at the very instant another ends does not
 * meet it, whichever of the two the clock happens to run first. A caller that gives up does not free the slot.
 *
 * @example
 * ```ts
 * import { Service } from "@breakwater/simulation"
 *
 * const checkout = Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const capacity = (options: {
  readonly slots: number
  readonly takes: Duration.DurationInput
  /** What happens when more calls are in flight than there are slots. */
  readonly above: "everything in flight times out"
}): Service => {
  const slots = InvalidOption.count("Service.capacity", "slots", options.slots, 1)
  const takes = Duration.decode(options.takes)
  const micros = Math.round(Duration.toMillis(takes) * 1000)
  return {
    description: `${slots} slots, ${Duration.format(takes)} each; above that ${options.above}`,
    slots,
    open: () => {
      let inFlight: Array<{ readonly until: number; doomed: boolean }> = []
      return () =>
        Effect.clockWith((clock) => {
          const now = unsafeCurrentTimeMicros(clock)
          const call = { until: now + micros, doomed: false }
          inFlight = inFlight.filter((other) => other.until > now)
          inFlight.push(call)
          if (inFlight.length > slots) for (const other of inFlight) other.doomed = true
          return Effect.zipRight(
            clock.sleep(takes),
            Effect.suspend(() => (call.doomed ? Effect.fail(timedOut) : Effect.void))
          )
        })
    }
  }
}

/**
 * A service that follows a script: for each client, by its number, what each attempt of its operation gives. The last entry
 * holds for all later attempts.
 *
 * @example
 * ```ts
 * import { Service } from "@breakwater/simulation"
 *
 * const flaky = Service.scripted({
 *   takes: "100 millis",
 *   script: [
 *     [Service.refused(429, "1 second"), "ok"], // the first client is throttled once
 *     ["ok"]
 *   ]
 * })
 * ```
 * @category constructors
 * @since 0.1.0
 */
export const scripted = (options: {
  readonly takes: Duration.DurationInput
  readonly script: ReadonlyArray<readonly [Failure | "ok", ...ReadonlyArray<Failure | "ok">]>
  /** Drawn as the service's capacity; the script itself does not care. */
  readonly slots?: number | undefined
}): Service => {
  const takes = Duration.decode(options.takes)
  return {
    description: `answers by a script, ${Duration.format(takes)} each`,
    slots: options.slots,
    open:
      () =>
      ({ attempt, client }) => {
        const outcomes = options.script[client]
        if (outcomes === undefined) {
          return Effect.die(
            new InvalidOption.InvalidOption("Service.scripted", "script", "a list for every client", `none for ${client}`)
          )
        }
        const outcome = outcomes[Math.min(attempt, outcomes.length) - 1]!
        return Effect.zipRight(Clock.sleep(takes), outcome === "ok" ? Effect.void : Effect.fail(outcome))
      }
  }
}
