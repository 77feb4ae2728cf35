/**
 * Six HTTP clients and a server that refuses three of them: one with a `Retry-After`, one without, one for good.
 *
 * By hand, after `npm run build`: `npx jiti examples/src/http-retry/main.ts`
 */
import { Backoff, Jitter, Limit, RetryAfter } from "@breakwater/schedule"
import { Command, FetchHttpClient, HttpClient, type HttpClientError, HttpClientResponse } from "@effect/platform"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Schema, Stream } from "effect"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

type HttpError = HttpClientError.HttpClientError

const patient = Backoff.exponential({ base: "100 millis", cap: "800 millis" }).pipe(
  Jitter.full,
  RetryAfter.respect({
    // Only an answer has headers; a RequestError never got one.
    of: RetryAfter.fromHeaders((error: HttpError) => (error._tag === "ResponseError" ? error.response.headers : undefined))
  }),
  Limit.attempts(5)
)

const worthRetrying = (error: HttpError) => error._tag === "ResponseError" && [429, 503].includes(error.response.status)

export const getAll = Effect.fn(function* (origin: string) {
  const http = (yield* HttpClient.HttpClient).pipe(
    // Before the retry: to a client that does not filter, a 503 is a success.
    HttpClient.filterStatusOk,
    HttpClient.retry({ schedule: patient, while: worthRetrying })
  )
  const get = (client: number) =>
    http.get(`${origin}/client/${client}`).pipe(
      Effect.map(({ status }) => ({ status, succeeded: true })),
      Effect.catchTag("ResponseError", ({ response }) => Effect.succeed({ status: response.status, succeeded: false })),
      Effect.delay(`${client * 50} millis`)
    )
  return yield* Effect.forEach([0, 1, 2, 3, 4, 5], get, { concurrency: "unbounded" })
})

/** The server, for as long as the scope: closing it, also by an interrupt, ends the process and waits for the end. */
export const server = Effect.gen(function* () {
  const child = yield* Command.make(process.execPath, "--import", "jiti/register", "server.ts").pipe(
    // Node looks for what it imports from here, wherever the example was started.
    Command.workingDirectory(dirname(fileURLToPath(import.meta.url))),
    Command.stderr("inherit"),
    Command.start
  )
  const line = yield* child.stdout.pipe(Stream.decodeText(), Stream.splitLines, Stream.runHead, Effect.flatten)
  const { port } = yield* Schema.decode(Schema.parseJson(Schema.Struct({ port: Schema.Number })))(line)
  return { pid: child.pid, origin: `http://127.0.0.1:${port}` }
})

const Requests = Schema.Array(Schema.Struct({ client: Schema.Number, status: Schema.Number, at: Schema.Number }))

export const program = Effect.gen(function* () {
  const { origin, pid } = yield* server
  const results = yield* getAll(origin)
  const requests = yield* HttpClient.get(`${origin}/requests`).pipe(Effect.flatMap(HttpClientResponse.schemaBodyJson(Requests)))
  return { pid, results, requests }
}).pipe(Effect.scoped, Effect.provide([FetchHttpClient.layer, NodeContext.layer]))

export const summary = ({ requests, results }: Effect.Effect.Success<typeof program>): string => {
  const [refused = NaN, again = NaN] = requests.filter(({ client }) => client === 0).map(({ at }) => at)
  return [
    `${requests.length} requests at the server`,
    `${results.filter(({ succeeded }) => succeeded).length} of ${results.length} clients succeeded`,
    `client 0 came back ${Math.floor(again - refused)} ms after its 429`
  ].join(", ")
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  program.pipe(
    Effect.tap(({ results }) => Console.table(results)),
    Effect.flatMap((report) => Console.log(summary(report))),
    NodeRuntime.runMain
  )
}
