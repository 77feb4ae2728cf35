import * as Option from "effect/Option"
import { DeadlineExceeded } from "../Deadline.js"
import * as Handle from "./handle.js"
import { stackless } from "./stackless.js"

/** What an operation with a deadline leaves in its fibers. */
export interface Mark {
  /** Monotonic milliseconds; `Infinity` for no limit. */
  readonly expiresAt: number
  /** What failed last inside, so that the deadline does not hide it. */
  lastError: Option.Option<unknown>
}

/** A deadline so many milliseconds away, and no later than the one around it. */
export const tighten = (outer: Handle.Handle<Mark> | undefined, now: number, millis: number): Handle.Handle<Mark> => {
  const around = Handle.current(outer)
  const expiresAt = Math.min(now + millis, around?.value.expiresAt ?? Infinity)
  return Handle.open<Mark>({ expiresAt, lastError: Option.none() }, around)
}

/** Tells every deadline around what has failed. */
export const note = (handle: Handle.Handle<Mark> | undefined, error: Option.Option<unknown>): void => {
  for (let around = handle; around !== undefined; around = around.outer) around.value.lastError = error
}

export const exceeded = <E>(lastError: Option.Option<E>): DeadlineExceeded<E> =>
  stackless(() => new DeadlineExceeded<E>({ lastError }))
