import { AdaptiveThrottle as Rule } from "@breakwater/core"
import { DurationOption } from "@breakwater/schedule"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Metric from "effect/Metric"
import * as Random from "effect/Random"
import type { AdaptiveThrottle, Options } from "../AdaptiveThrottle.js"
import { Throttled } from "../LocalRefusal.js"
import type { Arrival, Guard, Pass, Verdict } from "./guard.js"
import { counter, gauge } from "./metrics.js"
import * as Monotonic from "./monotonic.js"
import { stackless } from "./stackless.js"

export const TypeId = "~@breakwater/resilience/AdaptiveThrottle"

/** Where a throttle tells how it stands. */
interface Meters {
  readonly probability: Metric.Metric.Gauge<number> | undefined
  readonly rejections: Metric.Metric.Counter<number>
}

/** `many`: throttles that share a name tell no probability, since each would overwrite the other's. */
const metersOf = (throttle: string, many: boolean): Meters => ({
  probability: many ? undefined : gauge("adaptive_throttle_probability", "Of a call to be held back", { throttle }),
  rejections: counter("adaptive_throttle_rejections", "Calls that were held back", { throttle })
})

class Throttle implements AdaptiveThrottle, Guard<Throttled> {
  readonly [TypeId] = TypeId

  constructor(
    readonly name: string,
    private readonly rules: Rule.Rules,
    private readonly meters: Meters,
    private state: Rule.State
  ) {}

  get probability(): Effect.Effect<number> {
    return Effect.map(Monotonic.now, (now) => this.rules.probability(this.state, now))
  }

  admit({ now }: Arrival): Pass | Effect.Effect<Pass, Throttled> {
    const probability = this.rules.probability(this.state, now)
    this.meters.probability?.unsafeUpdate(probability, [])
    if (probability === 0) return this.pass
    return Effect.flatMap(Random.next, (chance) => {
      const { admitted, state } = this.rules.admit(this.state, chance, now)
      this.state = state
      if (admitted) return Effect.succeed(this.pass)
      this.meters.rejections.unsafeUpdate(1, [])
      return Effect.fail(stackless(() => new Throttled({ throttle: this.name, retryAfter: Duration.zero })))
    })
  }

  private readonly pass: Pass = {
    settle: (verdict, _, now) => {
      this.state = this.rules.settle(this.state, outcomeOf[verdict], now)
      return undefined
    }
  }
}

const outcomeOf: { readonly [verdict in Verdict]: Rule.Outcome } = {
  success: "accepted",
  answered: "accepted",
  failure: "overload",
  defect: "ignored",
  ignored: "ignored"
}

/** Checks the options at once; `many` are going to share their name. */
export const make = (options: Options = {}, many = options.name === undefined): Effect.Effect<AdaptiveThrottle> => {
  const rules = Rule.make({
    multiplier: options.multiplier,
    window: DurationOption.toMillisOrUndefined("AdaptiveThrottle.make", "window", options.window),
    maxProbability: options.maxProbability
  })
  const name = options.name ?? "default"
  const meters = metersOf(name, many)
  return Effect.map(Monotonic.now, (now) => new Throttle(name, rules, meters, rules.initial(now)))
}

/** Every throttle there is was made here. */
export const guardOf = (throttle: AdaptiveThrottle): Guard<Throttled> => throttle as Throttle
