/**
 * Vitest's `it` with virtual time, in two kinds:
 *
 * - `it.effect` is for tests written for `@effect/vitest`'s `it.effect`: the test moves the clock itself, with `TestClock`. Change
 *   the import and nothing else.
 * - `it.virtual` moves time by itself: the test just sleeps.
 *
 * Both have a clock of their own for every test, a seeded `Random`, no logger, and a scope.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import type * as TestServices from "effect/TestServices"
import * as Vitest from "vitest"
import * as TestTime from "./TestTime.js"
import * as VirtualTime from "./VirtualTime.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * Declares a test whose body is an effect.
 *
 * @category models
 * @since 0.1.0
 */
export interface Test<R> {
  <A, E>(
    name: string,
    body: (context: Vitest.TestContext) => Effect.Effect<A, E, R>,
    options?: number | Vitest.TestOptions
  ): void
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Tester<R> extends Test<R> {
  readonly only: Test<R>
  readonly skip: Test<R>
  readonly fails: Test<R>
  readonly skipIf: (condition: unknown) => Test<R>
  readonly runIf: (condition: unknown) => Test<R>
  readonly each: <T>(
    cases: ReadonlyArray<T>
  ) => <A, E>(name: string, body: (value: T) => Effect.Effect<A, E, R>, options?: number | Vitest.TestOptions) => void
}

/**
 * @category models
 * @since 0.1.0
 */
export interface It extends Omit<Vitest.TestAPI, "scoped"> {
  (name: string, test?: Vitest.TestFunction, options?: number | Vitest.TestOptions): void
  /** The test moves the clock itself, with `TestClock`. */
  readonly effect: Tester<TestServices.TestServices | Scope.Scope>
  /** As `effect`, under the name that `@effect/vitest` also has. */
  readonly scoped: Tester<TestServices.TestServices | Scope.Scope>
  /** Time moves by itself. */
  readonly virtual: Tester<Scope.Scope>
}

// -----------------------------------------------------------------------------
// running
// -----------------------------------------------------------------------------

type Run<R> = <A, E>(body: Effect.Effect<A, E, R>) => Effect.Effect<A, unknown>

const quiet = Logger.remove(Logger.defaultLogger)

const inTestTime: Run<TestServices.TestServices | Scope.Scope> = (body) =>
  body.pipe(Effect.scoped, Effect.provide(Layer.merge(TestTime.layer(), quiet)))

const inVirtualTime: Run<Scope.Scope> = (body) => VirtualTime.run(body.pipe(Effect.scoped, Effect.provide(quiet)))

/** The error that a person reads: the test's own, not the fiber failure around it. */
const execute = async <A, E>(effect: Effect.Effect<A, E>, signal: AbortSignal): Promise<A> => {
  const exit = await Effect.runPromiseExit(effect, { signal })
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.prettyErrors(exit.cause)[0] ?? new Error("All fibers interrupted without errors.")
}

const settings = (options: number | Vitest.TestOptions | undefined): Vitest.TestOptions =>
  typeof options === "number" ? { timeout: options } : (options ?? {})

const tester = <R>(run: Run<R>): Tester<R> => {
  const through =
    (
      declare: (name: string, options: Vitest.TestOptions, test: (context: Vitest.TestContext) => Promise<unknown>) => void
    ): Test<R> =>
    (name, body, options) =>
      declare(name, typeof options === "number" ? { timeout: options } : (options ?? {}), (context) =>
        execute(run(Effect.suspend(() => body(context))), context.signal)
      )
  return Object.assign(through(Vitest.it), {
    only: through(Vitest.it.only),
    skip: through(Vitest.it.skip),
    fails: through(Vitest.it.fails),
    skipIf: (condition: unknown) => through(Vitest.it.skipIf(condition)),
    runIf: (condition: unknown) => through(Vitest.it.runIf(condition)),
    each:
      <T>(cases: ReadonlyArray<T>) =>
      <A, E>(name: string, body: (value: T) => Effect.Effect<A, E, R>, options?: number | Vitest.TestOptions) =>
        Vitest.it.for(cases)(name, settings(options), async (value, { signal }) => {
          await execute(run(Effect.suspend(() => body(value))), signal)
        })
  })
}

// -----------------------------------------------------------------------------
// it
// -----------------------------------------------------------------------------

/**
 * @example
 * ```ts no-run
 * import { it } from "@breakwater/simulation/vitest"
 * import { Clock, Effect, Fiber, TestClock } from "effect"
 * import { expect } from "vitest"
 *
 * it.effect("wakes after a day", () =>
 *   Effect.gen(function* () {
 *     const sleeper = yield* Effect.fork(Effect.sleep("1 day"))
 *     yield* TestClock.adjust("1 day")
 *     yield* Fiber.join(sleeper)
 *   })
 * )
 *
 * it.virtual("wakes after a day, by itself", () =>
 *   Effect.gen(function* () {
 *     yield* Effect.sleep("1 day")
 *     expect(yield* Clock.currentTimeMillis).toBe(86_400_000)
 *   })
 * )
 * ```
 * @category it
 * @since 0.1.0
 */
export const it: It = Object.assign(
  (name: string, test?: Vitest.TestFunction, options?: number | Vitest.TestOptions) =>
    typeof options === "number" ? Vitest.it(name, test, options) : Vitest.it(name, options ?? {}, test),
  Vitest.it,
  { effect: tester(inTestTime), scoped: tester(inTestTime), virtual: tester(inVirtualTime) }
)
