/**
 * The HTTP-date of RFC 9110 section 5.6.7, in its three forms and no other. A general date parser reads `-3` as a day in 2001;
 * this one reads what the grammar allows and leaves the rest alone.
 *
 * @since 0.1.0
 */

// -----------------------------------------------------------------------------
// grammar
// -----------------------------------------------------------------------------

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
const month = `(?<month>${months.join("|")})`
const time = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)"
const day = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
const longDay = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"

/** IMF-fixdate, the form to send: `Sun, 06 Nov 1994 08:49:37 GMT`. */
const imfFixdate = new RegExp(`^${day}, (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`)
/** RFC 850, obsolete: `Sunday, 06-Nov-94 08:49:37 GMT`. */
const rfc850 = new RegExp(`^${longDay}, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`)
/** C's asctime, obsolete: `Sun Nov  6 08:49:37 1994`. */
const asctime = new RegExp(`^${day} ${month} (?<day>\\d\\d| \\d) ${time} (?<year>\\d{4})$`)

// -----------------------------------------------------------------------------
// parsing
// -----------------------------------------------------------------------------

/**
 * The moment a date names, in milliseconds since 1970, or `undefined` if it is none. `now` (same unit) places the two-digit
 * year of the RFC 850 form: one that seems more than 50 years ahead lies in the past.
 *
 * The day of the week must be the name of one but need not be the right one. A leap second counts as the second after it.
 *
 * @example
 * ```ts
 * import { HttpDate } from "@breakwater/core"
 *
 * const now = Date.UTC(2026, 0, 5)
 * console.log(HttpDate.parse("Sun, 06 Nov 1994 08:49:37 GMT", now)) // 784111777000
 * console.log(HttpDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now)) // 784111777000
 * console.log(HttpDate.parse("Sun Nov  6 08:49:37 1994", now)) // 784111777000
 * console.log(HttpDate.parse("-3", now)) // undefined
 * ```
 * @category parsing
 * @since 0.1.0
 */
export const parse = (value: string, now: number): number | undefined => {
  const fields = (imfFixdate.exec(value) ?? rfc850.exec(value) ?? asctime.exec(value))?.groups
  if (fields === undefined) return undefined
  const year = fields["year"]!
  return instant(
    year.length === 2 ? placeYear(Number(year), now) : Number(year),
    months.indexOf(fields["month"]!),
    Number(fields["day"]),
    Number(fields["hour"]),
    Number(fields["minute"]),
    Number(fields["second"])
  )
}

const placeYear = (twoDigits: number, now: number): number => {
  const thisYear = new Date(now).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + twoDigits
  return year > thisYear + 50 ? year - 100 : year
}

const instant = (
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number
): number | undefined => {
  if (hour > 23 || minute > 59 || second > 60) return undefined
  const date = new Date(0)
  // Not Date.UTC, which takes the year 94 for 1994.
  const midnight = date.setUTCFullYear(year, month, day)
  const exists = date.getUTCMonth() === month && date.getUTCDate() === day
  return exists ? midnight + ((hour * 60 + minute) * 60 + second) * 1000 : undefined
}
