/**
 * An API with a quota. Its 429 has no `Retry-After`; when to come back stands in the headers of the rate limit, in three dialects.
 *
 * By hand, after `npm run build`: `npx jiti examples/src/rate-limit/main.ts`
 */
import { Backoff, Jitter, Limit, RetryAfter } from "@breakwater/schedule"
import { Command, FetchHttpClient, HttpClient, type HttpClientError, HttpClientResponse } from "@effect/platform"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Schema, Stream } from "effect"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

type HttpError = HttpClientError.HttpClientError

const patient = Backoff.exponential({ base: "20 millis", cap: "100 millis" }).pipe(
  Jitter.full,
  // Reads Retry-After and the headers of a rate limit alike.
  RetryAfter.respect({
    of: RetryAfter.fromHeaders((error: HttpError) => (error._tag === "ResponseError" ? error.response.headers : undefined))
  }),
  Limit.attempts(3)
)

const worthRetrying = (error: HttpError) => error._tag === "ResponseError" && [429, 503].includes(error.response.status)

export const dialects = ["ietf", "github", "openai", "busy"] as const

const getAll = Effect.fn(function* (origin: string) {
  const http = (yield* HttpClient.HttpClient).pipe(
    HttpClient.filterStatusOk,
    HttpClient.retry({ schedule: patient, while: worthRetrying })
  )
  return yield* Effect.forEach(dialects, (dialect) => http.get(`${origin}/${dialect}`), { concurrency: "unbounded" })
})

/** The server, for as long as the scope: closing it, also by an interrupt, ends the process and waits for the end. */
const server = Effect.gen(function* () {
  const child = yield* Command.make(process.execPath, "--import", "jiti/register", "server.ts").pipe(
    // Node looks for what it imports from here, wherever the example was started.
    Command.workingDirectory(dirname(fileURLToPath(import.meta.url))),
    Command.stderr("inherit"),
    Command.start
  )
  const line = yield* child.stdout.pipe(Stream.decodeText(), Stream.splitLines, Stream.runHead, Effect.flatten)
  const { port } = yield* Schema.decode(Schema.parseJson(Schema.Struct({ port: Schema.Number })))(line)
  return `http://127.0.0.1:${port}`
})

const Requests = Schema.Array(
  Schema.Struct({
    dialect: Schema.Literal(...dialects),
    status: Schema.Number,
    /** Milliseconds since 1970. */
    at: Schema.Number,
    headers: Schema.Record({ key: Schema.String, value: Schema.String })
  })
)

/** What the server saw, in its own time. */
export const program = Effect.gen(function* () {
  const origin = yield* server
  yield* getAll(origin)
  return yield* HttpClient.get(`${origin}/requests`).pipe(Effect.flatMap(HttpClientResponse.schemaBodyJson(Requests)))
}).pipe(Effect.scoped, Effect.provide([FetchHttpClient.layer, NodeContext.layer]))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  program.pipe(
    Effect.flatMap((requests) =>
      Effect.forEach(dialects, (dialect) => {
        const [refused, again] = requests.filter((request) => request.dialect === dialect)
        return Console.log(`${dialect}: came back after ${again!.at - refused!.at} ms`, refused!.status, refused!.headers)
      })
    ),
    NodeRuntime.runMain
  )
}
