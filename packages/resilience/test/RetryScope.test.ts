import { Retry, RetryScope } from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import { operation, scripted, timed } from "./operation.js"

const threeAttempts = { schedule: Backoff.constant({ delay: 1 }).pipe(Limit.attempts(3)), log: false } as const
const attempt = Effect.map(RetryScope.attempt, Option.getOrUndefined)

describe("layers of retries", () => {
  const layered = (layers: number, nested: RetryScope.Nested) => {
    const { call, calls } = scripted([{ fails: "down" }])
    let program: Effect.Effect<string, string> = call
    for (let layer = 0; layer < layers; layer++) {
      program = Retry.retry(program, { ...threeAttempts, nested }) as Effect.Effect<string, string>
    }
    return { calls, exit: timed(program).exit }
  }

  it("make as many calls as one layer: four of three attempts make 3, not 81", () => {
    const { calls, exit } = layered(4, "single-attempt")
    assert.strictEqual(calls.length, 3)
    assert.deepStrictEqual(exit, Exit.fail("down"))
  })

  it("multiply where they are allowed to", () => {
    assert.strictEqual(layered(4, "allow").calls.length, 81)
  })

  it("warn and multiply where they are told to warn", () => {
    const warnings: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void warnings.push(`${logLevel.label} ${String(message)}`))
    const { call, calls } = scripted([{ fails: "down" }])
    const inner = Retry.retry(call, { ...threeAttempts, nested: "warn" })
    timed(Retry.retry(inner, threeAttempts).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger))))
    assert.strictEqual(calls.length, 9)
    assert.strictEqual(warnings.filter((line) => line.startsWith("WARN")).length, 3)
  })

  it("fail without a call where they are told to fail", () => {
    const { call, calls } = scripted([{ fails: "down" }])
    const inner = Retry.retry(call, { ...threeAttempts, name: "orders", nested: "fail" })
    const { exit } = timed(Retry.retry(inner, { ...threeAttempts, while: (error) => error === "down" }))
    assert.deepStrictEqual(calls, [])
    assert.isTrue(Exit.isFailure(exit) && String(exit.cause).includes(`The retry of "orders" runs inside another retry`))
  })

  it("say in their report that a retry further out stopped them", () => {
    let reason: unknown
    const inner = Retry.report(Effect.fail("down"), threeAttempts).pipe(
      Effect.flatMap((report) => {
        reason = report.reason
        return report.exit
      })
    )
    operation([{}], threeAttempts)
    timed(Retry.retry(inner, threeAttempts))
    assert.deepStrictEqual(reason, Option.some("nested"))
  })
})

describe("the mark", () => {
  it("tells the number of the attempt", () => {
    const seen: Array<number | undefined> = []
    const call = Effect.flatMap(attempt, (number) => {
      seen.push(number)
      return Effect.fail("down")
    })
    timed(Retry.retry(call, threeAttempts))
    assert.deepStrictEqual(seen, [1, 2, 3])
  })

  it("goes into what is forked inside, also behind a time limit", () => {
    const call = Effect.flatMap(Effect.fork(attempt), Fiber.join)
    assert.deepStrictEqual(timed(Retry.retry(call, threeAttempts)).exit, Exit.succeed(1))
    assert.deepStrictEqual(timed(Retry.retry(call, { ...threeAttempts, attemptTimeout: 10 })).exit, Exit.succeed(1))
  })

  it("does not reach siblings, nor what comes after", () => {
    const retried = Retry.retry(Effect.sleep(5), threeAttempts)
    const { exit } = timed(Effect.all([retried, attempt, Effect.zipRight(retried, attempt)], { concurrency: 3 }))
    assert.deepStrictEqual(exit, Exit.succeed<unknown>([undefined, undefined, undefined]))
  })

  it("ends with the operation, for a daemon that outlives it too", () => {
    const daemon = Effect.forkDaemon(Effect.delay(attempt, 100))
    const program = Effect.flatMap(Retry.retry(daemon, threeAttempts), Fiber.join)
    assert.deepStrictEqual(timed(program).exit, Exit.succeed(undefined))
  })

  it("is not seen by what is allowed to retry by itself", () => {
    const call = RetryScope.allow(attempt)
    assert.deepStrictEqual(timed(Retry.retry(call, threeAttempts)).exit, Exit.succeed(undefined))
  })
})

describe("a header", () => {
  it("carries the number of the attempt over a hop, where retries then make one attempt", () => {
    const { call, calls } = scripted([{ fails: "down" }])
    const server = (header: string | undefined) => Retry.retry(call, threeAttempts).pipe(RetryScope.fromHeader(header))
    const client = Effect.flatMap(RetryScope.header, (header) => server(Option.getOrUndefined(header)))
    timed(Retry.retry(client, threeAttempts))
    assert.strictEqual(calls.length, 3)
    timed(server(undefined))
    assert.strictEqual(calls.length, 6)
  })

  it("that is not one is no mark", () => {
    for (const value of ["", "0", "-1", "1e3", "9".repeat(1e6), "one"]) {
      assert.deepStrictEqual(timed(RetryScope.fromHeader(attempt, value)).exit, Exit.succeed(undefined))
    }
  })

  it("outside of a retry there is none", () => {
    assert.deepStrictEqual(timed(RetryScope.header).exit, Exit.succeed(Option.none()))
  })
})
