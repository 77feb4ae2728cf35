/**
 * A scenario by its name. A scenario holds functions, and a function reaches neither another thread nor another machine; where
 * to find it does.
 *
 * @since 0.1.0
 */
import type { Scenario } from "@breakwater/simulation"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { createJiti } from "jiti"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type * as StormFile from "./StormFile.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export type Source = CatalogueSource | FileSource | ModuleSource

/**
 * A storm of the catalogue.
 *
 * @category models
 * @since 0.1.0
 */
export interface CatalogueSource {
  readonly _tag: "Catalogue"
  /** Its short name: `A4`. */
  readonly id: string
}

/**
 * A policy of a storm of your own, in a file as `StormFile` reads it.
 *
 * @category models
 * @since 0.1.0
 */
export interface FileSource {
  readonly _tag: "File"
  /** Looked up from the working directory. */
  readonly file: string
  readonly policy: string
  /** What takes the place of values in the file. */
  readonly set: StormFile.Parameters
}

/**
 * What a module exports: a storm, a scenario, or a function without arguments that gives one of the two.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModuleSource {
  readonly _tag: "Module"
  /**
   * The name of a package's module, a path or a file URL; JavaScript or TypeScript. Names of packages and paths that begin with
   * a dot are looked up from the working directory: they mean the same on every machine with the same project.
   */
  readonly module: string
  readonly export: string
}

/**
 * Reads a source out of plain data.
 *
 * @category models
 * @since 0.1.0
 */
export const schema: Schema.Schema<Source> = Schema.Union(
  Schema.Struct({ _tag: Schema.Literal("Catalogue"), id: Schema.String }),
  Schema.Struct({
    _tag: Schema.Literal("File"),
    file: Schema.String,
    policy: Schema.String,
    set: Schema.Record({ key: Schema.String, value: Schema.Unknown })
  }),
  Schema.Struct({ _tag: Schema.Literal("Module"), module: Schema.String, export: Schema.String })
)

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * There is no scenario where the source says.
 *
 * @category errors
 * @since 0.1.0
 */
export class SourceError extends Data.TaggedError("SourceError")<{
  readonly source: Source
  /** What is not there, or is there and not what it should be. */
  readonly missing: "storm" | "file" | "policy" | "module" | "export" | "scenario"
  /** The same for people, with the names that may have been meant. */
  readonly problem: string
}> {
  override get message(): string {
    return this.problem
  }
}

// -----------------------------------------------------------------------------
// loading
// -----------------------------------------------------------------------------

/**
 * Gives the scenario that the source names. A module is loaded once for each thread; a function that it exports is called each
 * time.
 *
 * @example
 * ```ts
 * import { Source } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const scenario = await Effect.runPromise(Source.load({ _tag: "Catalogue", id: "A4" }))
 * console.log(scenario.name) // full jitter
 *
 * const error = await Effect.runPromise(Effect.flip(Source.load({ _tag: "Module", module: "effect/Effect", export: "retri" })))
 * console.log(error.missing, error.message.includes('Did you mean "retry"')) // export true
 * ```
 * @category loading
 * @since 0.1.0
 */
export const load = (source: Source): Effect.Effect<Scenario.Scenario, SourceError> => {
  switch (source._tag) {
    case "Catalogue":
      return fromCatalogue(source)
    case "File":
      return fromFile(source)
    case "Module":
      return fromModule(source)
  }
}

// Each loads what only it needs: a thread that runs one scenario has no use for all storms of the catalogue.

const fromCatalogue = (source: CatalogueSource): Effect.Effect<Scenario.Scenario, SourceError> =>
  Effect.promise(() => import("./Catalogue.js")).pipe(
    Effect.flatMap((catalogue) => catalogue.find(source.id)),
    Effect.mapBoth({
      onFailure: ({ message }) => new SourceError({ source, missing: "storm", problem: message }),
      onSuccess: (storm) => storm.scenario
    })
  )

const fromFile = (source: FileSource): Effect.Effect<Scenario.Scenario, SourceError> =>
  Effect.gen(function* () {
    const [StormFile, OwnStorm, NodeFileSystem, NodePath] = yield* Effect.promise(() =>
      Promise.all([
        import("./StormFile.js"),
        import("./OwnStorm.js"),
        import("@effect/platform-node/NodeFileSystem"),
        import("@effect/platform-node/NodePath")
      ])
    )
    const storm = yield* StormFile.load(source.file, { set: source.set }).pipe(
      Effect.provide([NodeFileSystem.layer, NodePath.layer]),
      Effect.mapError(({ message }) => new SourceError({ source, missing: "file", problem: message }))
    )
    return yield* Effect.mapError(
      OwnStorm.scenario(storm, source.policy),
      ({ message }) => new SourceError({ source, missing: "policy", problem: message })
    )
  })

const fromModule = (source: ModuleSource): Effect.Effect<Scenario.Scenario, SourceError> =>
  Effect.gen(function* () {
    const quoted = JSON.stringify(source.module)
    const file = yield* find(source)
    const module = yield* Effect.tryPromise({
      try: () => importFile(file),
      catch: (error) =>
        new SourceError({ source, missing: "module", problem: `The module ${quoted} cannot be loaded: ${say(error)}` })
    })
    if (!Predicate.hasProperty(module, source.export)) {
      const names = Predicate.isObject(module) ? Object.keys(module) : []
      const problem = `The module ${quoted} exports no ${JSON.stringify(source.export)}.`
      return yield* missing(source, "export", problem, source.export, names)
    }
    const exported = module[source.export]
    const value = yield* Effect.try({
      try: (): unknown => (typeof exported === "function" ? exported() : exported),
      catch: (error) =>
        new SourceError({ source, missing: "scenario", problem: `${source.export} of ${quoted} throws: ${say(error)}` })
    })
    if (isScenario(value)) return value
    if (Predicate.hasProperty(value, "scenario") && isScenario(value.scenario)) return value.scenario
    const problem = `${source.export} of ${quoted} must be a storm, a scenario or a function that gives one, got ${show(value)}.`
    return yield* new SourceError({ source, missing: "scenario", problem })
  })

const isScenario = (value: unknown): value is Scenario.Scenario =>
  ["name", "service", "clients", "client", "until"].every((key) => Predicate.hasProperty(value, key))

const show = (value: unknown): string =>
  Predicate.isRecord(value) ? `an object with ${Object.keys(value).join(", ") || "nothing in it"}` : String(value)

const say = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** With the names that may have been meant, whose search is loaded only where it is needed. */
const missing = (
  source: Source,
  missing: SourceError["missing"],
  problem: string,
  name: string,
  names: ReadonlyArray<string>
): Effect.Effect<never, SourceError> =>
  Effect.flatMap(
    Effect.promise(() => import("./internal/nearest.js")),
    ({ didYouMean }) => new SourceError({ source, missing, problem: problem + didYouMean(name, names) })
  )

// -----------------------------------------------------------------------------
// modules
// -----------------------------------------------------------------------------

/** The file of a module. */
const find = (source: ModuleSource): Effect.Effect<string, SourceError> =>
  Effect.suspend(() => {
    const { module } = source
    if (!/^(\.|file:)/.test(module) && !path.isAbsolute(module)) return findInPackage(source)
    const file = module.startsWith("file:") ? fileURLToPath(module) : path.resolve(module)
    if (fs.existsSync(file)) return Effect.succeed(file)
    const folder = path.dirname(file)
    const others = fs.existsSync(folder) ? fs.readdirSync(folder) : []
    return missing(source, "module", `There is no file ${JSON.stringify(file)}.`, path.basename(file), others)
  })

const findInPackage = (source: ModuleSource): Effect.Effect<string, SourceError> =>
  Effect.suspend(() => {
    const file = jiti().esmResolve(source.module, { try: true })
    if (file !== undefined) return Effect.succeed(file.startsWith("file:") ? fileURLToPath(file) : file)
    const problem =
      `There is no module ${JSON.stringify(source.module)} in the packages that ${process.cwd()} can import. ` +
      `For a file, give an absolute path, a file URL or a path that begins with a dot.`
    return new SourceError({ source, missing: "module", problem })
  })

/**
 * Node 20 runs no TypeScript, so jiti loads what is written in it. Where this file runs as TypeScript itself, as in the tests of
 * the workspace, whoever runs it does that for other files too, and with the packages that are loaded already.
 */
const importFile = (file: string): Promise<unknown> =>
  /\.[cm]?tsx?$/.test(file) && !import.meta.url.endsWith(".ts")
    ? jiti().import(file)
    : import(/* @vite-ignore */ pathToFileURL(file).href)

/** Looks from the working directory; what the packages here have loaded is not loaded a second time. */
const jiti = () => createJiti(path.join(process.cwd(), "_.js"), { nativeModules: ["effect", "@effect", "@breakwater"] })
