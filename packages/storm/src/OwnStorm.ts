/**
 * A storm of your own: a service, its clients, and the policies that are to be compared in it. Unlike a storm of the catalogue it
 * has no figure that it must give; it is there to answer a question.
 *
 * ```text
 * OwnStorm + name of a policy -> Scenario -> Simulation -> Summary -> Comparison
 * ```
 *
 * @since 0.1.0
 */
import { InvalidOption } from "@breakwater/core"
import { type Clients, Scenario, type Service } from "@breakwater/simulation"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { didYouMean } from "./internal/nearest.js"

// -----------------------------------------------------------------------------
// models
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export const TypeId: TypeId = "~@breakwater/storm/OwnStorm"

/**
 * @category models
 * @since 0.1.0
 */
export type TypeId = "~@breakwater/storm/OwnStorm"

/**
 * @category models
 * @since 0.1.0
 */
export interface OwnStorm {
  readonly [TypeId]: TypeId
  readonly name: string
  readonly service: Service.Service
  readonly clients: Clients.Clients
  readonly until: Duration.Duration
  /** By name; at least one. */
  readonly policies: { readonly [name: string]: Policy }
}

/**
 * What clients do with a call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  readonly inWords: string
  /** See `Scenario`: an effect that makes it is run once for each run, for what clients share. */
  readonly client: Scenario.Scenario["client"]
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options extends Omit<OwnStorm, TypeId | "until"> {
  /** An attempt counts if it starts before, an outcome if it is there by then. */
  readonly until: Duration.DurationInput
}

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * A storm has no policy of this name.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownPolicy extends Data.TaggedError("UnknownPolicy")<{
  readonly storm: string
  readonly policy: string
  /** Those that it has. */
  readonly policies: ReadonlyArray<string>
}> {
  override get message(): string {
    const { policies, policy, storm } = this
    const [none, ...has] = [policy, ...policies].map((name) => JSON.stringify(name))
    return `The storm ${JSON.stringify(storm)} has no policy ${none}, it has ${has.join(", ")}.${didYouMean(policy, policies)}`
  }
}

// -----------------------------------------------------------------------------
// make
// -----------------------------------------------------------------------------

const where = "OwnStorm.make"

/**
 * Checks it too: a module without types may make one. A wrong option throws `InvalidOption`.
 *
 * @example
 * ```ts
 * import { Backoff, Jitter, Limit } from "@breakwater/schedule"
 * import { Clients, Service } from "@breakwater/simulation"
 * import { OwnStorm } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const exponential = Backoff.exponential({ base: "100 millis", cap: "800 millis" })
 *
 * const noon = OwnStorm.make({
 *   name: "checkout at noon",
 *   service: Service.capacity({ slots: 4, takes: "100 millis", above: "everything in flight times out" }),
 *   clients: Clients.together(6),
 *   until: "2 seconds",
 *   policies: {
 *     exponential: {
 *       inWords: "Waits 100 ms, 200 ms, 400 ms, ... up to 800 ms, 5 attempts.",
 *       client: Effect.retry(exponential.pipe(Limit.attempts(5)))
 *     },
 *     "full jitter": {
 *       inWords: "Waits a random time up to that, 5 attempts.",
 *       client: Effect.retry(exponential.pipe(Jitter.full, Limit.attempts(5)))
 *     }
 *   }
 * })
 * ```
 * @category make
 * @since 0.1.0
 */
export const make = (options: Options): OwnStorm => {
  const { clients, name, policies, service } = options
  text("name", name)
  if (!Predicate.hasProperty(service, "open")) throw invalid("service", "a service, such as Service.capacity gives", service)
  if (!Predicate.hasProperty(clients, "arrivals")) throw invalid("clients", "clients, such as Clients.together gives", clients)
  if (!Predicate.isRecord(policies) || Object.keys(policies).length === 0) {
    throw invalid("policies", "at least one policy by its name", "none")
  }
  for (const [name, policy] of Object.entries(policies)) {
    if (!Predicate.isRecord(policy)) throw invalid(`policies.${name}`, "{ inWords, client }", policy)
    text(`policies.${name}.inWords`, policy.inWords)
    if (!Predicate.isFunction(policy.client) && !Effect.isEffect(policy.client)) {
      throw invalid(`policies.${name}.client`, "a function of a call, or an effect that gives one", policy.client)
    }
  }
  return { [TypeId]: TypeId, name, service, clients, policies, until: untilOf(options) }
}

const invalid = (field: string, rule: string, value: unknown) => new InvalidOption.InvalidOption(where, field, rule, value)

const text = (field: string, value: unknown): void => {
  if (typeof value !== "string" || value.trim() === "") throw invalid(field, "a text that is not empty", value)
}

/** The rule is the scenario's, the name is ours. */
const untilOf = (options: Options): Duration.Duration => {
  try {
    return Scenario.make({ ...options, client: (call) => call }).until
  } catch (error) {
    if (!(error instanceof InvalidOption.InvalidOption)) throw error
    throw invalid(error.field, error.rule, error.value)
  }
}

/**
 * @category guards
 * @since 0.1.0
 */
export const isOwnStorm = (value: unknown): value is OwnStorm => Predicate.hasProperty(value, TypeId)

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * The storm under one of its policies.
 *
 * @example
 * ```ts
 * import { Simulation, Summary } from "@breakwater/simulation"
 * import { OwnStorm, StormFile } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const storm = yield* StormFile.load("noon.yaml")
 *   const scenario = yield* OwnStorm.scenario(storm, "full jitter")
 *   return Summary.of(yield* Simulation.run(scenario, { seed: 1 }))
 * })
 * ```
 * @category getters
 * @since 0.1.0
 */
export const scenario = (storm: OwnStorm, policy: string): Effect.Effect<Scenario.Scenario, UnknownPolicy> => {
  const { clients, name, policies, service, until } = storm
  const found = Object.hasOwn(policies, policy) ? policies[policy] : undefined
  return found === undefined
    ? Effect.fail(new UnknownPolicy({ storm: name, policy, policies: Object.keys(policies) }))
    : Effect.succeed(Scenario.make({ name: `${name}, ${policy}`, service, clients, client: found.client, until }))
}
