/**
 * What one machine has run of a sweep over seeds, as a text that another machine can read: so that many can share a sweep.
 *
 * ```text
 * seeds     1 .. 10,000   machine A   ->  part --.
 * seeds 10,001 .. 20,000   machine B   ->  part --+->  Part.merge  ->  one part, as if one machine had run it all
 * ```
 *
 * Equal runs give equal bytes, on every machine and in every order.
 *
 * @since 0.1.0
 */
import type { Recovery, Summary } from "@breakwater/simulation"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Source from "./Source.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Part {
  /** Of the text; another layout is another number. */
  readonly format: 1
  readonly source: Source.Source
  /** The name of the scenario. */
  readonly scenario: string
  /** Of the simulation: another one may give other runs for the same seeds. */
  readonly engine: number
  /** Of the random numbers. */
  readonly generator: string
  readonly seeds: Seeds
  /** The seeds between `from` and `to` that have not been run, in order. */
  readonly missing: ReadonlyArray<Seeds>
  /** Of each run, in order of the seeds. */
  readonly summaries: ReadonlyArray<Summary.Summary>
}

/**
 * Both ends included.
 *
 * @category models
 * @since 0.1.0
 */
export interface Seeds {
  readonly from: number
  readonly to: number
}

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * A text that is not a part.
 *
 * @category errors
 * @since 0.1.0
 */
export class PartInvalid extends Data.TaggedError("PartInvalid")<{
  /** Where in the text: `summaries[3].seed`. */
  readonly field: string
  /** What is wrong there. */
  readonly problem: string
}> {
  override get message(): string {
    return `Not a part of a sweep: ${this.field}: ${this.problem}`
  }
}

/**
 * Parts that do not make one.
 *
 * @category errors
 * @since 0.1.0
 */
export class PartsMismatch extends Data.TaggedError("PartsMismatch")<{
  readonly field: "source" | "scenario" | "engine" | "generator" | "seeds"
  readonly problem: string
}> {
  override get message(): string {
    return `The parts do not belong together: ${this.field}: ${this.problem}`
  }
}

// -----------------------------------------------------------------------------
// schema
// -----------------------------------------------------------------------------

const Count = Schema.NonNegativeInt
const Millis = Schema.NonNegative.pipe(Schema.finite())

const recovery: Schema.Schema<Recovery.Recovery> = Schema.Union(
  Schema.Struct({ _tag: Schema.Literal("Recovered"), after: Millis }),
  Schema.Struct({ _tag: Schema.Literal("NotRecovered"), within: Millis })
)

/** JSON has no `undefined`: what is undefined is left out. */
const absent = <A>(self: Schema.Schema<A>) => Schema.optionalWith(Schema.UndefinedOr(self), { default: () => undefined })

const summary = Schema.Struct({
  seed: Schema.Int,
  operations: Count,
  attempts: Count,
  retries: Count,
  succeeded: Count,
  gaveUp: Count,
  unfinished: Count,
  amplification: Millis,
  peakInFlight: Count,
  timeOverCapacity: Millis,
  allSucceededAt: absent(Millis),
  recovery: absent(recovery),
  work: Millis,
  wastedWork: Millis,
  calls: Schema.Record({ key: Schema.String, value: Count })
})

const seeds = Schema.Struct({ from: Schema.Int, to: Schema.Int }).pipe(
  Schema.filter(({ from, to }) => (from <= to ? undefined : { path: ["to"], message: `must be at least ${from}, got ${to}` }))
)

const part = Schema.Struct({
  format: Schema.Literal(1),
  source: Source.schema,
  scenario: Schema.String,
  engine: Schema.Int,
  generator: Schema.String,
  seeds,
  missing: Schema.Array(seeds),
  summaries: Schema.Array(summary)
}).pipe(Schema.filter((part) => outside(part) ?? outOfOrder(part)))

/** The first gap that is none: at an end, out of order, or one with the gap before it. */
const outside = ({ missing, seeds }: Part): Schema.FilterIssue | undefined => {
  let least = seeds.from + 1
  for (const [index, { from, to }] of missing.entries()) {
    if (from < least) return { path: ["missing", index, "from"], message: `must be at least ${least}, got ${from}` }
    if (to >= seeds.to) return { path: ["missing", index, "to"], message: `must be below ${seeds.to}, got ${to}` }
    least = to + 2
  }
  return undefined
}

/** The first summary that is not the one of the next seed. */
const outOfOrder = ({ missing, seeds, summaries }: Part): Schema.FilterIssue | undefined => {
  let index = 0
  for (const { from, to } of runsOf(seeds, missing)) {
    for (let seed = from; seed <= to; seed++, index++) {
      const found = summaries[index]?.seed
      if (found === seed) continue
      const got = found === undefined ? "no more" : String(found)
      return { path: ["summaries", index, "seed"], message: `must be ${seed}, got ${got}` }
    }
  }
  return index === summaries.length
    ? undefined
    : { path: ["summaries", index], message: `must not be there: the last seed is ${seeds.to}` }
}

/** What is left of the seeds without the missing ones. */
const runsOf = ({ from, to }: Seeds, missing: ReadonlyArray<Seeds>): ReadonlyArray<Seeds> =>
  [...missing, { from: to + 1, to: to + 1 }].map((gap, index) => ({
    from: index === 0 ? from : missing[index - 1]!.to + 1,
    to: gap.from - 1
  }))

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

/**
 * @category make
 * @since 0.1.0
 */
export const make = (part: Omit<Part, "format" | "missing">): Part => ({ format: 1, ...part, missing: [] })

// -----------------------------------------------------------------------------
// reading and writing
// -----------------------------------------------------------------------------

const readJson = Schema.decodeUnknownEither(Schema.parseJson(part))

/**
 * Reads a part that `toText` wrote.
 *
 * @example
 * ```ts
 * import { Part } from "@breakwater/storm"
 * import { Either } from "effect"
 *
 * const read = Part.read('{ "format": 2 }')
 * console.log(Either.isLeft(read) && read.left.message) // Not a part of a sweep: format: Expected 1, actual 2
 * ```
 * @category reading and writing
 * @since 0.1.0
 */
export const read = (text: string): Either.Either<Part, PartInvalid> =>
  Either.mapLeft(readJson(text), (error) => {
    const { message, path } = ParseResult.ArrayFormatter.formatErrorSync(error)[0]!
    return path.length === 0
      ? new PartInvalid({ field: "the text", problem: "must be the JSON object that Part.toText writes" })
      : new PartInvalid({ field: fieldOf(path), problem: message })
  })

const fieldOf = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>((field, key) => {
    if (typeof key === "number") return `${field}[${key}]`
    return field === "" ? String(key) : `${field}.${String(key)}`
  }, "")

/**
 * A part as JSON, a run in each line.
 *
 * @category reading and writing
 * @since 0.1.0
 */
export const toText = (self: Part): string => {
  const { summaries, ...head } = encode(self)
  const lines = Object.entries(head).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},\n`)
  return `{\n${lines.join("")}  "summaries": [\n${summaries.map((one) => `    ${JSON.stringify(one)}`).join(",\n")}\n  ]\n}\n`
}

const encode = Schema.encodeSync(part)

// -----------------------------------------------------------------------------
// merging
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface MergeOptions {
  /** Whether seeds between the parts may be missing; they are named in the result. Default: they may not. */
  readonly allowGaps?: boolean | undefined
}

/**
 * One part of many, in whatever order they come. Refuses parts of different sources, scenarios, engines or generators, and seeds
 * that are in two of them.
 *
 * @example
 * ```ts
 * import { Part, Workers } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const run = (from: number, to: number) => Workers.replicate({ _tag: "Catalogue", id: "A4" }, { seeds: { from, to } })
 *
 * const program = Effect.gen(function* () {
 *   const here = yield* run(1, 50)
 *   const elsewhere = yield* run(51, 100)
 *   return yield* Part.merge([elsewhere.part, here.part])
 * })
 * const sweep = await Effect.runPromise(program)
 * console.log(sweep.seeds, sweep.summaries.length) // { from: 1, to: 100 } 100
 * ```
 * @category merging
 * @since 0.1.0
 */
export const merge = (parts: NonEmptyReadonlyArray<Part>, options: MergeOptions = {}): Either.Either<Part, PartsMismatch> => {
  const pieces = parts.flatMap(piecesOf).sort((one, other) => one.seeds.from - other.seeds.from)
  const missing: Array<Seeds> = []
  for (const [index, after] of pieces.slice(1).entries()) {
    const before = pieces[index]!
    const mismatch = differing(before, after) ?? overlap(before.seeds, after.seeds)
    if (mismatch !== undefined) return Either.left(mismatch)
    const gap = { from: before.seeds.to + 1, to: after.seeds.from - 1 }
    if (gap.from <= gap.to) missing.push(gap)
  }
  if (missing.length > 0 && options.allowGaps !== true) {
    return Either.left(new PartsMismatch({ field: "seeds", problem: `no part has ${missing.map(show).join(", ")}` }))
  }
  const { from } = pieces[0]!.seeds
  const { to } = pieces[pieces.length - 1]!.seeds
  return Either.right({ ...pieces[0]!, seeds: { from, to }, missing, summaries: pieces.flatMap(({ summaries }) => summaries) })
}

/** A part without gaps for each run of seeds. */
const piecesOf = (self: Part): ReadonlyArray<Part> => {
  let done = 0
  return runsOf(self.seeds, self.missing).map((seeds) => {
    const summaries = self.summaries.slice(done, (done += seeds.to - seeds.from + 1))
    return { ...self, seeds, missing: [], summaries }
  })
}

const sameSource = Schema.equivalence(Source.schema)

const differing = (one: Part, other: Part): PartsMismatch | undefined => {
  const field = sameSource(one.source, other.source)
    ? (["scenario", "engine", "generator"] as const).find((field) => one[field] !== other[field])
    : "source"
  if (field === undefined) return undefined
  return new PartsMismatch({
    field,
    problem: `${JSON.stringify(one[field])} in one, ${JSON.stringify(other[field])} in another`
  })
}

/** Of two runs of seeds of which the second does not begin first. */
const overlap = (one: Seeds, other: Seeds): PartsMismatch | undefined =>
  other.from > one.to
    ? undefined
    : new PartsMismatch({
        field: "seeds",
        problem: `more than one part has ${show({ from: other.from, to: Math.min(one.to, other.to) })}`
      })

const show = ({ from, to }: Seeds): string => (from === to ? `seed ${from}` : `seeds ${from} to ${to}`)
