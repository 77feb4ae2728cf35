/**
 * The server of this example, a process of its own. Each path refuses its first request and serves the next; one that comes while
 * the quota is still used up is refused again. It prints its port as one line of JSON and ends with its parent.
 */
import { createServer } from "node:http"

/** How each path says no: the status, when its quota starts afresh, and the headers that tell. Milliseconds since 1970. */
const refusals: Record<string, (now: number) => { status: number; opensAt: number; headers: Record<string, string> }> = {
  // Seconds from now, in the one field of the IETF draft.
  ietf: (now) => ({ status: 429, opensAt: now + 1000, headers: { ratelimit: '"default";r=0;t=1' } }),
  // A second since 1970, which is over when the next one begins.
  github: (now) => {
    const second = Math.floor(now / 1000)
    const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(second) }
    return { status: 429, opensAt: (second + 1) * 1000, headers }
  },
  // Two quotas with durations. The tokens are not used up: their six minutes are no reason to wait.
  openai: (now) => ({
    status: 429,
    opensAt: now + 1000,
    headers: {
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-remaining-tokens": "149984",
      "x-ratelimit-reset-tokens": "6m0s"
    }
  }),
  // Not a matter of quota at all: many servers send these headers with every answer.
  busy: (now) => ({ status: 503, opensAt: now, headers: { "x-ratelimit-remaining": "41", "x-ratelimit-reset": "360" } })
}

const opensAt = new Map<string, number>()
const requests: Array<{ dialect: string; status: number; at: number; headers: Record<string, string> }> = []

const server = createServer((request, response) => {
  const at = Date.now()
  if (request.url === "/requests") {
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(requests))
    return
  }
  const dialect = request.url?.slice(1) ?? ""
  const refusal = refusals[dialect]?.(at)
  if (refusal === undefined) {
    response.writeHead(404).end()
    return
  }
  const open = at >= (opensAt.get(dialect) ?? Infinity)
  if (!opensAt.has(dialect)) opensAt.set(dialect, refusal.opensAt)
  const { headers, status } = open ? { headers: {}, status: 200 } : refusal
  requests.push({ dialect, status, at, headers })
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
