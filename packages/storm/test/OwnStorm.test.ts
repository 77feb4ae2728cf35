import { InvalidOption } from "@breakwater/core"
import { Clients, Service, Simulation } from "@breakwater/simulation"
import * as OwnStorm from "@breakwater/storm/OwnStorm"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const options: OwnStorm.Options = {
  name: "two calls",
  service: Service.unlimited({ takes: "10 millis" }),
  clients: Clients.together(2),
  until: "1 second",
  policies: {
    once: { inWords: "One attempt.", client: (call) => call },
    shared: {
      inWords: "One attempt, made once for each run.",
      client: Effect.sync(() => (call: Effect.Effect<void, Service.Failure>) => call)
    }
  }
}

const refused = (wrong: object): string => {
  try {
    OwnStorm.make({ ...options, ...wrong })
  } catch (error) {
    if (error instanceof InvalidOption.InvalidOption) return error.message
  }
  return assert.fail("made all the same")
}

describe("an own storm", () => {
  it("is a scenario under each of its policies, named after both", () => {
    const storm = OwnStorm.make(options)
    for (const policy of ["once", "shared"]) {
      const scenario = Effect.runSync(OwnStorm.scenario(storm, policy))
      assert.strictEqual(scenario.name, `two calls, ${policy}`)
      assert.strictEqual(Effect.runSync(Simulation.run(scenario, { seed: 1 })).clients, 2)
    }
  })

  it("names its policies to who asks for another, the nearest too", () => {
    const error = Effect.runSync(Effect.flip(OwnStorm.scenario(OwnStorm.make(options), "onec")))
    assert.strictEqual(error._tag, "UnknownPolicy")
    assert.deepStrictEqual(error.policies, ["once", "shared"])
    assert.include(error.message, `The storm "two calls" has no policy "onec", it has "once", "shared".`)
    assert.match(error.message, /did you mean "once"\?/i)
    assert.strictEqual(Effect.runSync(Effect.flip(OwnStorm.scenario(OwnStorm.make(options), "toString")))._tag, "UnknownPolicy")
  })

  it.each([
    [{ name: " " }, `OwnStorm.make: name must be a text that is not empty, got " "`],
    [{ until: 0 }, "OwnStorm.make: until must be above 0, got 0"],
    [{ service: {} }, "OwnStorm.make: service must be a service, such as Service.capacity gives, got [object Object]"],
    [{ clients: 6 }, "OwnStorm.make: clients must be clients, such as Clients.together gives, got 6"],
    [{ policies: {} }, `OwnStorm.make: policies must be at least one policy by its name, got "none"`],
    [{ policies: { a: undefined } }, "OwnStorm.make: policies.a must be { inWords, client }, got undefined"],
    [{ policies: { a: { inWords: "" } } }, `OwnStorm.make: policies.a.inWords must be a text that is not empty, got ""`],
    [
      { policies: { a: { inWords: "a", client: 5 } } },
      "OwnStorm.make: policies.a.client must be a function of a call, or an effect that gives one, got 5"
    ]
  ])("refuses %j", (wrong, message) => assert.strictEqual(refused(wrong), message))

  it("is known from anything else", () => {
    assert.isTrue(OwnStorm.isOwnStorm(OwnStorm.make(options)))
    assert.isFalse(OwnStorm.isOwnStorm(options))
  })
})
