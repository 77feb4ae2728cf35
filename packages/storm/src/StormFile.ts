/**
 * A storm of your own in a file: a module that makes one, or YAML or JSON that describes one in the words of this library.
 *
 * ```text
 * storm.ts .mts .js .mjs     default export: an OwnStorm, or a function of parameters that gives one
 * storm.yaml .yml .json      name, service, clients, until, policies; `template` shows all that can stand there
 * ```
 *
 * Whatever is wrong is told at once, each with its line, its field, the rule and what would be right. Rules are those of the
 * functions that a field names: `service.capacity` is `Service.capacity`, a policy is `Policy.make`.
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import { CircuitBreaker, Policy, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, Limit, Presets, RetryAfter } from "@breakwater/schedule"
import { Clients, Latency, type Scenario, Service } from "@breakwater/simulation"
import { FileSystem, Path } from "@effect/platform"
import type * as PlatformError from "@effect/platform/Error"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { createJiti } from "jiti"
import { readFileSync } from "node:fs"
import * as Yaml from "yaml"
import { didYouMean } from "./internal/nearest.js"
import * as OwnStorm from "./OwnStorm.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * Values that take the place of those in the file, each by the path of its field: `clients.together`. For a module they are the
 * argument of its function.
 *
 * @category models
 * @since 0.1.0
 */
export type Parameters = { readonly [path: string]: unknown }

/**
 * Something in a file that is not right.
 *
 * @category models
 * @since 0.1.0
 */
export interface Problem {
  /** From 1; `undefined` for what stands nowhere in the file, such as a value that was set. */
  readonly line: number | undefined
  readonly column: number | undefined
  /** Of the field: `policies.patient.attempts`; empty for the file as a whole. */
  readonly path: string
  /** The rule, what there is instead, and what may have been meant. */
  readonly message: string
}

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * @category errors
 * @since 0.1.0
 */
export type StormFileError = StormFileUnreadable | StormFileInvalid | StormFileUnknownParameter

/**
 * There is no such file, or it is of no known kind.
 *
 * @category errors
 * @since 0.1.0
 */
export class StormFileUnreadable extends Data.TaggedError("StormFileUnreadable")<{
  readonly file: string
  readonly reason: string
}> {
  override get message(): string {
    return `${this.file} cannot be read: ${this.reason}`
  }
}

/**
 * The file describes no storm. All that is wrong with it, as far as can be told, in the order of the file.
 *
 * @category errors
 * @since 0.1.0
 */
export class StormFileInvalid extends Data.TaggedError("StormFileInvalid")<{
  readonly file: string
  readonly problems: ReadonlyArray<Problem>
}> {
  override get message(): string {
    return this.problems
      .map(({ column, line, message, path }) => {
        const place = line === undefined ? this.file : `${this.file}:${line}:${column}`
        return `${place} ${path === "" ? "" : `${path} `}${message}`
      })
      .join("\n")
  }
}

/**
 * A parameter was set that the file does not have.
 *
 * @category errors
 * @since 0.1.0
 */
export class StormFileUnknownParameter extends Data.TaggedError("StormFileUnknownParameter")<{
  readonly file: string
  readonly parameter: string
  /** Those that there are. */
  readonly parameters: ReadonlyArray<string>
}> {
  override get message(): string {
    const { file, parameter, parameters } = this
    return parameters.length === 0
      ? `${file} has no parameters, so ${JSON.stringify(parameter)} cannot be set: its default export is no function.`
      : `${file} has no ${JSON.stringify(parameter)} to set: what is to be varied has to stand there.${didYouMean(parameter, parameters)}`
  }
}

// -----------------------------------------------------------------------------
// loading
// -----------------------------------------------------------------------------

/**
 * Reads a storm from a file.
 *
 * @example
 * ```ts
 * import { StormFile } from "@breakwater/storm"
 * import { NodeContext } from "@effect/platform-node"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const six = yield* StormFile.load("noon.yaml")
 *   const eight = yield* StormFile.load("noon.yaml", { set: { "clients.together": 8 } })
 *   return [six.clients.description, eight.clients.description]
 * }).pipe(Effect.provide(NodeContext.layer))
 * ```
 * @category loading
 * @since 0.1.0
 */
export const load = (
  file: string,
  options: {
    /** Default: nothing. */
    readonly set?: Parameters | undefined
  } = {}
): Effect.Effect<OwnStorm.OwnStorm, StormFileError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const path = yield* Path.Path
    const extension = path.extname(file)
    const loadKind = Object.hasOwn(kinds, extension) ? kinds[extension] : undefined
    if (loadKind === undefined) {
      const known = Object.keys(kinds).join(", ")
      return yield* new StormFileUnreadable({
        file,
        reason: `its name must end in one of ${known}.${didYouMean(extension, Object.keys(kinds))}`
      })
    }
    const fileSystem = yield* FileSystem.FileSystem
    const text = yield* Effect.mapError(fileSystem.readFileString(file), (error) => {
      return new StormFileUnreadable({ file, reason: isNotFound(error) ? "there is no such file." : error.message })
    })
    return yield* loadKind({ file, absolute: path.resolve(file), text, set: options.set ?? {} })
  })

const isNotFound = (error: PlatformError.PlatformError): boolean => error._tag === "SystemError" && error.reason === "NotFound"

interface Source {
  readonly file: string
  readonly absolute: string
  readonly text: string
  readonly set: Parameters
}

type Load = (source: Source) => Effect.Effect<OwnStorm.OwnStorm, StormFileError>

// -----------------------------------------------------------------------------
// templates
// -----------------------------------------------------------------------------

/**
 * The text of a file to begin with: it loads, it runs, and its comments say what else can stand there.
 *
 * @example
 * ```ts
 * import { StormFile } from "@breakwater/storm"
 *
 * console.log(StormFile.template("yaml").includes("policies:")) // true
 * ```
 * @category templates
 * @since 0.1.0
 */
export const template = (kind: "yaml" | "typescript"): string =>
  readFileSync(new URL(`../templates/storm.${kind === "yaml" ? "yaml" : "ts"}`, import.meta.url), "utf8")

// -----------------------------------------------------------------------------
// modules
// -----------------------------------------------------------------------------

const loadModule: Load = (source) =>
  Effect.gen(function* () {
    const virtualModules = yield* Effect.promise(ownModules)
    const jiti = createJiti(source.absolute, { fsCache: false, moduleCache: false, virtualModules })
    const exported = yield* Effect.tryPromise({
      try: () => jiti.import(source.absolute, { default: true }),
      catch: (error) => thrown(source, error)
    })
    const storm = isMaker(exported) ? yield* called(source, exported) : yield* withoutParameters(source, exported)
    if (OwnStorm.isOwnStorm(storm)) return storm
    const message = `must export as default what OwnStorm.make gives, or a function that gives it, got ${show(storm)}.`
    return yield* new StormFileInvalid({
      file: source.file,
      problems: [{ line: undefined, column: undefined, path: "", message }]
    })
  })

const isMaker = (exported: unknown): exported is (set: Parameters) => unknown => typeof exported === "function"

const called = (source: Source, exported: (set: Parameters) => unknown): Effect.Effect<unknown, StormFileInvalid> =>
  Effect.try({ try: () => exported(source.set), catch: (error) => thrown(source, error) })

const withoutParameters = ({ file, set }: Source, exported: unknown): Effect.Effect<unknown, StormFileUnknownParameter> => {
  const [parameter] = Object.keys(set)
  return parameter === undefined ? Effect.succeed(exported) : new StormFileUnknownParameter({ file, parameter, parameters: [] })
}

/**
 * A file gets the very modules that run it, wherever it lies and whatever is installed there: a second copy of Effect next to this
 * one would be slow and might not understand it.
 */
const ownModules = async (): Promise<{ readonly [id: string]: unknown }> => {
  const packages: { readonly [name: string]: object } = {
    effect: await import("effect"),
    "@breakwater/core": await import("@breakwater/core"),
    "@breakwater/schedule": await import("@breakwater/schedule"),
    "@breakwater/resilience": await import("@breakwater/resilience"),
    "@breakwater/simulation": await import("@breakwater/simulation"),
    "@breakwater/storm": await import("./index.js")
  }
  return Object.fromEntries(
    Object.entries(packages).flatMap(([name, modules]) => [
      [name, modules],
      ...Object.entries(modules).map(([module, exports]) => [`${name}/${module}`, exports])
    ])
  )
}

/** Where in the file it was thrown, as far as the error tells: a syntax error in its message, any other in its stack. */
const thrown = ({ absolute, file }: Source, error: unknown): StormFileInvalid => {
  const [text, stack] = error instanceof Error ? [error.message, error.stack ?? ""] : [String(error), ""]
  const syntax = placeIn(text, absolute)
  const place = syntax ?? placeIn(stack, absolute)
  const message = syntax === undefined ? text : text.slice(0, text.indexOf(absolute)).trim()
  // The parser counts columns from 0, the engine from 1.
  const column = place === undefined ? undefined : place.column + (syntax === undefined ? 0 : 1)
  return new StormFileInvalid({ file, problems: [{ line: place?.line, column, path: "", message }] })
}

const placeIn = (text: string, absolute: string): Place | undefined => {
  const after = text.split(`${absolute}:`)[1]
  const [, line, column] = /^(\d+):(\d+)/.exec(after ?? "") ?? []
  return line === undefined ? undefined : { line: Number(line), column: Number(column) }
}

interface Place {
  readonly line: number
  readonly column: number
}

// -----------------------------------------------------------------------------
// YAML and JSON
// -----------------------------------------------------------------------------

const loadData: Load = (source) =>
  Effect.gen(function* () {
    const { file, set } = source
    const lines = new Yaml.LineCounter()
    const document = Yaml.parseDocument(source.text, { lineCounter: lines, merge: true, prettyErrors: false })
    const invalid = (problems: ReadonlyArray<Problem>) => new StormFileInvalid({ file, problems })
    const syntax = syntaxProblems(document, lines)
    if (syntax.length > 0) return yield* invalid(syntax)
    const data = yield* withParameters(document.toJS({ maxAliasCount: -1 }), source)
    const decoded = ParseResult.decodeUnknownEither(storm)(data, { errors: "all", onExcessProperty: "error" })
    if (Either.isRight(decoded)) return decoded.right
    const problems = findings(decoded.left, []).map((finding) => located(finding, document, lines, Object.keys(set)))
    return yield* invalid(problems.sort(inOrderOfFile))
  })

const kinds: { readonly [extension: string]: Load } = {
  ...Object.fromEntries([".yaml", ".yml", ".json"].map((extension) => [extension, loadData])),
  ...Object.fromEntries([".ts", ".mts", ".js", ".mjs"].map((extension) => [extension, loadModule]))
}

const syntaxProblems = (document: Yaml.Document, lines: Yaml.LineCounter): ReadonlyArray<Problem> => {
  const problem = (offset: number, message: string): Problem => ({ ...placeAt(lines, offset), path: "", message })
  const problems = [...document.errors, ...document.warnings].map(({ message, pos: [offset] }) => problem(offset, message))
  Yaml.visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return
      problems.push(
        problem(alias.range?.[0] ?? 0, `the anchor &${alias.source} must be set before its alias *${alias.source}.`)
      )
    }
  })
  return problems
}

const placeAt = (lines: Yaml.LineCounter, offset: number): Place => {
  const { col, line } = lines.linePos(offset)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}

const inOrderOfFile = (one: Problem, other: Problem): number =>
  (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0)

// -----------------------------------------------------------------------------
// parameters
// -----------------------------------------------------------------------------

const withParameters = (data: unknown, { file, set }: Source): Effect.Effect<unknown, StormFileUnknownParameter> =>
  Effect.reduce(Object.entries(set), data, (data, [parameter, value]) => {
    const changed = replaced(data, parameter, value)
    return changed === undefined
      ? new StormFileUnknownParameter({ file, parameter, parameters: paths(data) })
      : Effect.succeed(changed)
  })

type Collection = { readonly [key: string]: unknown } | ReadonlyArray<unknown>

const isCollection = (value: unknown): value is Collection => typeof value === "object" && value !== null

/** A copy with one value in another's place; nothing where there is none. A key may have dots of its own. */
const replaced = (data: unknown, path: string, value: unknown): unknown => {
  if (!isCollection(data)) return undefined
  for (const [key, old] of Object.entries(data)) {
    const changed =
      path === key ? value : path.startsWith(`${key}.`) ? replaced(old, path.slice(key.length + 1), value) : undefined
    if (changed === undefined) continue
    return Array.isArray(data)
      ? data.map((old: unknown, index) => (String(index) === key ? changed : old))
      : { ...data, [key]: changed }
  }
  return undefined
}

const paths = (data: unknown): ReadonlyArray<string> =>
  isCollection(data)
    ? Object.entries(data).flatMap(([key, value]) => [key, ...paths(value).map((path) => `${key}.${path}`)])
    : []

// -----------------------------------------------------------------------------
// problems
// -----------------------------------------------------------------------------

/** What the vocabulary finds wrong, before it is known where in the file that is. */
interface Finding {
  readonly path: ReadonlyArray<string>
  readonly message: string
  /** The name of the field is wrong, not its value. */
  readonly isOfName?: boolean
}

const findings = (issue: ParseResult.ParseIssue, path: ReadonlyArray<string>, around?: AST.AST): ReadonlyArray<Finding> => {
  switch (issue._tag) {
    case "Pointer":
      return findings(issue.issue, [...path, ...[issue.path].flat().map(String)], around)
    case "Refinement":
    case "Transformation":
      return findings(issue.issue, path, around)
    case "Composite":
      // What a choice says of each of its words is said at once.
      return AST.isUnion(issue.ast)
        ? [{ path, message: mustBe(ruleOf(issue.ast), issue.actual, words(issue.ast)) }]
        : [issue.issues].flat().flatMap((inner) => findings(inner as ParseResult.ParseIssue, path, issue.ast))
    case "Missing":
      return [{ path, message: `is missing: ${ruleOf(issue.ast.type)}.` }]
    case "Unexpected":
      return [{ path, message: unknownKey(path, around), isOfName: true }]
    case "Type":
    case "Forbidden":
      return [{ path, message: mustBe(issue.message ?? ruleOf(issue.ast), issue.actual, words(issue.ast)) }]
  }
}

const mustBe = (rule: string, value: unknown, words: ReadonlyArray<string> = []): string =>
  `must be ${rule}, got ${show(value)}.${typeof value === "string" ? didYouMean(value, words) : ""}`

const unknownKey = (path: ReadonlyArray<string>, around: AST.AST | undefined): string => {
  const known = keysOf(around)
  return `is unknown here, where there can be ${known.join(", ")}.${didYouMean(path[path.length - 1] ?? "", known)}`
}

const ruleOf = (ast: AST.AST): string =>
  Option.getOrElse(AST.getDescriptionAnnotation(ast), () => {
    if (AST.isTransformation(ast)) return ruleOf(ast.from)
    if (AST.isUnion(ast) && words(ast).length === 0)
      return ast.types
        .filter((type) => !AST.isUndefinedKeyword(type))
        .map(ruleOf)
        .join(" or ")
    if (AST.isTypeLiteral(ast)) return keysOf(ast).length === 0 ? "a mapping" : `a mapping of ${keysOf(ast).join(", ")}`
    if (AST.isTupleType(ast)) return "a list"
    return words(ast)
      .map((word) => JSON.stringify(word))
      .join(" or ")
  })

const keysOf = (ast: AST.AST | undefined): ReadonlyArray<string> =>
  ast !== undefined && AST.isTypeLiteral(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []

/** Of a choice among words. */
const words = (ast: AST.AST): ReadonlyArray<string> => {
  if (AST.isUnion(ast)) return ast.types.flatMap(words)
  return AST.isLiteral(ast) ? [String(ast.literal)] : []
}

const show = (value: unknown): string => {
  if (value === undefined || value === null) return "nothing"
  if (typeof value === "number" || Predicate.isFunction(value)) return String(value)
  const text = JSON.stringify(value)
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`
}

const located = (
  { isOfName = false, message, path }: Finding,
  document: Yaml.Document,
  lines: Yaml.LineCounter,
  set: ReadonlyArray<string>
): Problem => {
  const dotted = path.join(".")
  if (set.some((parameter) => dotted === parameter || dotted.startsWith(`${parameter}.`))) {
    return { line: undefined, column: undefined, path: dotted, message: `was set and ${message}` }
  }
  return { ...placeAt(lines, offsetOf(document, path, isOfName)), path: dotted, message }
}

/** Of the value at the end of a path, or of its name, which also stands for a collection; or of what comes nearest to it. */
const offsetOf = (document: Yaml.Document, path: ReadonlyArray<string>, isOfName: boolean): number => {
  let node: unknown = document.contents
  let offset = rangeOf(node)
  for (const [depth, segment] of path.entries()) {
    const inner = inside(document, node, segment)
    if (inner === undefined) return offset
    node = inner.value
    const atName = Yaml.isCollection(node) || !Yaml.isNode(node) || (isOfName && depth === path.length - 1)
    offset = rangeOf(atName ? (inner.key ?? node) : node)
  }
  return offset
}

const rangeOf = (node: unknown): number => (Yaml.isNode(node) ? (node.range?.[0] ?? 0) : 0)

/** The key that merges is read as a symbol. */
const nameOf = (key: unknown): string | undefined => {
  const name = Yaml.isScalar(key) ? key.value : key
  return typeof name === "symbol" ? name.description : String(name)
}

interface Inside {
  readonly key?: unknown
  readonly value: unknown
}

const inside = (document: Yaml.Document, node: unknown, segment: string): Inside | undefined => {
  if (Yaml.isAlias(node)) return inside(document, node.resolve(document), segment)
  if (Yaml.isSeq(node)) return node.items[Number(segment)] === undefined ? undefined : { value: node.items[Number(segment)] }
  if (!Yaml.isMap(node)) return undefined
  const pairs = (key: string) => node.items.filter((pair) => nameOf(pair.key) === key)
  const [own] = pairs(segment)
  if (own !== undefined) return own
  return pairs("<<")
    .flatMap(({ value }) => (Yaml.isSeq(value) ? value.items : [value]))
    .map((merged) => inside(document, merged, segment))
    .find((found) => found !== undefined)
}

// -----------------------------------------------------------------------------
// vocabulary: its grammar
// -----------------------------------------------------------------------------

/** A field that can be left out. */
const optional = <A, I>(field: Schema.Schema<A, I>) => Schema.optionalWith(field, { exact: true })

/** Something that is made of what stands in a file. */
type Word<A> = Schema.Schema<A, unknown>

const made = <A>() => Schema.declare((_: unknown): _ is A => true)

const oneWay = (_: unknown, __: unknown, ast: AST.AST, actual: unknown) =>
  ParseResult.fail(new ParseResult.Forbidden(ast, actual, "a file is only read"))

/** Reads something with what else it may be written as. */
const read = <A>(
  description: string | undefined,
  decode: (input: unknown, options: AST.ParseOptions) => Effect.Effect<A, ParseResult.ParseIssue>
): Word<A> =>
  Schema.transformOrFail(description === undefined ? Schema.Unknown : Schema.Unknown.annotations({ description }), made<A>(), {
    strict: true,
    decode: (input, options) => decode(input, options),
    encode: oneWay
  }).annotations(description === undefined ? {} : { description })

/**
 * What a function makes of options. It checks them, so that no rule stands twice: the option that it refuses is the field of that
 * name.
 */
const part = <A, I, B>(options: Schema.Schema<A, I>, make: (options: A, data: I) => B): Word<B> =>
  Schema.transformOrFail(options, made<B>(), {
    strict: true,
    decode: (given, _, ast, data) => {
      try {
        return ParseResult.succeed(make(given, data))
      } catch (error) {
        if (error instanceof InvalidOption.InvalidOption) return ParseResult.fail(refused(error, ast, data))
        throw error
      }
    },
    encode: oneWay
  }) as unknown as Word<B>

const refused = ({ field, rule, value }: InvalidOption.InvalidOption, ast: AST.AST, data: unknown): ParseResult.ParseIssue => {
  const path: Array<string> = []
  let inner = data
  for (const name of field.split(".")) {
    if (!isCollection(inner) || !Object.hasOwn(inner, name)) break
    path.push(name)
    inner = (inner as { readonly [key: string]: unknown })[name]
  }
  const issue = new ParseResult.Type(ast, path.length === 0 && isCollection(data) ? value : inner, rule)
  const [first, ...rest] = path
  return first === undefined ? issue : new ParseResult.Pointer([first, ...rest], data, issue)
}

/** The only one that is given. */
const only = <A>(given: { readonly [name: string]: A | undefined }): A => {
  const found = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
  const [first] = found
  if (first !== undefined && found.length === 1) return first.value
  const names = found.map(({ name }) => name).join(" and ")
  throw wrong(`exactly one of ${Object.keys(given).join(", ")}`, names === "" ? undefined : names)
}

const wrong = (rule: string, value: unknown, field = "") =>
  new InvalidOption.InvalidOption("StormFile.load", field, rule, value)

/** One of several, each by its name; by the name alone where its options all have defaults. */
const oneOf = <A>(choices: { readonly [name: string]: Word<A> }): Word<A> => {
  const none = Record.map(choices, () => undefined)
  const mapping = part(Schema.Struct(Record.map(choices, optional)), (given) => only<A>({ ...none, ...given }))
  const description = `one of ${Object.keys(choices).join(", ")}`
  return read(description, (input, options) => {
    if (typeof input === "string") return ParseResult.decodeUnknown(mapping)({ [input]: {} }, options)
    if (Predicate.isRecord(input)) return ParseResult.decodeUnknown(mapping)(input, options)
    return ParseResult.fail(new ParseResult.Type(Schema.Unknown.ast, input, description))
  })
}

/** What is no mapping is read in another way. */
const orMapping = <A, I, B, J>(short: Schema.Schema<A, I>, mapping: Schema.Schema<B, J>): Word<A | B> =>
  read<A | B>(`${ruleOf(short.ast)}, or ${ruleOf(mapping.ast)}`, (input, options) =>
    Predicate.isRecord(input)
      ? ParseResult.decodeUnknown(mapping)(input, options)
      : ParseResult.decodeUnknown(short)(input, options)
  )

/** A mapping, all of whose fields have defaults. */
const orTrue = <A, I>(mapping: Schema.Schema<A, I>): Word<A> => {
  const description = `true, or ${ruleOf(mapping.ast)}`
  return read<A>(description, (input, options) => {
    if (input === true) return ParseResult.decodeUnknown(mapping)({}, options)
    if (Predicate.isRecord(input)) return ParseResult.decodeUnknown(mapping)(input, options)
    return ParseResult.fail(new ParseResult.Type(Schema.Unknown.ast, input, description))
  })
}

const oneOrMore = <A>(one: Word<A>): Word<ReadonlyArray<A>> =>
  read<ReadonlyArray<A>>(`${ruleOf(one.ast)}, or a list of such`, (input, options) =>
    Array.isArray(input)
      ? ParseResult.decodeUnknown(Schema.Array(one))(input, options)
      : Effect.map(ParseResult.decodeUnknown(one)(input, options), (one) => [one])
  )

const number = Schema.Number.annotations({ description: "a number" })
const text = Schema.String.annotations({ description: "a text" })
const flag = Schema.Boolean.annotations({ description: "true or false" })

const timeRule = `a time with its unit, such as "100 millis" or "2 seconds"`

/** Passed on as it is written. */
const time: Word<Duration.DurationInput> = read<Duration.DurationInput>(timeRule, (input) => {
  if (input === "infinity") return ParseResult.succeed(Duration.infinity)
  return typeof input === "string" && !input.startsWith("-") && Option.isSome(Duration.decodeUnknown(input))
    ? ParseResult.succeed(input as Duration.DurationInput)
    : ParseResult.fail(new ParseResult.Type(Schema.Unknown.ast, input, timeRule))
})

// -----------------------------------------------------------------------------
// vocabulary: services
// -----------------------------------------------------------------------------

const latency: Word<Duration.DurationInput | Latency.Latency> = orMapping(
  time,
  oneOf<Latency.Latency>({
    uniform: part(Schema.Struct({ min: time, max: time }), Latency.uniform),
    exponential: part(Schema.Struct({ mean: time }), Latency.exponential),
    normal: part(Schema.Struct({ mean: time, deviation: time, folded: optional(flag) }), Latency.normal),
    logNormal: part(Schema.Struct({ median: time, sigma: number }), Latency.logNormal),
    empirical: part(Schema.Array(Schema.Tuple(number, time)), Latency.empirical)
  })
)

const statusRule = "a status from 400 to 599"

const status = part(number.annotations({ description: statusRule }), (status) => {
  if (Number.isInteger(status) && status >= 400 && status <= 599) return status
  throw wrong(statusRule, status)
})

const answer: Word<Service.Failure> = orMapping(
  part(status, (status) => Service.refused(status)),
  part(Schema.Struct({ status, retryAfter: optional(time) }), ({ retryAfter, status }) => Service.refused(status, retryAfter))
)

/** How a call fails: by an answer, or by one of these words. */
const failureOr = <Name extends string>(...names: readonly [Name, ...ReadonlyArray<Name>]): Word<Service.Failure | Name> => {
  const { ast } = Schema.Literal(...names)
  const description = `${ruleOf(answer.ast)}, or ${ruleOf(ast)}`
  return read<Service.Failure | Name>(description, (input, options) => {
    if (typeof input !== "string") return ParseResult.decodeUnknown(answer)(input, options)
    const name = names.find((name) => name === input)
    return name === undefined ? ParseResult.fail(new ParseResult.Type(ast, input, description)) : ParseResult.succeed(name)
  })
}

const timedOutOr = <A>(failure: A | "time-out"): A | Service.Failure => (failure === "time-out" ? Service.timedOut : failure)

const failure = part(failureOr("time-out"), (failure) => timedOutOr(failure))

const failureOrHang = part(failureOr("hang", "time-out"), (failure) => timedOutOr(failure))

const models = {
  capacity: part(
    Schema.Struct({ slots: number, takes: latency, above: Schema.Literal("everything in flight times out", "refuse") }),
    Service.capacity
  ),
  queue: part(
    Schema.Struct({
      servers: number,
      takes: latency,
      limit: optional(number),
      dropExpired: optional(flag),
      pause: optional(Schema.Struct({ from: time, to: time }))
    }),
    Service.queue
  ),
  rateLimited: part(Schema.Struct({ permits: number, per: time, takes: latency }), Service.rateLimited),
  unlimited: part(Schema.Struct({ takes: latency }), Service.unlimited)
}

type Around = (self: Service.Service) => Service.Service

/** What it refuses is found where it is written. */
const around = <A, I>(
  options: Schema.Schema<A, I>,
  wrap: (self: Service.Service, options: A) => Service.Service
): Word<Around> =>
  part(options, (options) => {
    wrap(Service.unlimited({ takes: 0 }), options)
    return (self) => wrap(self, options)
  })

/** From the inside: the model, failing, outages, the network. */
const service = part(
  Schema.Struct({
    capacity: optional(models.capacity),
    queue: optional(models.queue),
    rateLimited: optional(models.rateLimited),
    unlimited: optional(models.unlimited),
    failing: optional(around(Schema.Struct({ share: number, how: optional(failure) }), Service.failing)),
    outage: optional(oneOrMore(around(Schema.Struct({ from: time, to: time, how: failureOrHang }), Service.outage))),
    hop: optional(around(latency, (self, hop) => Service.remote(self, { hop })))
  }),
  ({ failing, hop, outage = [], ...given }) => {
    const model = only<Service.Service>({ ...Record.map(models, () => undefined), ...given })
    return [failing, ...outage, hop].reduce((self, wrap) => (wrap === undefined ? self : wrap(self)), model)
  }
)

// -----------------------------------------------------------------------------
// vocabulary: clients
// -----------------------------------------------------------------------------

const clients = oneOf<Clients.Clients>({
  together: part(number, Clients.together),
  staggered: part(Schema.Struct({ count: number, every: time }), ({ count, every }) => Clients.staggered(count, every)),
  at: part(Schema.Array(time), Clients.at),
  closedLoop: part(Schema.Struct({ clients: number, think: latency, operations: optional(number) }), Clients.closedLoop),
  evenlySpaced: part(Schema.Struct({ rate: number }), Clients.evenlySpaced),
  openLoop: part(Schema.Struct({ rate: number }), Clients.openLoop),
  flashCrowd: part(Schema.Struct({ rate: number, spike: number, from: time, to: time }), Clients.flashCrowd)
})

// -----------------------------------------------------------------------------
// vocabulary: schedules
// -----------------------------------------------------------------------------

type Waits = Schedule.Schedule<unknown, Service.Failure>

const growing = { base: time, cap: optional(time), immediateFirst: optional(flag) }

const backoff = oneOf<Backoff.Backoff>({
  exponential: part(Schema.Struct({ ...growing, factor: optional(number) }), Backoff.exponential),
  linear: part(Schema.Struct({ ...growing, increment: optional(time) }), Backoff.linear),
  fibonacci: part(Schema.Struct(growing), Backoff.fibonacci),
  decorrelated: part(Schema.Struct(growing), Backoff.decorrelated),
  constant: part(Schema.Struct({ delay: time, immediateFirst: optional(flag) }), Backoff.constant)
})

/** The jitter of a backoff, whose cap it keeps. */
type Jittered = (self: Backoff.Backoff) => Waits

const jitter = oneOf<Jittered>({
  full: part(Schema.Struct({}), (): Jittered => Jitter.full),
  equal: part(Schema.Struct({}), (): Jittered => Jitter.equal),
  proportional: part(number, (ratio): Jittered => {
    Jitter.proportional(Schedule.forever, { ratio, cap: Duration.infinity })
    return Jitter.proportional(ratio)
  })
})

const retryAfterOf = (failure: Service.Failure): Duration.Duration | undefined =>
  failure._tag === "Refused" ? failure.retryAfter : undefined

const isThrottling = (failure: Service.Failure): boolean => failure._tag === "Refused" && failure.status === 429

const aws = Schema.Struct({ maxAttempts: optional(number) })

const waits = <A, I>(options: Schema.Schema<A, I>, make: (options: A) => Waits): Word<Waits> => part(options, make)

const preset = oneOf<Waits>({
  interactive: waits(Schema.Struct({}), () => Presets.interactive({ retryAfter: retryAfterOf })),
  batch: waits(Schema.Struct({}), () => Presets.batch({ retryAfter: retryAfterOf })),
  awsStandard2026: waits(aws, (options) =>
    Presets.awsStandard2026({ ...options, throttling: isThrottling, retryAfter: retryAfterOf })
  ),
  awsStandardBefore2026: waits(aws, (options) => Presets.awsStandardBefore2026({ ...options, throttling: isThrottling })),
  grpc: waits(
    Schema.Struct({
      maxAttempts: optional(number),
      initialBackoff: optional(time),
      maxBackoff: optional(time),
      backoffMultiplier: optional(number)
    }),
    Presets.grpc
  ),
  polly: waits(
    Schema.Struct({
      maxRetryAttempts: optional(number),
      delay: optional(time),
      backoffType: optional(Schema.Literal("constant", "linear", "exponential")),
      useJitter: optional(flag),
      maxDelay: optional(time)
    }),
    Presets.polly
  ),
  resilience4j: waits(
    Schema.Struct({
      maxAttempts: optional(number),
      waitDuration: optional(time),
      multiplier: optional(number),
      randomizationFactor: optional(number),
      maxInterval: optional(time)
    }),
    Presets.resilience4j
  ),
  tenacityRandomExponential: waits(
    Schema.Struct({ multiplier: optional(time), max: optional(time) }),
    Presets.tenacityRandomExponential
  ),
  tenacityExponentialJitter: waits(
    Schema.Struct({ initial: optional(time), jitter: optional(time), max: optional(time) }),
    Presets.tenacityExponentialJitter
  ),
  brookerDecorrelated: waits(Schema.Struct({ base: time, cap: time }), Presets.brookerDecorrelated)
})

type Limited = (self: Waits) => Waits

/** What it refuses is found where it is written. */
const limit = <A, I>(most: Schema.Schema<A, I>, apply: (self: Waits, most: A) => Waits): Word<Limited> =>
  part(most, (most) => {
    apply(Schedule.forever, most)
    return (self) => apply(self, most)
  })

const respectRetryAfter = orTrue(
  limit(
    Schema.Struct({
      max: optional(time),
      beyond: optional(Schema.Literal("give up", "clamp")),
      jitter: optional(number)
    }),
    (self, options) => RetryAfter.respect(self, { ...options, of: retryAfterOf })
  )
)

// -----------------------------------------------------------------------------
// vocabulary: policies
// -----------------------------------------------------------------------------

const budget = oneOf<RetryBudget.Ledger>({
  ratio: part(
    Schema.Struct({
      percent: optional(number),
      reservePerSecond: optional(number),
      window: optional(time),
      of: optional(Schema.Literal("operations", "attempts"))
    }),
    RetryBudget.ratio
  ),
  tokens: part(
    Schema.Struct({
      capacity: optional(number),
      cost: optional(Schema.Struct({ failure: optional(number), timeout: optional(number), throttled: optional(number) })),
      success: optional(number),
      refund: optional(flag),
      refillPerSecond: optional(number),
      initial: optional(number)
    }),
    RetryBudget.tokens
  ),
  throttle: part(Schema.Struct({ maxTokens: optional(number), tokenRatio: optional(number) }), RetryBudget.throttle),
  inFlight: part(Schema.Struct({ percent: optional(number), minimum: optional(number) }), RetryBudget.inFlight),
  fixedRate: part(Schema.Struct({ retries: optional(number), per: optional(time) }), RetryBudget.fixedRate)
})

const rate = {
  threshold: number,
  minimumCalls: number,
  window: orMapping(time, Schema.Struct({ calls: number }))
}

const tripPolicy = oneOf<CircuitBreaker.TripPolicy>({
  consecutive: part(number, CircuitBreaker.consecutive),
  failures: part(Schema.Struct({ failures: number, window: time }), CircuitBreaker.failures),
  failureRate: part(Schema.Struct(rate), CircuitBreaker.failureRate),
  slowCallRate: part(Schema.Struct({ ...rate, slowerThan: time }), CircuitBreaker.slowCallRate)
})

const breaker = Schema.Struct({
  tripPolicy: oneOrMore(tripPolicy),
  openDuration: optional(orMapping(time, backoff)),
  jitter: optional(number),
  probes: optional(number),
  probeFailures: optional(number),
  probeLimit: optional(time),
  ramp: optional(time)
})

const policyFields = Schema.Struct({
  backoff: optional(backoff),
  preset: optional(preset),
  jitter: optional(jitter),
  respectRetryAfter: optional(respectRetryAfter),
  attempts: optional(limit(number, (self, most) => Limit.attempts(self, most))),
  retries: optional(limit(number, (self, most) => Limit.retries(self, most))),
  elapsed: optional(limit(time, (self, most) => Limit.elapsed(self, most))),
  retryOn: optional(Schema.Array(failure)),
  idempotent: optional(flag),
  attemptTimeout: optional(
    orMapping(
      time,
      Schema.Struct({
        falseTimeouts: optional(number),
        floor: optional(time),
        ceiling: optional(time),
        warmUp: optional(number),
        window: optional(time)
      })
    )
  ),
  deadline: optional(time),
  minimumAttemptTime: optional(time),
  budget: optional(budget),
  throttle: optional(
    orTrue(Schema.Struct({ multiplier: optional(number), window: optional(time), maxProbability: optional(number) }))
  ),
  breaker: optional(breaker),
  bulkhead: optional(Schema.Struct({ permits: number, queue: optional(number), maxWait: optional(time) })),
  sharedBy: optional(Schema.Literal("all clients", "each client"))
})

type PolicyFields = Schema.Schema.Type<typeof policyFields>

/** When to come back; nothing where there is neither a backoff nor a preset. */
const scheduleOf = ({ attempts, backoff, elapsed, jitter, preset, respectRetryAfter, retries }: PolicyFields) => {
  const limits = { respectRetryAfter, attempts, retries, elapsed }
  const waits = backoff ?? preset
  if (waits === undefined) {
    const [alone] = Object.entries({ jitter, ...limits }).filter(([, limit]) => limit !== undefined)
    if (alone !== undefined) throw wrong("left out, or have a backoff or a preset beside it", "neither", alone[0])
    return undefined
  }
  if (backoff !== undefined && preset !== undefined) throw wrong("left out beside a backoff", "both", "preset")
  if (backoff === undefined && jitter !== undefined)
    throw wrong("left out beside a preset, which has its own", "both", "jitter")
  const spread: Waits = backoff !== undefined && jitter !== undefined ? jitter(backoff) : waits
  return Object.values(limits).reduce((self, limited) => (limited === undefined ? self : limited(self)), spread)
}

const isSameFailure = (one: Service.Failure, other: Service.Failure): boolean =>
  one._tag === "Refused" ? other._tag === "Refused" && one.status === other.status : other._tag === "TimedOut"

/** What a retry of a failure costs a budget that makes a difference. */
const kindOf = (failure: Service.Failure): RetryBudget.Kind =>
  failure._tag === "TimedOut" ? "timeout" : failure.status === 429 ? "throttled" : "failure"

type Made = Effect.Effect<Policy.Policy<Service.Failure>>

/** One for all clients of a run, made when it begins. */
const forAllClients = (make: Made): OwnStorm.Policy["client"] =>
  Effect.map(make, (policy): Scenario.Client => Policy.protect(policy))

/** One for each client, made with its first operation. */
const forEachClient = (make: Made): OwnStorm.Policy["client"] =>
  Effect.sync((): Scenario.Client => {
    const policies = new Map<number, Policy.Policy<Service.Failure>>()
    const policyOf = (client: number) =>
      Effect.suspend(() => {
        const known = policies.get(client)
        return known === undefined
          ? Effect.tap(make, (policy) => Effect.sync(() => policies.set(client, policy)))
          : Effect.succeed(known)
      })
    return (call, client) => Effect.flatMap(policyOf(client), (policy) => Policy.protect(call, policy))
  })

const policy = part(policyFields, (fields, data): OwnStorm.Policy => {
  const { attemptTimeout, breaker, budget, bulkhead, deadline, idempotent, minimumAttemptTime, retryOn, throttle } = fields
  const make = Policy.make({
    schedule: scheduleOf(fields),
    while: (failure: Service.Failure) => retryOn?.some((one) => isSameFailure(one, failure)) ?? true,
    kind: kindOf,
    log: false,
    attemptTimeout,
    breaker,
    budget,
    bulkhead,
    deadline,
    idempotent,
    minimumAttemptTime,
    throttle
  })
  return { inWords: inWords(data), client: fields.sharedBy === "each client" ? forEachClient(make) : forAllClients(make) }
})

const storm = part(
  Schema.Struct({
    name: text,
    service,
    clients,
    until: time,
    policies: Schema.Record({ key: Schema.String, value: policy })
  }),
  OwnStorm.make
)

// -----------------------------------------------------------------------------
// vocabulary: in words
// -----------------------------------------------------------------------------

/** `exponential backoff (base 100 millis, cap 800 millis), full jitter, 5 attempts`. */
const inWords = (policy: object): string => {
  const text = Object.entries(policy)
    .map(([field, value]) => partInWords(field, value))
    .join(", ")
  return text === "" ? "One attempt, no retry." : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** What is one of several comes first, and so does a number of something. */
const partInWords = (field: string, value: unknown): string => {
  const name = spaced(field)
  if (value === true) return name
  if (["attempts", "retries"].includes(field) || (["jitter", "preset", "budget"].includes(field) && !isCollection(value)))
    return `${String(value)} ${name}`
  if (!["backoff", "jitter", "preset", "budget"].includes(field)) return `${name} ${valueInWords(value)}`
  const [[choice, options] = ["", ""]] = Object.entries(value as object)
  const given = valueInWords(options)
  return `${spaced(choice)} ${name}${given === "" ? "" : ` ${given}`}`
}

const valueInWords = (value: unknown): string => {
  if (!isCollection(value)) return String(value)
  if (Array.isArray(value)) return value.map(valueInWords).join(" or ")
  const fields = Object.entries(value).map(([field, value]) => `${spaced(field)} ${valueInWords(value)}`.trim())
  return fields.length === 0 ? "" : `(${fields.join(", ")})`
}

const spaced = (field: string): string => field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
