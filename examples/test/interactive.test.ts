import { VirtualTime } from "@breakwater/simulation"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { NotSold, showPrice, Unavailable } from "../src/interactive.js"

/** What the page shows, how often the service was called, and how long it took. */
const run = (answer: (attempt: number) => Effect.Effect<string, Unavailable | NotSold>) => {
  let attempts = 0
  const call = Effect.suspend(() => answer(++attempts))
  const [took, shown] = Effect.runSync(VirtualTime.run(Effect.timed(showPrice(call))))
  return { attempts, shown, took: Duration.toMillis(took) }
}

describe("interactive", () => {
  it("nobody notices a passing fault", () => {
    const { attempts, shown } = run((attempt) => (attempt === 1 ? new Unavailable({}) : Effect.succeed("12 €")))
    expect({ attempts, shown }).toEqual({ attempts: 2, shown: "It costs 12 €." })
  })

  it("says try again later after three short tries", () => {
    const { attempts, shown, took } = run(() => new Unavailable({}))
    expect({ attempts, shown }).toEqual({ attempts: 3, shown: "Please try again later." })
    expect(took).toBeLessThanOrEqual(300)
  })

  it("says so also when the service hangs", () => {
    const { attempts, shown, took } = run(() => Effect.never)
    expect({ attempts, shown }).toEqual({ attempts: 3, shown: "Please try again later." })
    expect(took).toBeLessThanOrEqual(3300)
  })

  it("passes on a time that is too long to wait for", () => {
    expect(run(() => new Unavailable({ retryAfter: Duration.seconds(30) }))).toEqual({
      attempts: 1,
      shown: "Please try again in 30s.",
      took: 0
    })
  })

  it("does not retry what is wrong for good", () => {
    expect(run(() => new NotSold())).toEqual({ attempts: 1, shown: "We do not sell that.", took: 0 })
  })
})
