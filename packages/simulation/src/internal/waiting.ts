import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberStatus from "effect/FiberStatus"

/**
 * What each fiber of a program that came to a stop waits for, a line a fiber. Fibers are named by their place in the tree, `1` for
 * the program itself and `1.2` for its second child: their own numbers are counted across the whole process.
 */
export const describe = (root: Fiber.RuntimeFiber<unknown, unknown>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const fibers = yield* family("1", root)
    const names = new Map(fibers.map(({ fiber, name }) => [FiberId.threadName(fiber.id()), name]))
    return yield* Effect.forEach(fibers, ({ fiber, name }) =>
      Effect.map(fiber.status, (status) => {
        const span = fiber.currentSpan?._tag === "Span" ? ` (${fiber.currentSpan.name})` : ""
        return `fiber ${name}${span} ${waitsFor(status, names)}`
      })
    )
  })

type Named = { readonly name: string; readonly fiber: Fiber.RuntimeFiber<unknown, unknown> }

const family = (name: string, fiber: Fiber.RuntimeFiber<unknown, unknown>): Effect.Effect<ReadonlyArray<Named>> =>
  Effect.gen(function* () {
    const children = yield* fiber.children
    const below = yield* Effect.forEach(children, (child, index) => family(`${name}.${index + 1}`, child))
    return [{ name, fiber }, ...below.flat()]
  })

const waitsFor = (status: FiberStatus.FiberStatus, names: ReadonlyMap<string, string>): string => {
  if (!FiberStatus.isSuspended(status)) return "is running"
  const on = names.get(FiberId.threadName(status.blockingOn))
  return on === undefined ? "waits" : `waits for fiber ${on}, or for something it made`
}
