/**
 * One limit for a whole operation, its waits and all its attempts included. It travels with the fiber: whatever runs inside can
 * ask how much is left, nothing inside can loosen it, and it crosses a hop as a header, so that nobody works for a caller who has
 * gone.
 *
 * ```text
 * within 10 s   |----------------------------------------------|
 *   retry         attempt   wait   attempt     wait   attempt   cut: DeadlineExceeded
 *   within 2 s                     |-------|
 * ```
 *
 * Time is monotonic: a step of the wall clock changes nothing. A deadline ends with the operation that set it; a daemon that was
 * forked inside keeps none of it.
 *
 * @since 0.1.0
 */
import { Deadline as Rule } from "@breakwater/core"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import * as Marks from "./internal/deadlineMarks.js"
import * as Handle from "./internal/handle.js"
import { limited } from "./internal/limited.js"
import { limitOption } from "./internal/limitOption.js"
import * as Monotonic from "./internal/monotonic.js"

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * The time of the operation is up.
 *
 * @category errors
 * @since 0.1.0
 */
export class DeadlineExceeded<E = unknown> extends Data.TaggedError("DeadlineExceeded")<{
  /** What failed last inside before the time was up, if anything has. */
  readonly lastError: Option.Option<unknown>
}> {
  declare readonly lastError: Option.Option<E>
  override get message(): string {
    return Option.match(this.lastError, {
      onNone: () => "The deadline of the operation has passed",
      onSome: (error) => `The deadline of the operation has passed; the last error was: ${String(error)}`
    })
  }
}

// -----------------------------------------------------------------------------
// service
// -----------------------------------------------------------------------------

/**
 * The deadline of the running fiber. Read it with {@link remaining}, set it with {@link within}.
 *
 * @category service
 * @since 0.1.0
 */
export class Deadline extends Context.Reference<Deadline>()("@breakwater/resilience/Deadline", {
  defaultValue: (): Handle.Handle<Marks.Mark> | undefined => undefined
}) {}

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

const left: Effect.Effect<number> = Effect.zipWith(
  Deadline,
  Monotonic.now,
  (handle, now) => (Handle.current(handle)?.value.expiresAt ?? Infinity) - now
)

/**
 * How much time is left, zero where none is; nothing without a deadline.
 *
 * @example
 * ```ts
 * import { Deadline } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * console.log(await Effect.runPromise(Deadline.remaining)) // { _id: 'Option', _tag: 'None' }
 * ```
 * @category getters
 * @since 0.1.0
 */
export const remaining: Effect.Effect<Option.Option<Duration.Duration>> = Effect.map(left, (millis) =>
  millis === Infinity ? Option.none() : Option.some(Duration.millis(Math.max(0, millis)))
)

/**
 * Fails where no time is left: for work that would be done for nobody, before it is begun.
 *
 * @category getters
 * @since 0.1.0
 */
export const check: Effect.Effect<void, DeadlineExceeded<never>> = Effect.flatMap(left, (millis) =>
  millis > 0 ? Effect.void : Effect.fail(Marks.exceeded<never>(Option.none()))
)

/**
 * What is left as the value of a request header; nothing without a deadline. The form is that of gRPC's `grpc-timeout`, digits
 * and a unit (`1500m` are 1500 ms), rounded down. A time that is left needs no clocks that agree.
 *
 * @category getters
 * @since 0.1.0
 */
export const header: Effect.Effect<Option.Option<string>> = Effect.map(left, (millis) =>
  millis === Infinity ? Option.none() : Option.some(Rule.toHeader(millis))
)

// -----------------------------------------------------------------------------
// combinators
// -----------------------------------------------------------------------------

/**
 * Gives an effect so much time, or what is left of the deadline around it if that is less, and cuts it when the time is up.
 *
 * A cut waits until the effect has let go. One that cannot be interrupted ends the operation when it ends, and what it failed with
 * is then the last error; a success that comes too late is lost, as under `Effect.timeout`. To leave such an effect behind instead,
 * disconnect it: `Effect.disconnect`.
 *
 * An effect that ends without waiting costs no timer. A wrong limit throws `InvalidOption`; `Duration.infinity` sets none.
 *
 * @example
 * ```ts
 * import { Deadline } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * const program = Effect.never.pipe(
 *   Deadline.within("20 millis"),
 *   Effect.catchTag("DeadlineExceeded", () => Effect.succeed("too late"))
 * )
 * console.log(await Effect.runPromise(program)) // too late
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const within: {
  (limit: Duration.DurationInput): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | DeadlineExceeded<E>, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, limit: Duration.DurationInput): Effect.Effect<A, E | DeadlineExceeded<E>, R>
} = dual(2, <A, E, R>(self: Effect.Effect<A, E, R>, limit: Duration.DurationInput) =>
  cutAfter(self, limitOption("Deadline.within", "limit", limit))
)

/**
 * Gives an effect the time that the caller's header says is left, at most `max` (default one hour). A header that cannot be read,
 * or was not sent, sets no deadline.
 *
 * @example
 * ```ts
 * import { Deadline } from "@breakwater/resilience"
 * import { Effect } from "effect"
 *
 * // on the server
 * const handler = (headers: { readonly [name: string]: string | undefined }) =>
 *   Effect.succeed("done").pipe(Effect.tap(Deadline.check), Deadline.withinHeader(headers["grpc-timeout"]))
 *
 * console.log(await Effect.runPromise(handler({ "grpc-timeout": "1500m" }))) // done
 * ```
 * @category combinators
 * @since 0.1.0
 */
export const withinHeader: {
  (
    value: string | undefined,
    options?: { readonly max?: Duration.DurationInput | undefined }
  ): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | DeadlineExceeded<E>, R>
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    value: string | undefined,
    options?: { readonly max?: Duration.DurationInput | undefined }
  ): Effect.Effect<A, E | DeadlineExceeded<E>, R>
} = dual(
  (args) => Effect.isEffect(args[0]),
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    value: string | undefined,
    options: { readonly max?: Duration.DurationInput | undefined } = {}
  ): Effect.Effect<A, E | DeadlineExceeded<E>, R> => {
    const max = limitOption("Deadline.withinHeader", "limit", options.max ?? "1 hour")
    const sent = value === undefined ? undefined : Rule.parseHeader(value)
    return sent === undefined ? self : cutAfter(self, Math.min(sent, max))
  }
)

const cutAfter = <A, E, R>(self: Effect.Effect<A, E, R>, millis: number): Effect.Effect<A, E | DeadlineExceeded<E>, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiberRuntime<A, E | DeadlineExceeded<E>, R>((fiber) => {
      const context = fiber.currentContext
      const now = Monotonic.unsafeNow(Monotonic.clockOf(fiber))
      const handle = Marks.tighten(Context.get(context, Deadline), now, millis)
      const { expiresAt } = handle.value
      if (expiresAt <= now) return Effect.fail(Marks.exceeded<E>(Option.none()))
      return limited(self, expiresAt - now, restore, Context.add(context, Deadline, handle)).pipe(
        Effect.ensuring(Effect.sync(() => Handle.close(handle))),
        Effect.flatMap(({ cut, exit }) => (cut ? outOfTime(exit, handle.value) : exit))
      )
    })
  )

/** Of an effect that was cut: what it failed with last, or what failed last inside of it, is what the deadline tells. */
const outOfTime = <A, E>(exit: Exit.Exit<A, E>, mark: Marks.Mark): Effect.Effect<A, E | DeadlineExceeded<E>> => {
  if (exit._tag === "Success") return exit
  const own = Cause.failureOption(exit.cause)
  if (Option.isNone(own) && !Cause.isInterruptedOnly(exit.cause)) return exit
  return Effect.fail(Marks.exceeded(Option.orElse(own, () => mark.lastError as Option.Option<E>)))
}
