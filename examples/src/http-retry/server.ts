/**
 * The server of this example: a process of its own, so that its clock and its count owe nothing to the client. It prints its
 * port as one line of JSON and ends with its parent.
 */
import { createServer } from "node:http"
import { performance } from "node:perf_hooks"

/** What each client is told, request by request; the last answer stays. */
const script: ReadonlyArray<ReadonlyArray<readonly [status: number, headers?: Record<string, string>]>> = [
  [[429, { "Retry-After": "1" }], [200]],
  [[503], [200]],
  [[400]],
  [[200]],
  [[200]],
  [[200]]
]

const requests: Array<{ readonly client: number; readonly status: number; readonly at: number }> = []

const server = createServer((request, response) => {
  const at = performance.now()
  if (request.url === "/requests") {
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(requests))
    return
  }
  const client = Number(/^\/client\/(\d+)$/.exec(request.url ?? "")?.[1])
  const answers = script[client] ?? []
  const [status, headers] = answers[requests.filter((earlier) => earlier.client === client).length] ?? answers.at(-1) ?? [404]
  if (status !== 404) requests.push({ client, status, at })
  response.writeHead(status, headers).end()
})

const stop = () => process.exit()
process.once("SIGTERM", stop)
// The parent holds the other end and never writes: the end of the input is the end of the parent, however it died.
process.stdin.once("close", stop).resume()

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (address !== null && typeof address === "object") console.log(JSON.stringify({ port: address.port }))
})
