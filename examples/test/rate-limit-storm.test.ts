import { Effect } from "effect"
import { expect, it } from "vitest"
import { program } from "../src/rate-limit-storm.js"

it("everyone gets through either way; what it costs the server differs by sixty times", () => {
  const [quickly, asTold, spread] = Effect.runSync(program)
  expect([quickly?.attempts, asTold?.attempts]).toEqual([3020, 50])
  expect(spread?.attempts).toBeLessThan(100)
  for (const { succeeded } of [quickly!, asTold!, spread!]) expect(succeeded).toBe(20)
})
