/**
 * The payments service of this example, a process of its own. It keeps the charge of the order `slow` waiting until `POST /release`.
 * It prints its port as one line of JSON and ends with its parent.
 */
import { createServer, type ServerResponse } from "node:http"

const orders: Array<string> = []
const waiting: Array<ServerResponse> = []

const server = createServer((request, response) => {
  const order = /^\/charges\/(\w+)$/.exec(request.url ?? "")?.[1]
  if (request.url === "/orders") {
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(orders))
  } else if (request.url === "/release") {
    for (const slow of waiting.splice(0)) slow.end()
    response.end()
  } else if (order !== undefined) {
    orders.push(order)
    if (order === "slow") waiting.push(response)
    else response.end()
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
