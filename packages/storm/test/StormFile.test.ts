import { Simulation, Summary, Trace } from "@breakwater/simulation"
import * as OwnStorm from "@breakwater/storm/OwnStorm"
import * as StormFile from "@breakwater/storm/StormFile"
import { FileSystem, Path } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"

type Needs = FileSystem.FileSystem | Path.Path

const run = <A, E>(effect: Effect.Effect<A, E, Needs>): Promise<A> =>
  Effect.runPromise(Effect.provide(effect, NodeContext.layer) as Effect.Effect<A, E>)

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

/** Loads a text as a file of this name. */
const loaded = (name: string, text: string, set?: StormFile.Parameters) =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const file = (yield* Path.Path).join(yield* fileSystem.makeTempDirectoryScoped(), name)
    yield* fileSystem.writeFileString(file, text)
    return yield* StormFile.load(file, { set })
  }).pipe(Effect.scoped)

/** Its problems, one in a line, without the directory. */
const problems = async (name: string, text: string, set?: StormFile.Parameters): Promise<ReadonlyArray<string>> => {
  const error = await run(Effect.flip(loaded(name, text, set)))
  return error.message.split("\n").map((line) => line.replace(/^\S*\//, ""))
}

const traces = (storm: OwnStorm.OwnStorm) =>
  Effect.forEach(Object.keys(storm.policies), (policy) =>
    Effect.flatMap(OwnStorm.scenario(storm, policy), (scenario) => Simulation.run(scenario, { seed: 3 }))
  ).pipe(Effect.map((traces) => traces.map(Trace.toText)))

// -----------------------------------------------------------------------------
// what is right
// -----------------------------------------------------------------------------

describe("a file of data", () => {
  it("is the same storm in YAML and in JSON", async () => {
    const [yaml, json] = await run(Effect.all([StormFile.load(fixture("noon.yaml")), StormFile.load(fixture("noon.json"))]))
    assert.deepStrictEqual(await run(traces(yaml)), await run(traces(json)))
    // The one has what it merges after its own.
    for (const policy of ["exponential", "v1.2"]) {
      assert.strictEqual(yaml.policies[policy]!.inWords, json.policies[policy]!.inWords)
    }
  })

  it("says in words what each policy is made of", async () => {
    const { clients, policies, service } = await run(StormFile.load(fixture("noon.json")))
    assert.deepStrictEqual(
      Object.entries(policies).map(([name, { inWords }]) => `${name}: ${inWords}`),
      [
        "exponential: Exponential backoff (base 100 millis, cap 800 millis), 5 attempts.",
        "full jitter: Exponential backoff (base 100 millis, cap 800 millis), 5 attempts, full jitter.",
        "v1.2: Grpc preset (max attempts 3), ratio budget, breaker (trip policy (consecutive 20), open duration 200 millis)."
      ]
    )
    assert.include(service.description, "no answer from 1s to 1s 200ms")
    assert.strictEqual(clients.description, "6 clients, all at once")
  })

  it("gives four waves of six clients with exponential backoff, the last of which the outage swallows", async () => {
    const storm = await run(StormFile.load(fixture("noon.yaml")))
    const scenario = await run(OwnStorm.scenario(storm, "exponential"))
    const { attempts, succeeded } = Summary.of(await run(Simulation.run(scenario, { seed: 1 })))
    assert.deepStrictEqual([attempts, succeeded], [24, 0])
  })

  it("may use every part of the vocabulary", async () => {
    const storm = await run(loaded("storm.yaml", everything))
    for (const policy of Object.keys(storm.policies)) {
      const scenario = await run(OwnStorm.scenario(storm, policy))
      const trace = await run(Simulation.checkDeterminism(scenario, { seed: 1 }))
      assert.isAbove(trace.events.length, 0)
    }
  })

  it.each([
    "capacity: { slots: 4, takes: 100 millis, above: refuse }",
    "queue: { servers: 2, takes: { exponential: { mean: 5 millis } }, limit: 9, dropExpired: true, pause: { from: 0 seconds, to: 1 second } }",
    "rateLimited: { permits: 5, per: 1 second, takes: { normal: { mean: 5 millis, deviation: 1 millis } } }",
    "unlimited: { takes: { empirical: [[0, 1 millis], [1, 9 millis]] } }"
  ])("has the model of a service %s", async (model) => {
    const text = minimal.replace("unlimited: { takes: 20 millis }", model)
    assert.isAbove((await run(Effect.flatMap(loaded("storm.yaml", text), traces))).length, 0)
  })

  it.each([
    "together: 6",
    "staggered: { count: 3, every: 10 millis }",
    "at: [0 seconds, 10 millis]",
    "closedLoop: { clients: 2, think: { uniform: { min: 1 millis, max: 9 millis } }, operations: 3 }",
    "evenlySpaced: { rate: 40 }",
    "openLoop: { rate: 40 }",
    "flashCrowd: { rate: 40, spike: 80, from: 100 millis, to: 200 millis }"
  ])("has the clients %s", async (clients) => {
    const text = minimal.replace("together: 1", clients)
    assert.isAbove((await run(Effect.flatMap(loaded("storm.yaml", text), traces))).length, 0)
  })

  it("gives each client a policy of its own where it says so", async () => {
    const attempts = async (sharedBy: string) => {
      const storm = await run(loaded("storm.yaml", breakers.replace("SHARED", sharedBy)))
      const scenario = await run(OwnStorm.scenario(storm, "patient"))
      return Summary.of(await run(Simulation.run(scenario, { seed: 1 }))).attempts
    }
    // One breaker opens after two failures of anybody; four open after two of their own client.
    assert.strictEqual(await attempts("all clients"), 2)
    assert.strictEqual(await attempts("each client"), 8)
  })
})

const minimal = `name: small
service: { unlimited: { takes: 20 millis } }
clients: { together: 1 }
until: 1 second
policies: { none: {} }
`

const breakers = `name: down
service: { outage: { from: 0 seconds, to: 1 minute, how: 503 }, unlimited: { takes: 20 millis } }
clients: { closedLoop: { clients: 4, think: 10 millis } }
until: 1 second
policies:
  patient: { breaker: { tripPolicy: { consecutive: 2 }, openDuration: 1 minute }, sharedBy: SHARED }
`

const everything = `name: everything
service:
  unlimited: { takes: { logNormal: { median: 20 millis, sigma: 0.5 } } }
  failing: { share: 0.2, how: { status: 429, retryAfter: 50 millis } }
  outage:
    - { from: 100 millis, to: 200 millis, how: hang }
    - { from: 300 millis, to: 400 millis, how: time-out }
  hop: 1 millis
clients: { openLoop: { rate: 100 } }
until: 1 second
policies:
  linear: { backoff: { linear: { base: 10 millis, increment: 5 millis, cap: infinity } }, jitter: equal, retries: 2, deadline: 1 second }
  fibonacci: { backoff: { fibonacci: { base: 10 millis, immediateFirst: true } }, jitter: { proportional: 0.2 }, elapsed: 1 second }
  decorrelated: { backoff: { decorrelated: { base: 10 millis } }, attempts: 3, attemptTimeout: 100 millis, idempotent: false }
  constant:
    backoff: { constant: { delay: 10 millis } }
    attempts: 3
    respectRetryAfter: true
    retryOn: [429, time-out]
    attemptTimeout: { falseTimeouts: 0.01, ceiling: 200 millis }
    minimumAttemptTime: 1 millis
  longer: { backoff: { constant: { delay: 10 millis } }, respectRetryAfter: { max: 1 second, beyond: clamp }, attempts: 3 }
  tokens: { preset: interactive, budget: { tokens: { capacity: 10, cost: { failure: 1 }, refund: false } }, throttle: true }
  throttle: { preset: batch, budget: throttle, throttle: { multiplier: 1.5 } }
  in flight: { preset: awsStandard2026, budget: inFlight, bulkhead: { permits: 2, queue: 3, maxWait: 20 millis } }
  fixed rate: { preset: awsStandardBefore2026, budget: { fixedRate: { retries: 5, per: 1 second } } }
  polly: { preset: { polly: { backoffType: exponential, delay: 10 millis } }, breaker: { tripPolicy: { failures: { failures: 5, window: 1 second } } } }
  resilience4j:
    preset: resilience4j
    breaker:
      tripPolicy:
        - { failureRate: { threshold: 0.5, minimumCalls: 5, window: { calls: 10 } } }
        - { slowCallRate: { threshold: 0.5, minimumCalls: 5, window: 1 second, slowerThan: 30 millis } }
      openDuration: { exponential: { base: 50 millis } }
  tenacity: { preset: { tenacityRandomExponential: { max: 50 millis } }, attempts: 3 }
  tenacity two: { preset: tenacityExponentialJitter, attempts: 3 }
  brooker: { preset: { brookerDecorrelated: { base: 5 millis, cap: 50 millis } }, attempts: 3 }
`

describe("a module", () => {
  it("is loaded with its types, whatever it imports", async () => {
    const storm = await run(StormFile.load(fixture("noon.ts")))
    assert.strictEqual(storm.name, "noon, in a module")
    assert.strictEqual(Summary.of(Trace.operations.length > 0 ? await firstRun(storm) : assert.fail()).attempts, 12)
  })

  it("may be the storm itself, and plain JavaScript", async () => {
    const storm = await run(StormFile.load(fixture("constant.mjs")))
    assert.strictEqual(storm.clients.description, "4 clients, all at once")
  })

  it("gets what is set as the argument of its function", async () => {
    const storm = await run(StormFile.load(fixture("noon.ts"), { set: { clients: 8 } }))
    assert.strictEqual(storm.clients.description, "8 clients, all at once")
  })

  it("that is no function has nothing to set", async () => {
    const error = await run(Effect.flip(StormFile.load(fixture("constant.mjs"), { set: { clients: 8 } })))
    assert.strictEqual(error._tag, "StormFileUnknownParameter")
    assert.include(error.message, `has no parameters, so "clients" cannot be set`)
  })

  it.each([
    ["syntax", "export default {\n  a: )\n}", /^storm\.ts:2:6 ParseError: Unexpected token/],
    [
      "throws",
      "interface A { a: number }\n\nexport default (a: A) => {\n  throw new Error(`not ${a}`)\n}",
      /^storm\.ts:4:9 not \[object/
    ],
    ["no default", "export const storm = 5", /^storm\.ts must export as default what OwnStorm.make gives, or a function/],
    [
      "another default",
      "export default () => ({ name: 'x' })",
      /OwnStorm.make gives, or a function that gives it, got {"name":"x"}/
    ],
    ["an import that is not there", `import "./nowhere.js"\nexport default 5`, /Cannot find module '.\/nowhere.js'/],
    [
      "a wrong option",
      `import { Clients } from "@breakwater/simulation"\n\nexport default Clients.together(0)`,
      /^storm\.ts:3:\d+ Clients.together: count must be a whole number, at least 1, got 0/
    ]
  ])("that has %s says where", async (_, text, expected) => assert.match((await problems("storm.ts", text))[0]!, expected))
})

const firstRun = (storm: OwnStorm.OwnStorm) =>
  run(
    Effect.flatMap(OwnStorm.scenario(storm, Object.keys(storm.policies)[0]!), (scenario) =>
      Simulation.run(scenario, { seed: 1 })
    )
  )

describe("a template", () => {
  it.each([
    ["yaml", "storm.yaml"],
    ["typescript", "storm.ts"]
  ] as const)("in %s loads and runs", async (kind, name) => {
    const storm = await run(loaded(name, StormFile.template(kind)))
    assert.isAtLeast(Object.keys(storm.policies).length, 4)
    for (const trace of await run(traces(storm))) assert.include(trace, "AttemptEnded")
  })
})

// -----------------------------------------------------------------------------
// what is wrong
// -----------------------------------------------------------------------------

const timeRule = `a time with its unit, such as "100 millis" or "2 seconds"`

describe("what is wrong in a file is told with its line, its field and the rule", () => {
  const wrong: ReadonlyArray<readonly [string, string, string]> = [
    ["together: 1", "together: 0", "storm.yaml:3:22 clients.together must be a whole number, at least 1, got 0."],
    ["together: 1", "together: six", `storm.yaml:3:22 clients.together must be a number, got "six".`],
    [
      "together: 1",
      "togehter: 1",
      "storm.yaml:3:12 clients.togehter is unknown here, where there can be together, staggered, at, closedLoop, " +
        `evenlySpaced, openLoop, flashCrowd. Did you mean "together"?`
    ],
    [
      "together: 1",
      "together: 1, openLoop: { rate: 3 }",
      "storm.yaml:3:1 clients must be exactly one of together, staggered, at, closedLoop, evenlySpaced, openLoop, " +
        `flashCrowd, got "together and openLoop".`
    ],
    ["20 millis", "20 ms", `storm.yaml:2:32 service.unlimited.takes must be ${timeRule}, got "20 ms".`],
    ["20 millis", "-20 millis", `storm.yaml:2:32 service.unlimited.takes must be ${timeRule}, got "-20 millis".`],
    ["20 millis", "20", `storm.yaml:2:32 service.unlimited.takes must be ${timeRule}, got 20.`],
    [
      "takes: 20 millis",
      "",
      `storm.yaml:2:12 service.unlimited.takes is missing: ${timeRule}, or one of uniform, exponential, normal, logNormal, empirical.`
    ],
    [
      "{ unlimited: { takes: 20 millis } }",
      "{ failing: { share: 1 } }",
      "storm.yaml:2:1 service must be exactly one of capacity, queue, rateLimited, unlimited, got nothing."
    ],
    [
      "unlimited: { takes: 20 millis }",
      "capacity: { slots: 4, takes: 1 second, above: refuze }",
      `storm.yaml:2:58 service.capacity.above must be "everything in flight times out" or "refuse", got "refuze". Did you mean "refuse"?`
    ],
    [
      "takes: 20 millis }",
      "takes: 20 millis }, outage: { from: 2 seconds, to: 1 second, how: 503 }",
      `storm.yaml:2:76 service.outage.to must be after from, got "1 second".`
    ],
    [
      "takes: 20 millis }",
      "takes: 20 millis }, outage: { from: 0 seconds, to: 1 second, how: hnag }",
      `storm.yaml:2:91 service.outage.how must be a status from 400 to 599, or a mapping of status, retryAfter, or "hang" or ` +
        `"time-out", got "hnag". Did you mean "hang"?`
    ],
    [
      "takes: 20 millis }",
      "takes: 20 millis }, failing: { share: 1, how: 200 }",
      "storm.yaml:2:71 service.failing.how must be a status from 400 to 599, got 200."
    ],
    ["until: 1 second", "until: 0 seconds", `storm.yaml:4:8 until must be above 0, got "0 seconds".`],
    ["until: 1 second", "untill: 1 second", `storm.yaml:1:1 until is missing: ${timeRule}.`],
    ["name: small", "name: ''", `storm.yaml:1:7 name must be a text that is not empty, got "".`],
    ["policies: { none: {} }", "policies: {}", `storm.yaml:5:1 policies must be at least one policy by its name, got {}.`],
    [
      "{ none: {} }",
      "{ a: { attempts: 3 } }",
      "storm.yaml:5:28 policies.a.attempts must be left out, or have a backoff or a preset beside it, got 3."
    ],
    [
      "{ none: {} }",
      "{ a: { preset: grpc, jitter: full } }",
      `storm.yaml:5:40 policies.a.jitter must be left out beside a preset, which has its own, got "full".`
    ],
    [
      "{ none: {} }",
      "{ a: { preset: grpc, backoff: { constant: { delay: 1 second } } } }",
      `storm.yaml:5:26 policies.a.preset must be left out beside a backoff, got "grpc".`
    ],
    ["{ none: {} }", "{ a: { preset: gprc } }", `Did you mean "grpc"?`],
    [
      "{ none: {} }",
      "{ a: { backoff: { constant: { delay: 1 second } }, jitter: { proportional: 2 } } }",
      "storm.yaml:5:86 policies.a.jitter.proportional must be a number from 0 to 1, got 2."
    ],
    [
      "{ none: {} }",
      "{ a: { bulkhead: { permits: 0 } } }",
      "storm.yaml:5:39 policies.a.bulkhead.permits must be a whole number, at least 1, or Infinity, got 0."
    ],
    [
      "{ none: {} }",
      "{ a: { throttle: 4 } }",
      "storm.yaml:5:28 policies.a.throttle must be true, or a mapping of multiplier, window, maxProbability, got 4."
    ],
    [
      "{ none: {} }",
      "{ a: { breaker: { tripPolicy: { consecutive: 5 }, jitter: 3 } } }",
      "storm.yaml:5:69 policies.a.breaker.jitter must be a number from 0 to 1, got 3."
    ],
    [
      "{ none: {} }",
      "{ a: { budget: { ratio: { percent: -1 } } } }",
      "storm.yaml:5:46 policies.a.budget.ratio.percent must be a number from 0 to 1000 with at most three decimals, got -1."
    ],
    [
      "{ none: {} }",
      "{ a: { sharedBy: nobody } }",
      `storm.yaml:5:28 policies.a.sharedBy must be "all clients" or "each client", got "nobody".`
    ],
    ["name: small", "name: [", "storm.yaml:2:1 Flow sequence"],
    ["name: small", "name: small\nname: large", "storm.yaml:2:1 Map keys must be unique"],
    ["until: 1 second", "until: *soon", "storm.yaml:4:8 the anchor &soon must be set before its alias *soon."]
  ]

  it.each(wrong)("%s -> %s", async (right, wrong, expected) => {
    const text = minimal.replace(right, wrong)
    assert.notStrictEqual(text, minimal)
    const found = await problems("storm.yaml", text)
    assert.isTrue(
      found.some((problem) => problem.includes(expected)),
      found.join("\n")
    )
  })

  it("all of it at once, in the order of the file", async () => {
    const text = minimal
      .replace("20 millis", "soon")
      .replace("together: 1", "together: 0")
      .replace("{ none: {} }", "{ a: { retries: x } }")
    const found = await problems("storm.yaml", text)
    assert.deepStrictEqual(
      found.map((problem) => problem.split(" ").slice(0, 2)),
      [
        ["storm.yaml:2:32", "service.unlimited.takes"],
        ["storm.yaml:3:22", "clients.together"],
        ["storm.yaml:5:27", "policies.a.retries"]
      ]
    )
  })

  it("in JSON too", async () => {
    const text = `{\n\t"name": "x",\n\t"until": "soon"\n}`
    assert.include(await problems("storm.json", text), `storm.json:3:11 until must be ${timeRule}, got "soon".`)
  })

  it("where the field was merged from an anchor", async () => {
    const text = minimal.replace(
      "policies: { none: {} }",
      "policies:\n  a: &a\n    bulkhead: { permits: 0 }\n  b:\n    <<: *a\n    deadline: 1 second"
    )
    assert.include(
      await problems("storm.yaml", text),
      "storm.yaml:7:26 policies.b.bulkhead.permits must be a whole number, at least 1, or Infinity, got 0."
    )
  })

  it("an empty file", async () => {
    assert.deepStrictEqual(await problems("storm.yaml", ""), [
      "storm.yaml:1:1 must be a mapping of name, service, clients, until, policies, got nothing."
    ])
  })

  it("a file that is not there, or of another kind", async () => {
    const load = (file: string) => run(Effect.flip(StormFile.load(file)))
    assert.strictEqual(
      (await load("/nowhere/storm.yaml")).message,
      "/nowhere/storm.yaml cannot be read: there is no such file."
    )
    const { _tag, message } = await load("storm.yamll")
    assert.strictEqual(_tag, "StormFileUnreadable")
    assert.include(message, "its name must end in one of .yaml, .yml, .json, .ts, .mts, .js, .mjs.")
  })
})

describe("a parameter", () => {
  const load = (set: StormFile.Parameters) => StormFile.load(fixture("noon.yaml"), { set })

  it("takes the place of what stands in the file", async () => {
    const storm = await run(
      load({ "clients.together": 8, "policies.full jitter.attempts": 7, "service.outage.from": "0.5 seconds" })
    )
    assert.strictEqual(storm.clients.description, "8 clients, all at once")
    assert.include(storm.policies["full jitter"]!.inWords, "7 attempts")
    // What has been merged elsewhere stays.
    assert.include(storm.policies["exponential"]!.inWords, "5 attempts")
    assert.include(storm.service.description, "no answer from 500ms")
  })

  it("may go through a name with dots, and through lists", async () => {
    const storm = await run(load({ "policies.v1.2.breaker.tripPolicy.0.consecutive": 7 }))
    assert.include(storm.policies["v1.2"]!.inWords, "consecutive 7")
  })

  it("has to be there", async () => {
    const error = await run(Effect.flip(load({ "clients.togehter": 8 })))
    assert.strictEqual(error._tag, "StormFileUnknownParameter")
    assert.include(error.message, `noon.yaml has no "clients.togehter" to set: what is to be varied has to stand there.`)
    assert.match(error.message, /did you mean "clients.together"/i)
  })

  it("of a wrong value is told as one that was set", async () => {
    const error = await run(Effect.flip(load({ "clients.together": 0 })))
    assert.match(error.message, /noon\.yaml clients\.together was set and must be a whole number, at least 1, got 0\.$/)
  })
})
