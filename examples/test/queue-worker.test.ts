import { RetryBudget } from "@breakwater/resilience"
import { VirtualTime } from "@breakwater/simulation"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { makeMail, Unavailable, workers, WorkersBudget, workFor } from "../src/queue-worker.js"

const run = <A, E>(program: Effect.Effect<A, E>, seed: number) => Effect.runSync(VirtualTime.run(program, { seed }))
const seeds = [1, 2, 3, 4, 5]

const messages = ["one", "nonsense", "two", "endless", "three", "four"]

describe("queue-worker", () => {
  it.each(seeds)("sits out an outage of minutes, and says of each dead letter why it was given up, seed %i", (seed) => {
    const { dead, done, left } = run(workFor(30, messages), seed)
    expect([...done].sort()).toEqual(["four", "one", "three", "two"])
    expect(dead).toEqual([
      { message: "nonsense", attempts: 1, reason: "not-retryable" },
      { message: "endless", attempts: expect.any(Number), reason: "deadline" }
    ])
    expect(dead[1]!.attempts).toBeGreaterThan(5)
    expect(left).toEqual([])
  })

  it.each(seeds)(
    "a message that costs more retries than the budget of all workers grants is given up at once, seed %i",
    (seed) => {
      const { dead, done, left } = run(workFor(2, messages, RetryBudget.fixedRate({ retries: 4, per: "1 hour" })), seed)
      expect(done).toEqual([])
      expect(left).toEqual([])
      const attempts = dead.map(({ attempts }) => attempts)
      expect(attempts.reduce((sum, number) => sum + number)).toBe(messages.length + 4)
      expect(dead.filter(({ reason }) => reason === "budget-exhausted")).toHaveLength(5)
    }
  )

  it.each(seeds)("stopped in the middle of the waits, all workers put back what they had taken, seed %i", (seed) => {
    const { dead, done, left } = run(workFor(2, messages), seed)
    expect(done).toEqual([])
    expect(dead).toEqual([{ message: "nonsense", attempts: 1, reason: "not-retryable" }])
    expect([...left].sort()).toEqual(["endless", "four", "one", "three", "two"])
  })

  it("a worker stopped in a wait gives back its retry, keeps no connection, and loses nothing to its idle colleagues", () => {
    const program = Effect.gen(function* () {
      const budget = yield* WorkersBudget
      const mail = yield* makeMail
      let open = 0
      let attempts = 0
      const handle = () =>
        Effect.acquireUseRelease(
          Effect.sync(() => void (open++, attempts++)),
          () => new Unavailable(),
          () => Effect.sync(() => open--)
        )
      const running = yield* Effect.fork(workers(3, mail, handle))
      yield* Effect.sleep("1 second")
      yield* mail.put("only")
      // Until it waits for the first retry, which has its permit.
      yield* Effect.yieldNow().pipe(Effect.repeat({ until: () => attempts === 1 && open === 0 }))
      yield* Effect.sleep("1 nano")
      const during = yield* budget.balance
      yield* Fiber.interrupt(running)
      return { attempts, open, during, after: yield* budget.balance, left: yield* mail.waiting }
    }).pipe(Effect.provide(WorkersBudget.layer(RetryBudget.fixedRate({ retries: 5, per: "1 hour" }))))
    expect(run(program, 1)).toEqual({ attempts: 1, open: 0, during: 4, after: 5, left: ["only"] })
  })

  it("loses no message that comes in the moment of the interrupt", () => {
    const program = Effect.gen(function* () {
      const mail = yield* makeMail
      const running = yield* Effect.fork(workers(2, mail, () => Effect.never))
      yield* Effect.sleep("1 second")
      yield* mail.put("last")
      yield* Fiber.interrupt(running)
      return yield* mail.waiting
    }).pipe(Effect.provide(WorkersBudget.layer(RetryBudget.fixedRate())))
    expect(run(program, 1)).toEqual(["last"])
  })
})
