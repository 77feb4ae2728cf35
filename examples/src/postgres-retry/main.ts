/**
 * A transaction that is retried as a whole where PostgreSQL says that it may be, and is left alone where it says why not.
 *
 * By hand, after `npm run build`, with PostgreSQL installed: `npx jiti examples/src/postgres-retry/main.ts`
 */
import { Retry } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { SqlClient } from "@effect/sql"
import { SqlError } from "@effect/sql/SqlError"
import { PgClient } from "@effect/sql-pg"
import { Console, Effect, Option } from "effect"
import { fileURLToPath } from "node:url"
import { server } from "./server.js"

/** Everything that an error was caused by, itself first. A driver may make a circle of causes. */
const chain = (error: unknown): ReadonlyArray<object> => {
  const seen = new Set<object>()
  for (let link = error; typeof link === "object" && link !== null && !seen.has(link);) {
    seen.add(link)
    link = "cause" in link ? link.cause : undefined
  }
  return [...seen]
}

/** The codes in it: SQLSTATEs of the server, such as 40001, and what the operating system says, such as ECONNREFUSED. */
export const codesOf = (error: unknown): ReadonlyArray<string> =>
  chain(error).flatMap((link) => ("code" in link && typeof link.code === "string" ? [link.code] : []))

const again = new Set([
  "40001", // could not serialize: another transaction was first
  "40P01", // deadlock: this one was chosen to make room
  "57P01", // the connection ended by an administrator, or the server shut down
  "57P02", // the server crashed
  "57P03", // the server is starting
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE"
])

/** For a connection that was lost the driver has a message, and no code. */
const isLost = (link: object) =>
  link instanceof Error && /^Connection terminated|^Client has encountered a connection error/.test(link.message)

/** Class 08 is that of the connection. What is not named here is not retried, 23505 (unique violation) for one. */
export const isWorthRetrying = (error: unknown): boolean =>
  codesOf(error).some((code) => again.has(code) || /^08...$/.test(code)) || chain(error).some(isLost)

/**
 * Runs a whole transaction, and again from its first statement: after an error PostgreSQL takes no other statement of it, and what
 * it has read until then may no longer be so. For the same reason it is not for use inside of another transaction.
 *
 * A connection that is lost during the COMMIT leaves open whether it was done. Give what must not happen twice a key of its own:
 * the second time it is a unique violation, which is not retried.
 */
export const transaction = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.suspend(() => {
      let first: Option.Option<E> = Option.none()
      return body.pipe(
        Effect.tapError((error) => Effect.sync(() => (first = Option.some(error)))),
        sql.withTransaction,
        // A COMMIT that fails is a defect to `withTransaction`, and most conflicts are only found there. So is a ROLLBACK on a lost
        // connection, which hides why it was rolled back.
        Effect.catchSomeDefect((defect) =>
          defect instanceof SqlError ? Option.some(Effect.fail(Option.getOrElse(first, () => defect))) : Option.none()
        )
      )
    })
  ).pipe(
    Retry.retry({
      name: "postgres",
      // Short at first, for a conflict; long in the end, for a server that restarts.
      schedule: Backoff.exponential({ base: "10 millis", cap: "2 seconds" }).pipe(Jitter.full, Limit.attempts(12)),
      while: isWorthRetrying,
      deadline: "30 seconds",
      log: false
    })
  )

/** Reads, then writes what it has read plus one: two at the same time would lose one of them, were it not for the isolation. */
export const increment = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.gen(function* () {
    yield* sql`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`
    const rows = yield* sql<{ readonly value: number }>`SELECT value FROM counter`
    yield* sql`UPDATE counter SET value = ${(rows[0]?.value ?? 0) + 1}`
  })
)

const program = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE counter (value integer)`
  yield* sql`INSERT INTO counter VALUES (0)`
  let attempts = 0
  const counted = Effect.zipRight(
    Effect.sync(() => attempts++),
    increment
  )
  yield* Effect.all(
    Array.from({ length: 5 }, () => transaction(counted)),
    { concurrency: "unbounded" }
  )
  yield* Console.log("5 transactions,", attempts, "attempts, and the counter says", yield* sql`SELECT value FROM counter`)
})

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  server.pipe(
    Effect.flatMap(({ config }) => Effect.provide(program, PgClient.layer(config))),
    Effect.scoped,
    Effect.provide(NodeContext.layer),
    NodeRuntime.runMain
  )
}
