/**
 * The backend of this example, a process of its own: a shard for each tenant. That of `noisy` takes long to say that it is down; those
 * of the others refuse their first request, as a fault that passes, and then serve. It prints its port as one line of JSON and ends
 * with its parent.
 */
import { createServer } from "node:http"

const shards = new Map<string, { requests: number; running: number; mostAtOnce: number }>()

const server = createServer((request, response) => {
  if (request.url === "/report") {
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(Object.fromEntries(shards)))
    return
  }
  const tenant = request.url?.slice(1) ?? ""
  const shard = shards.get(tenant) ?? { requests: 0, running: 0, mostAtOnce: 0 }
  shards.set(tenant, shard)
  shard.requests++
  shard.mostAtOnce = Math.max(shard.mostAtOnce, ++shard.running)
  const isNoisy = tenant === "noisy"
  const status = isNoisy || shard.requests === 1 ? 503 : 200
  setTimeout(
    () => {
      shard.running--
      response.writeHead(status).end()
    },
    isNoisy ? 250 : 10
  )
})

const stop = () => process.exit()
process.once("SIGTERM", stop)
// The parent holds the other end and never writes: the end of the input is the end of the parent, however it died.
process.stdin.once("close", stop).resume()

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (address !== null && typeof address === "object") console.log(JSON.stringify({ port: address.port }))
})
