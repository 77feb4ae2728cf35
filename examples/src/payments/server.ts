/**
 * The payments service of this example, a process of its own. It charges an order once, however often it is told to: the key of a
 * request is its order. From `POST /outage` to `POST /recovery` it is down. It prints its port as one line of JSON and ends with its
 * parent.
 */
import { createServer } from "node:http"

/** So many requests of the outage are charged and get no answer: the client cannot know. After them it says 503. */
const unanswered = 2

const requests: Array<{ readonly order: string; readonly status: number | "no answer"; readonly inOutage: boolean }> = []
const charged = new Set<string>()
let inOutage = false
let running = 0
let mostAtOnce = 0

const statusOf = (order: string) => {
  if (inOutage) return requests.filter((request) => request.inOutage).length < unanswered ? "no answer" : 503
  return order.startsWith("declined") ? 402 : 200
}

const server = createServer((request, response) => {
  const order = request.headers["idempotency-key"]
  if (request.url === "/outage" || request.url === "/recovery") {
    inOutage = request.url === "/outage"
    response.end()
  } else if (request.url === "/report") {
    const report = { requests, charged: [...charged], mostAtOnce }
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(report))
  } else if (request.url === "/charges" && typeof order === "string") {
    const status = statusOf(order)
    requests.push({ order, status, inOutage })
    if (status === 200 || status === "no answer") charged.add(order)
    if (status === "no answer") return
    mostAtOnce = Math.max(mostAtOnce, ++running)
    setTimeout(() => {
      running--
      response.writeHead(status).end()
    }, 10)
  } else response.writeHead(404).end()
})

const stop = () => process.exit()
process.once("SIGTERM", stop)
// The parent holds the other end and never writes: the end of the input is the end of the parent, however it died.
process.stdin.once("close", stop).resume()

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (address !== null && typeof address === "object") console.log(JSON.stringify({ port: address.port }))
})
