import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Handle from "./handle.js"

/** That a fiber is inside of a retry. */
export interface Mark {
  attempt: number
}

export type Marked = Handle.Handle<Mark> | undefined

/** Where a fiber keeps its mark. It is the fiber's own, so that setting a mark is setting a field. */
export class Cell {
  constructor(public current: Marked) {}
}

/** Of all fibers that never had a mark; it is never changed. */
const unmarked = new Cell(undefined)

/**
 * A fiber reference and not one of the context: to run each attempt in a context of its own would cost several times what the
 * rest of a retry does. A fork starts with the mark of its parent, and a join leaves the parent's alone.
 */
const cells = FiberRef.unsafeMake<Cell>(unmarked, {
  fork: ({ current }) => {
    const open = Handle.current(current)
    return open === undefined ? unmarked : new Cell(open)
  },
  join: (parent) => parent
})

/** The mark of a fiber. */
export const of = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Marked => Handle.current(fiber.getFiberRef(cells).current)

/** Uses the cell of a fiber, which gets one of its own first. */
export const withCell = <A, E, R>(
  fiber: Fiber.RuntimeFiber<unknown, unknown>,
  use: (cell: Cell) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const known = fiber.getFiberRef(cells)
  if (known !== unmarked) return use(known)
  const cell = new Cell(undefined)
  return Effect.zipRight(
    FiberRef.set(cells, cell),
    Effect.suspend(() => use(cell))
  )
}

/** Runs an effect with another mark, which is closed and taken back at its end. */
export const marked = <A, E, R>(self: Effect.Effect<A, E, R>, mark: (outer: Marked) => Marked): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) =>
    withCell(fiber, (cell) => {
      const outer = cell.current
      const inner = mark(outer)
      return Effect.acquireUseRelease(
        Effect.sync(() => (cell.current = inner)),
        () => self,
        () =>
          Effect.sync(() => {
            if (inner !== undefined) Handle.close(inner)
            cell.current = outer
          })
      )
    })
  )
