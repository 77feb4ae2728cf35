/**
 * Elementary functions out of + - * / and sqrt alone. The language leaves the last bit of Math.log and Math.exp to the engine,
 * and engines differ; a trace must not.
 */

const ln2High = 6.9314718036912381649e-1
const ln2Low = 1.90821492927058770002e-10

/** The natural logarithm of a finite number above 0. */
export const log = (x: number): number => {
  let mantissa = x
  let exponent = 0
  // Exact: only the exponent of the double changes.
  for (; mantissa > Math.SQRT2; exponent++) mantissa *= 0.5
  for (; mantissa < Math.SQRT1_2; exponent--) mantissa *= 2
  // ln m = 2 artanh s. |s| is at most 0.172, so what is cut off is below 1e-17.
  const s = (mantissa - 1) / (mantissa + 1)
  const square = s * s
  let series = 0
  for (let n = 21; n >= 3; n -= 2) series = (series + 1 / n) * square
  return exponent * ln2High + (2 * s * (1 + series) + exponent * ln2Low)
}

/** e to the power of x. */
export const exp = (x: number): number => {
  if (!(x > -746)) return x <= -746 ? 0 : NaN
  if (x > 710) return Infinity
  const exponent = Math.floor(x / Math.LN2 + 0.5)
  const rest = x - exponent * ln2High - exponent * ln2Low
  // |rest| is at most 0.347, so what is cut off is below 1e-17.
  let power = 1
  for (let n = 14; n >= 1; n--) power = 1 + (power * rest) / n
  for (let n = exponent; n > 0; n--) power *= 2
  for (let n = exponent; n < 0; n++) power *= 0.5
  return power
}

/**
 * Which value a standard normal variable stays below with probability p, 0 < p < 1: algorithm AS 241 (PPND16), Wichura, Applied
 * Statistics 37 (1988), good to about 16 digits.
 */
export const normalQuantile = (p: number): number => {
  const q = p - 0.5
  if (q >= -0.425 && q <= 0.425) return q * ratio(centre, 0.180625 - q * q)
  const tail = Math.sqrt(-log(q < 0 ? p : 1 - p))
  const value = tail <= 5 ? ratio(shoulder, tail - 1.6) : ratio(farTail, tail - 5)
  return q < 0 ? -value : value
}

interface Ratio {
  /** Coefficients, the highest power first. */
  readonly above: ReadonlyArray<number>
  readonly below: ReadonlyArray<number>
}

const ratio = ({ above, below }: Ratio, x: number): number => polynomial(above, x) / polynomial(below, x)

const polynomial = (coefficients: ReadonlyArray<number>, x: number): number => {
  let sum = 0
  for (const coefficient of coefficients) sum = sum * x + coefficient
  return sum
}

const centre: Ratio = {
  above: [
    2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457, 13731.693765509461125,
    1971.5909503065514427, 133.14166789178437745, 3.387132872796366608
  ],
  below: [
    5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867, 5394.1960214247511077,
    687.1870074920579083, 42.313330701600911252, 1
  ]
}

const shoulder: Ratio = {
  above: [
    7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258, 3.64784832476320460504,
    5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734
  ],
  below: [
    1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
    0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1
  ]
}

const farTail: Ratio = {
  above: [
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
    0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772
  ],
  below: [
    2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
    0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1
  ]
}
