import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { report } from "../src/deadlock.js"

describe("deadlock", () => {
  it("does not happen where one connection is free", () => {
    expect(Effect.runSync(report(3))).toBe("Done after 30 ms.")
  })

  it("is told with its time and the fibers that wait", () => {
    expect(Effect.runSync(report(2)).split("\n")).toEqual([
      "Deadlock at 20ms of virtual time: nothing is ready to run, nobody sleeps, and the program waits.",
      "  fiber 1 waits for fiber 2, or for something it made",
      "  fiber 2 waits",
      "  fiber 3 (order) waits",
      "  fiber 4 (invoice) waits"
    ])
  })
})
