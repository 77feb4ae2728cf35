import { RandomStream } from "@breakwater/core"

/**
 * The six-client storm as a plain event loop, from the rules of its model alone: no Effect, no schedule, no simulator. Only the
 * source of chance is shared, so that both see the same draws.
 */
export const sixClients = (
  seed: number,
  policy: { readonly wait: (n: number, random: () => number) => number; readonly maxAttempts: number }
): ReadonlyArray<{ readonly attempts: number; readonly succeededAt: number | undefined }> => {
  const horizon = 2000
  const clients = Array.from({ length: 6 }, (_, id) => ({
    random: RandomStream.make(seed, "client", id).next,
    attempts: 0,
    succeededAt: undefined as number | undefined
  }))
  type Client = (typeof clients)[number]
  type Call = { readonly start: number; doomed: boolean }
  const calls: Array<Call> = []
  const agenda: Array<{ readonly at: number; readonly order: number; readonly act: () => void }> = []
  let order = 0
  const plan = (at: number, act: () => void) => agenda.push({ at, order: order++, act })

  const attempt = (client: Client, now: number) => {
    if (now >= horizon) return
    client.attempts++
    const call = { start: now, doomed: false }
    calls.push(call)
    const inFlight = calls.filter(({ start }) => start <= now && now < start + 100)
    if (inFlight.length > 4) for (const other of inFlight) other.doomed = true
    plan(now + 100, () => outcome(client, call, now + 100))
  }
  const outcome = (client: Client, call: Call, now: number) => {
    if (!call.doomed) {
      if (now <= horizon) client.succeededAt = now
      return
    }
    const retries = client.attempts - 1
    const wait = policy.wait(retries, client.random)
    if (client.attempts < policy.maxAttempts) plan(now + wait, () => attempt(client, now + wait))
  }

  for (const client of clients) plan(0, () => attempt(client, 0))
  while (agenda.length > 0) {
    agenda.sort((a, b) => a.at - b.at || a.order - b.order)
    const next = agenda.shift()!
    if (next.at > horizon) break
    next.act()
  }
  return clients.map(({ attempts, succeededAt }) => ({ attempts, succeededAt }))
}

const bound = (n: number) => Math.min(800, 100 * 2 ** n)

export const policies = {
  atOnce: { wait: () => 0, maxAttempts: Infinity },
  exponential: { wait: bound, maxAttempts: Infinity },
  fullJitter: { wait: (n: number, random: () => number) => Math.floor(random() * (bound(n) + 1)), maxAttempts: 5 }
}
