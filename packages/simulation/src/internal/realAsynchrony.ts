/**
 * The engine room: the only file of this package that touches real time, real chance and the real event loop.
 */

declare global {
  interface ErrorConstructor {
    /** V8's; elsewhere nothing reads it. */
    stackTraceLimit: number
  }
}

/** Who reached for the real event loop while virtual time ran. */
export interface Culprit {
  /** What was called: `setTimeout`, `Promise.prototype.then`. */
  readonly call: string
  readonly stack: string
}

const entrances = ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"] as const

type Entrances = Record<(typeof entrances)[number], (...args: ReadonlyArray<unknown>) => unknown>

// Typed here, so that the package needs the types of no platform.
const global = globalThis as unknown as Entrances & { readonly clearTimeout: (timer: unknown) => void }

/** What stood there before the outermost trap: a trapped call goes on to it, and a trap within a trap is not told twice. */
let real: { readonly then: unknown; readonly random: () => number; readonly calls: Entrances } | undefined

/**
 * Runs something synchronously with the entrances to real asynchrony trapped and `Math.random` replaced. A trapped call is told
 * and then let through, so that what is running is not torn apart in the middle.
 *
 * A promise and a wait for ever look alike from outside, and what the program waits for may never come; what can be seen is the
 * call itself, with the stack that names its author.
 */
export const trapped = <A>(random: () => number, tell: (culprit: Culprit) => void, run: () => A): A => {
  const outer = real
  const before = { then: Promise.prototype.then, random: Math.random, calls: pick(global) }
  const through = (real ??= before)
  const told = (call: string) => tell({ call, stack: stackOf(call) })
  for (const name of entrances) {
    global[name] = (...args) => {
      // `Effect.never` keeps its process alive with an interval that never fires; virtual time has no process to keep alive.
      if (name === "setInterval" && args[1] === longestTimer) return undefined
      told(name)
      return through.calls[name](...args)
    }
  }
  Promise.prototype.then = function (this: unknown, ...args: ReadonlyArray<unknown>) {
    told("Promise.prototype.then")
    return Reflect.apply(through.then as () => unknown, this, args)
  } as typeof Promise.prototype.then
  Math.random = random
  try {
    return run()
  } finally {
    Object.assign(global, before.calls)
    Promise.prototype.then = before.then
    Math.random = before.random
    real = outer
  }
}

const longestTimer = 2 ** 31 - 1

/** Long enough to reach from a call deep in a runtime back to the program. */
const stackOf = (call: string): string => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 50
  const [, ...frames] = (new Error(call).stack ?? "").split("\n")
  Error.stackTraceLimit = limit
  return frames.filter((frame) => !frame.includes("realAsynchrony")).join("\n")
}

const pick = (from: Entrances): Entrances => ({
  setTimeout: from.setTimeout,
  setInterval: from.setInterval,
  setImmediate: from.setImmediate,
  queueMicrotask: from.queueMicrotask
})

/** Runs something after one turn of the real event loop: promises that can settle have settled by then. */
export const afterTurn = (run: () => void): void => {
  if (typeof global.setImmediate === "function") global.setImmediate(run)
  else global.setTimeout(run, 0)
}

/** Runs something before the event loop turns. */
export const soon = (run: () => void): void => {
  global.queueMicrotask(run)
}

/** Runs something after so much real time; gives back what cancels it. */
export const after = (millis: number, run: () => void): (() => void) => {
  const timer = global.setTimeout(run, millis)
  return () => {
    global.clearTimeout(timer)
  }
}
