import { RetryObserver } from "@breakwater/schedule"
import { NodeContext } from "@effect/platform-node"
import { SqlClient } from "@effect/sql"
import { SqlError } from "@effect/sql/SqlError"
import { PgClient } from "@effect/sql-pg"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit } from "effect"
import { existsSync } from "node:fs"
import { codesOf, increment, isWorthRetrying, transaction } from "../src/postgres-retry/main.js"
import { findPrograms, server } from "../src/postgres-retry/server.js"

// Where servers are needed, that there is none is a failure of the tests, and no reason to leave them out.
const isSkipped = findPrograms() === undefined && process.env["BREAKWATER_NEEDS_SERVERS"] !== "1"

/** A server with its client for each test, so that one may stop it. */
const withServer = <A, E, R>(test: (running: Effect.Effect.Success<typeof server>) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(server, (running) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE counter (value integer)`
      yield* sql`INSERT INTO counter VALUES (0)`
      yield* sql`CREATE TABLE doctor (name text PRIMARY KEY, on_call boolean)`
      yield* sql`INSERT INTO doctor VALUES ('Ada', true), ('Ben', true)`
      return yield* test(running)
    }).pipe(Effect.provide(PgClient.layer(running.config)))
  ).pipe(Effect.scoped, Effect.provide(NodeContext.layer))

/** Holds the first two that come until both are there, so that they meet in whatever order they run. */
const makeMeeting = Effect.map(Deferred.make<void>(), (bothAreThere) => {
  let arrived = 0
  return Effect.suspend(() => (++arrived >= 2 ? Deferred.succeed(bothAreThere, undefined) : Deferred.await(bothAreThere)))
})

/** The attempts of a transaction, and what made each the last or not. */
const observed = <A, E, R>(
  body: Effect.Effect<A, E, R>,
  onRetry: (attempt: number) => Effect.Effect<void> = () => Effect.void
) =>
  Effect.suspend(() => {
    const failures: Array<unknown> = []
    return transaction(body).pipe(
      RetryObserver.observe((event) => {
        failures.push(event.error)
        return event._tag === "Retrying" ? onRetry(event.attempt) : Effect.void
      }),
      Effect.exit,
      Effect.map((exit) => ({ exit, failures, attempts: failures.length + (Exit.isSuccess(exit) ? 1 : 0) }))
    )
  })

describe("which errors are worth a retry", () => {
  const coded = (code: string) => new SqlError({ cause: Object.assign(new Error("any"), { code }) })

  it.each(["40001", "40P01", "57P01", "08006", "08003", "ECONNREFUSED", "ECONNRESET"])("%s is", (code) => {
    expect(isWorthRetrying(coded(code))).toBe(true)
    expect(isWorthRetrying(new SqlError({ cause: new Error("outer", { cause: coded(code) }) }))).toBe(true)
  })

  it.each(["23505", "23503", "42P01", "22012", "57014"])("%s is not", (code) => {
    expect(isWorthRetrying(coded(code))).toBe(false)
  })

  it("a connection that was lost without a code is", () => {
    expect(isWorthRetrying(new SqlError({ cause: new Error("Connection terminated unexpectedly") }))).toBe(true)
  })

  it("a circle of causes, and what is no error at all, are not", () => {
    const one = new Error("one")
    one.cause = new Error("two", { cause: one })
    expect([one, undefined, null, "40001", {}].map(isWorthRetrying)).toEqual([false, false, false, false, false])
  })
})

describe.skipIf(isSkipped)(isSkipped ? "postgres-retry, skipped: no PostgreSQL on this machine" : "postgres-retry", () => {
  it.live("two that read the same counter before either writes: both succeed in the end, and nothing is lost", () =>
    withServer(() =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const meet = yield* makeMeeting
        const body = Effect.gen(function* () {
          yield* sql`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`
          const rows = yield* sql<{ readonly value: number }>`SELECT value FROM counter`
          yield* meet
          yield* sql`UPDATE counter SET value = ${rows[0]!.value + 1}`
        })
        const [one, two] = yield* Effect.all([observed(body), observed(body)], { concurrency: "unbounded" })
        expect(Exit.isSuccess(one.exit) && Exit.isSuccess(two.exit)).toBe(true)
        expect(yield* sql`SELECT value FROM counter`).toEqual([{ value: 2 }])
        // The first two conflict for certain; the one that comes back has the row for itself.
        expect(one.attempts + two.attempts).toBe(3)
        expect([...one.failures, ...two.failures].map(codesOf)).toEqual([["40001"]])
      })
    )
  )

  it.live("a conflict that only the COMMIT finds is retried, and the rule over both rows holds", () =>
    withServer(() =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const meet = yield* makeMeeting
        // Each goes home if the other stays: the write skew, of which neither UPDATE knows.
        const goHome = (name: string) =>
          Effect.gen(function* () {
            yield* sql`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`
            const others = yield* sql`SELECT name FROM doctor WHERE on_call AND name <> ${name}`
            if (others.length > 0) yield* sql`UPDATE doctor SET on_call = false WHERE name = ${name}`
            yield* meet
          })
        const [ada, ben] = yield* Effect.all([observed(goHome("Ada")), observed(goHome("Ben"))], { concurrency: "unbounded" })
        expect(Exit.isSuccess(ada.exit) && Exit.isSuccess(ben.exit)).toBe(true)
        expect(yield* sql`SELECT name FROM doctor WHERE on_call`).toHaveLength(1)
        expect(ada.attempts + ben.attempts).toBe(3)
        expect([...ada.failures, ...ben.failures].map(codesOf)).toEqual([["40001"]])
      })
    )
  )

  it.live("two that lock the same rows in the other order: the one that the server chose makes room and comes back", () =>
    withServer(() =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const meet = yield* makeMeeting
        const touch = (name: string) => sql`UPDATE doctor SET on_call = false WHERE name = ${name}`
        const inOrder = (first: string, second: string) =>
          touch(first).pipe(Effect.zipRight(meet), Effect.zipRight(touch(second)))
        const [one, two] = yield* Effect.all([observed(inOrder("Ada", "Ben")), observed(inOrder("Ben", "Ada"))], {
          concurrency: "unbounded"
        })
        expect(Exit.isSuccess(one.exit) && Exit.isSuccess(two.exit)).toBe(true)
        expect(one.attempts + two.attempts).toBe(3)
        expect([...one.failures, ...two.failures].map(codesOf)).toEqual([["40P01"]])
      })
    )
  )

  it.live("ten at once on one counter: it says ten", () =>
    withServer(() =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Effect.all(
          Array.from({ length: 10 }, () => transaction(increment)),
          { concurrency: "unbounded" }
        )
        expect(yield* sql`SELECT value FROM counter`).toEqual([{ value: 10 }])
      })
    )
  )

  it.live("a unique violation is tried once, and its error is handed over as it is", () =>
    withServer(() =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const errors: Array<SqlError> = []
        const body = sql`INSERT INTO doctor VALUES ('Ada', true)`.pipe(
          Effect.tapError((error) => Effect.sync(() => errors.push(error)))
        )
        const error = yield* Effect.flip(transaction(body))
        expect(errors).toHaveLength(1)
        expect(error).toBe(errors[0])
        expect(codesOf(error)).toEqual(["23505"])
      })
    )
  )

  it.live("a connection that is cut in the middle: begun again on another, and done once", () =>
    withServer(() =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const backends: Array<number> = []
        const body = Effect.gen(function* () {
          const [backend] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
          backends.push(backend!.pid)
          yield* sql`UPDATE counter SET value = value + 1`
          // Its own, which ends while the statement runs.
          if (backends.length === 1) yield* sql`SELECT pg_terminate_backend(${backend!.pid})`
        })
        const { attempts, exit, failures } = yield* observed(body)
        expect(Exit.isSuccess(exit)).toBe(true)
        expect(attempts).toBe(2)
        expect(new Set(backends).size).toBe(2)
        // Not what the ROLLBACK said, for which there was no connection any more.
        expect(failures.map(codesOf)).toEqual([["57P01"]])
        expect(yield* sql`SELECT value FROM counter`).toEqual([{ value: 1 }])
      })
    )
  )

  it.live("a connection that is cut between two statements is retried too", () =>
    withServer(() =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const cutter = yield* Effect.map(PgClient.PgClient, ({ config }) => PgClient.layer(config))
        let attempts = 0
        const body = Effect.gen(function* () {
          const [backend] = yield* sql<{
            readonly pid: number
          }>`UPDATE counter SET value = value + 1 RETURNING pg_backend_pid() AS pid`
          if (++attempts > 1) return
          // By somebody else, who waits until it is gone.
          yield* Effect.flatMap(
            SqlClient.SqlClient,
            (other) => other`SELECT pg_terminate_backend(${backend!.pid}, 10000)`
          ).pipe(Effect.provide(cutter))
          yield* sql`SELECT 1`
        })
        yield* transaction(body)
        expect(attempts).toBe(2)
        expect(yield* sql`SELECT value FROM counter`).toEqual([{ value: 1 }])
      })
    )
  )

  it.live("a server that stops, refuses, and comes back is sat out", () =>
    withServer(({ start, stop }) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const running: Array<string> = []
        const body = Effect.gen(function* () {
          running.push("body")
          yield* sql`UPDATE counter SET value = value + 1`
          if (running.length === 1) yield* Effect.orDie(stop)
        })
        // The second attempt finds nobody; only then does the server come back.
        const { attempts, exit, failures } = yield* observed(body, (attempt) =>
          attempt === 2 ? Effect.asVoid(Effect.orDie(start)).pipe(Effect.provide(NodeContext.layer)) : Effect.void
        )
        expect(Exit.isSuccess(exit)).toBe(true)
        expect(attempts).toBe(3)
        expect(running).toHaveLength(2)
        expect(codesOf(failures[1])).toEqual(["ECONNREFUSED"])
        expect(yield* sql`SELECT value FROM counter`).toEqual([{ value: 1 }])
      })
    )
  )

  it.live("the server leaves nothing behind, whether its user fails or is interrupted", () =>
    Effect.gen(function* () {
      const folders: Array<string> = []
      const use = (end: Effect.Effect<never, string>) =>
        server.pipe(
          Effect.tap(({ folder }) => Effect.sync(() => folders.push(folder))),
          Effect.zipRight(end),
          Effect.scoped,
          Effect.exit
        )
      yield* use(Effect.fail("any"))
      yield* use(Effect.interrupt)
      expect(folders).toHaveLength(2)
      expect(folders.map(existsSync)).toEqual([false, false])
    }).pipe(Effect.provide(NodeContext.layer))
  )
})
