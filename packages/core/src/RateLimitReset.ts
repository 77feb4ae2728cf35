/**
 * When a rate limit starts afresh, read from the header families that say so. Unlike `Retry-After` these fields do not ask the
 * client to wait: many servers send them with every answer. So a reset counts only where its own "remaining" field does not say
 * that something is left.
 *
 * A number means one of three things, told apart by its size, because the same field name means each of them somewhere:
 *
 * ```text
 * below 10^9          seconds from now
 * from 10^9           seconds since 1970
 * from 10^11          milliseconds since 1970
 * ```
 *
 * A moment named to the second is waited for one second longer: the server may still count the old window in that very second.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * A header field that names a reset, and the one beside it that says how much is left until then.
 *
 * @category models
 * @since 0.1.0
 */
export interface Field {
  readonly reset: string
  readonly remaining: string
}

/**
 * The fields that are read, by their lower-case names, besides the `ratelimit` field of the IETF draft.
 *
 * - `ratelimit-*`: draft-ietf-httpapi-ratelimit-headers up to -06 (seconds from now); GitLab (seconds since 1970)
 * - `x-ratelimit-*`: GitHub, Reddit, Discord and many others; `-after`: Discord
 * - `x-rate-limit-*`: X (Twitter), Okta
 * - `x-ratelimit-*-requests`, `-tokens`: OpenAI and those who copy it (durations such as `6m0s`)
 * - `anthropic-ratelimit-*`: Anthropic (RFC 3339 instants)
 *
 * @category models
 * @since 0.1.0
 */
export const fields: ReadonlyArray<Field> = [
  { reset: "ratelimit-reset", remaining: "ratelimit-remaining" },
  { reset: "x-ratelimit-reset", remaining: "x-ratelimit-remaining" },
  { reset: "x-ratelimit-reset-after", remaining: "x-ratelimit-remaining" },
  { reset: "x-rate-limit-reset", remaining: "x-rate-limit-remaining" },
  ...["requests", "tokens"].map((what) => ({
    reset: `x-ratelimit-reset-${what}`,
    remaining: `x-ratelimit-remaining-${what}`
  })),
  ...["requests", "tokens", "input-tokens", "output-tokens"].map((what) => ({
    reset: `anthropic-ratelimit-${what}-reset`,
    remaining: `anthropic-ratelimit-${what}-remaining`
  }))
]

// -----------------------------------------------------------------------------
// parsing
// -----------------------------------------------------------------------------

/**
 * The wait until a moment that a reset field names, in whole milliseconds from `now` (milliseconds since 1970), or `undefined`
 * where it cannot be read. Reads numbers as above, RFC 3339 instants, and durations such as `6m0s`, `1.5s`, `20ms`.
 *
 * @example
 * ```ts
 * import { RateLimitReset } from "@breakwater/core"
 *
 * const now = Date.UTC(2026, 0, 5, 12)
 * console.log(RateLimitReset.parse("30", now)) // 30000
 * console.log(RateLimitReset.parse("1767614520", now)) // 121000
 * console.log(RateLimitReset.parse("2026-01-05T12:00:10.500Z", now)) // 10500
 * console.log(RateLimitReset.parse("6m0s", now)) // 360000
 * ```
 * @category parsing
 * @since 0.1.0
 */
export const parse = (value: string, now: number): number | undefined => {
  const trimmed = value.trim()
  return parseNumber(trimmed, now) ?? parseInstant(trimmed, now) ?? parseDuration(trimmed)
}

/**
 * The wait that the reset fields of a response ask for: the latest of those that say that nothing is left, or do not say.
 * `undefined` where there is none. `header` looks a field up by its lower-case name.
 *
 * @example
 * ```ts
 * import { RateLimitReset } from "@breakwater/core"
 *
 * const headers = new Map([
 *   ["x-ratelimit-remaining-requests", "0"],
 *   ["x-ratelimit-reset-requests", "1s"],
 *   ["x-ratelimit-remaining-tokens", "9000"],
 *   ["x-ratelimit-reset-tokens", "6m0s"]
 * ])
 * console.log(RateLimitReset.fromHeaders((name) => headers.get(name), Date.UTC(2026, 0, 5))) // 1000
 * ```
 * @category parsing
 * @since 0.1.0
 */
export const fromHeaders = (header: (name: string) => string | undefined, now: number): number | undefined => {
  const waits = fields
    .filter(({ remaining }) => !hasMore(header(remaining)))
    .map(({ reset }) => parse(header(reset) ?? "", now))
    .concat(fromRateLimitField(header("ratelimit") ?? ""))
    .filter((wait) => wait !== undefined)
  return waits.length === 0 ? undefined : Math.max(...waits)
}

/**
 * The `RateLimit` field of draft-ietf-httpapi-ratelimit-headers: `"default";r=0;t=30` since -08, `limit=10, remaining=0,
 * reset=30` in -07; seconds from now.
 */
const fromRateLimitField = (value: string): ReadonlyArray<number | undefined> => {
  const old = /(?:^|[,;])\s*reset\s*=\s*(\d+)/.exec(value)
  if (old !== null) return hasMore(parameter(value, "remaining")) ? [] : [seconds(old[1]!)]
  return value
    .split(",")
    .filter((policy) => !hasMore(parameter(policy, "r")))
    .map((policy) => parameter(policy, "t"))
    .map((t) => (t === undefined ? undefined : seconds(t)))
}

const parameter = (value: string, name: string): string | undefined =>
  new RegExp(`(?:^|[,;])\\s*${name}\\s*=\\s*(\\d+)`).exec(value)?.[1]

const hasMore = (remaining: string | undefined): boolean => remaining !== undefined && Number(remaining.trim()) > 0

const parseNumber = (value: string, now: number): number | undefined => {
  const decimal = /^(\d+)(\.\d+)?$/.exec(value)
  if (decimal === null) return undefined
  const number = Number(value)
  if (number >= 1e11) return until(number, now)
  if (number >= 1e9) return until(seconds(value) + (decimal[2] === undefined ? 1000 : 0), now)
  return seconds(value)
}

const parseInstant = (value: string, now: number): number | undefined => {
  const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.exec(value)
  if (instant === null) return undefined
  const at = Date.parse(value)
  if (Number.isNaN(at)) return undefined
  // What is below the millisecond is cut off by the parser, and must not make the wait shorter.
  const cutOff = /[1-9]/.test(instant[1]?.slice(4) ?? "") ? 1 : 0
  return until(at + (instant[1] === undefined ? 1000 : cutOff), now)
}

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 }

const parseDuration = (value: string): number | undefined => {
  if (!/^(?:\d+(?:\.\d+)?(?:d|h|m|s|ms|us|µs|ns))+$/.test(value)) return undefined
  const parts = value.matchAll(/(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)/g)
  const millis = Array.from(parts).reduce((sum, [, n, unit]) => sum + Number(n) * units[unit as keyof typeof units], 0)
  // To the nanosecond first: 1.1 s is 1100.0000000000002 ms in floating point, and not meant to be 1101.
  return saturate(Math.ceil(Number(millis.toFixed(6))))
}

const seconds = (value: string): number => saturate(Math.ceil(Number((Number(value) * 1000).toFixed(6))))

const until = (at: number, now: number): number => saturate(Math.max(0, Math.ceil(at - now)))

const saturate = (millis: number): number => Math.min(InvalidOption.maxMillis, millis)
