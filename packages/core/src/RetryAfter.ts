/**
 * What a server says about when to come back, and what a client does with it: the field `Retry-After` (RFC 9110 section
 * 10.2.3) and the rule that puts it under the client's own backoff.
 *
 * ```text
 * own backoff   |------|
 * server        |=============|           a floor: never earlier
 * jitter                      |~~|        only on top
 * maximum       |---------------------|   a server's time beyond it ends the retrying
 * ```
 *
 * @since 0.1.0
 */
import * as HttpDate from "./HttpDate.js"
import * as InvalidOption from "./InvalidOption.js"
import * as Jitter from "./Jitter.js"
import * as RateLimitReset from "./RateLimitReset.js"

// -----------------------------------------------------------------------------
// parsing
// -----------------------------------------------------------------------------

/**
 * The wait that a `Retry-After` value asks for, in whole milliseconds from `now` (milliseconds since 1970, of the wall clock),
 * or `undefined` where it cannot be read: an unreadable field is the same as no field.
 *
 * Reads delay-seconds and the three forms of HTTP-date. A date in the past is 0. Decimal seconds, which the grammar does not
 * have and servers send, are rounded up to the millisecond. A number too large to wait for saturates.
 *
 * @example
 * ```ts
 * import { RetryAfter } from "@breakwater/core"
 *
 * const now = Date.UTC(2026, 0, 5, 12)
 * console.log(RetryAfter.parse("120", now)) // 120000
 * console.log(RetryAfter.parse("Mon, 05 Jan 2026 12:02:00 GMT", now)) // 120000
 * console.log(RetryAfter.parse("-3", now)) // undefined
 * ```
 * @category parsing
 * @since 0.1.0
 */
export const parse = (value: string, now: number): number | undefined => {
  const trimmed = value.trim()
  const seconds = /^(\d+)(?:\.(\d+))?$/.exec(trimmed)
  if (seconds !== null) return Math.min(InvalidOption.maxMillis, fromDecimal(seconds[1]!, seconds[2] ?? ""))
  const at = HttpDate.parse(trimmed, now)
  return at === undefined ? undefined : Math.max(0, Math.ceil(at - now))
}

/** Digits, not floating point: 1.1 s is 1100 ms, not the 1101 that rounding 1100.0000000000002 up gives. */
const fromDecimal = (whole: string, fraction: string): number =>
  Number(whole) * 1000 + Number(fraction.slice(0, 3).padEnd(3, "0")) + (/[1-9]/.test(fraction.slice(3)) ? 1 : 0)

/**
 * The wait that a response's headers ask for, in whole milliseconds from `now` (milliseconds since 1970, of the wall clock), or
 * `undefined` where they ask for none. The first that can be read wins, 0 included:
 *
 * 1. `retry-after-ms` (not standard; Azure and OpenAI send it)
 * 2. `retry-after`
 * 3. the reset of a rate limit of which nothing is left, see `RateLimitReset`
 *
 * `header` looks a field up by its lower-case name.
 *
 * @example
 * ```ts
 * import { RetryAfter } from "@breakwater/core"
 *
 * const headers = new Map([["retry-after-ms", "1500"], ["retry-after", "30"]])
 * console.log(RetryAfter.fromHeaders((name) => headers.get(name), Date.UTC(2026, 0, 5))) // 1500
 * ```
 * @category parsing
 * @since 0.1.0
 */
export const fromHeaders = (header: (name: string) => string | undefined, now: number): number | undefined =>
  parseMillis(header("retry-after-ms") ?? "") ??
  parse(header("retry-after") ?? "", now) ??
  RateLimitReset.fromHeaders(header, now)

const parseMillis = (value: string): number | undefined => {
  const millis = /^\d+(?:\.\d+)?$/.exec(value.trim())
  return millis === null ? undefined : Math.min(InvalidOption.maxMillis, Math.ceil(Number(millis[0])))
}

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface RespectOptions {
  /** The longest server time that is waited for, in whole milliseconds, itself included. Default one minute. */
  readonly max?: number | undefined
  /** What to do beyond it: end the retrying at once, or come back after the maximum all the same. Default "give up". */
  readonly beyond?: "give up" | "clamp" | undefined
  /** How much is added to the server's time at random, as a share of it, 0 to 1. Default 0.1. */
  readonly jitter?: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export type Decision = { readonly _tag: "Wait"; readonly delay: number } | { readonly _tag: "GiveUp" }

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/**
 * How long to wait, given the client's own backoff, what the server asked for (`undefined`: nothing) and a random number in
 * [0, 1). The server's time is a floor under the backoff and is never shortened by jitter, which is only added to it, so that
 * the clients it holds back do not all return in the same millisecond.
 *
 * Throws `InvalidOption` for a wrong option.
 *
 * @example
 * ```ts
 * import { RetryAfter } from "@breakwater/core"
 *
 * const wait = RetryAfter.respect({ max: 60_000, jitter: 0.5 })
 * console.log(wait(100, undefined, 0.5)) // { _tag: "Wait", delay: 100 }
 * console.log(wait(100, 3000, 0)) // { _tag: "Wait", delay: 3000 }
 * console.log(wait(100, 3000, 0.999)) // { _tag: "Wait", delay: 4499 }
 * console.log(wait(100, 600_000, 0)) // { _tag: "GiveUp" }
 * ```
 * @category rules
 * @since 0.1.0
 */
export const respect = (
  options: RespectOptions = {}
): ((backoff: number, server: number | undefined, random: number) => Decision) => {
  const where = "RetryAfter.respect"
  const max = InvalidOption.wholeMillisOrInfinity(where, "max", options.max ?? 60_000)
  const jitter = InvalidOption.between(where, "jitter", options.jitter ?? 0.1, 0, 1)
  const clamp = options.beyond === "clamp"
  return (backoff, server, random) => {
    if (server === undefined) return { _tag: "Wait", delay: backoff }
    if (server > max && !clamp) return { _tag: "GiveUp" }
    const floor = Math.ceil(Math.min(server, max))
    const spread = Jitter.uniform(floor, Math.min(InvalidOption.maxMillis, floor + Math.round(floor * jitter)), random)
    return { _tag: "Wait", delay: Math.max(backoff, spread) }
  }
}
