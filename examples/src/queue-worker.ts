/**
 * Workers that take messages from a queue and have all the time in the world for each: long waits, one budget for all of them, and
 * a list of dead letters that says of each why it was given up. A worker that is stopped puts back what it had taken, so a message
 * may be handled twice, and is never lost.
 *
 * By hand, after `npm run build`, in virtual time: `npx jiti examples/src/queue-worker.ts`
 */
import { Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, type RetryObserver } from "@breakwater/schedule"
import { VirtualTime } from "@breakwater/simulation"
import { Array, Clock, Data, Effect, Fiber, Option, Queue } from "effect"
import { fileURLToPath } from "node:url"

/** The service behind the handler is down: worth another attempt. */
export class Unavailable extends Data.TaggedError("Unavailable") {}

/** It has looked at the message and will not take it, now or later. */
export class Rejected extends Data.TaggedError("Rejected") {}

export class WorkersBudget extends RetryBudget.Tag("WorkersBudget")<WorkersBudget>() {}

export interface DeadLetter {
  readonly message: string
  readonly attempts: number
  readonly reason: RetryObserver.Reason | undefined
}

/**
 * A queue whose take never loses what it takes. `Queue.take` does where the interrupt comes in the moment of the message, and a
 * message that one worker puts back comes just when the others are interrupted too. Here only the wait can be interrupted.
 */
export const makeMail = Effect.gen(function* () {
  const queue = yield* Queue.unbounded<string>()
  const filled = yield* Effect.makeLatch()
  const take = Effect.gen(function* () {
    for (;;) {
      // Closed before the look: what is offered after the look opens it again.
      yield* filled.close
      const message = yield* Queue.poll(queue)
      if (Option.isSome(message)) return message.value
      yield* Effect.interruptible(filled.await)
    }
  })
  const done: Array<string> = []
  const dead: Array<DeadLetter> = []
  return {
    put: (message: string) => Effect.zipRight(Queue.offer(queue, message), filled.open),
    take: Effect.uninterruptible(take),
    /** What nobody has in hand. */
    waiting: Effect.map(Queue.takeAll(queue), Array.fromIterable),
    done,
    dead
  }
})

type Mail = Effect.Effect.Success<typeof makeMail>

type Handler<R> = (message: string) => Effect.Effect<void, Unavailable | Rejected, R>

const worker = <R>(mail: Mail, handle: Handler<R>) =>
  // From the take to the end a message is in somebody's hands; only the work on it can be interrupted.
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const message = yield* mail.take
      const { attempts, exit, reason } = yield* handle(message).pipe(
        Retry.report({
          name: "worker",
          // Nobody waits for the answer, so the waits may be long; full jitter, since all workers meet the same outage.
          schedule: Backoff.exponential({ base: "1 second", cap: "2 minutes" }).pipe(Jitter.full),
          while: ({ _tag }) => _tag === "Unavailable",
          // Without it, a handler that hangs is a worker less.
          attemptTimeout: "10 seconds",
          // The other messages wait for this one: so long, and no longer. Time is the limit, not a number of attempts.
          deadline: "10 minutes",
          budget: WorkersBudget,
          log: false
        }),
        restore,
        Effect.onInterrupt(() => mail.put(message))
      )
      if (exit._tag === "Success") mail.done.push(message)
      else mail.dead.push({ message, attempts, reason: Option.getOrUndefined(reason) })
    })
  ).pipe(Effect.forever)

/** So many workers, until they are interrupted. What their retries may add to an outage does not grow with their number. */
export const workers = <R>(count: number, mail: Mail, handle: Handler<R>) =>
  Effect.all(Array.replicate(worker(mail, handle), count), { concurrency: "unbounded", discard: true })

/** A service that is down for its first three minutes, rejects one message and never answers another. */
export const send = (message: string) =>
  Effect.gen(function* () {
    if (message === "nonsense") return yield* new Rejected()
    if (message === "endless") return yield* Effect.never
    if ((yield* Clock.currentTimeMillis) < 180_000) return yield* new Unavailable()
    yield* Effect.sleep("1 second")
  })

/** Three workers for a time; what they have done then, given up, and put back. */
export const workFor = (minutes: number, messages: ReadonlyArray<string>, ledger = RetryBudget.fixedRate({ retries: 60 })) =>
  Effect.gen(function* () {
    const mail = yield* makeMail
    yield* Effect.forEach(messages, mail.put)
    const running = yield* Effect.fork(workers(3, mail, send))
    yield* Effect.sleep(`${minutes} minutes`)
    yield* Fiber.interrupt(running)
    return { done: mail.done, dead: mail.dead, left: yield* mail.waiting }
  }).pipe(Effect.provide(WorkersBudget.layer(ledger)))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const messages = ["one", "nonsense", "two", "endless", "three", "four"]
  console.log("after two minutes", Effect.runSync(VirtualTime.run(workFor(2, messages), { seed: 1 })))
  console.log("after half an hour", Effect.runSync(VirtualTime.run(workFor(30, messages), { seed: 1 })))
}
