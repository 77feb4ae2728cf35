/**
 * Every storm there is, in the order in which they are run.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as BreakerStorms from "./BreakerStorms.js"
import * as ClosedForms from "./ClosedForms.js"
import * as CongestiveCollapse from "./CongestiveCollapse.js"
import * as Contention from "./Contention.js"
import * as GoodRetryBadRetry from "./GoodRetryBadRetry.js"
import { didYouMean } from "./internal/nearest.js"
import * as Metastable from "./Metastable.js"
import * as OpenAndClosed from "./OpenAndClosed.js"
import * as ServerSays from "./ServerSays.js"
import * as SixClients from "./SixClients.js"
import type { Storm } from "./Storm.js"
import * as TokenBuckets from "./TokenBuckets.js"
import * as WaysOut from "./WaysOut.js"

// -----------------------------------------------------------------------------
// errors
// -----------------------------------------------------------------------------

/**
 * No storm of the catalogue has this name.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownStorm extends Data.TaggedError("UnknownStorm")<{ readonly id: string }> {
  override get message(): string {
    const ids = thorough.map(({ id }) => id)
    return `There is no storm ${JSON.stringify(this.id)}.${didYouMean(this.id, ids)} "breakwater list" names them all.`
  }
}

// -----------------------------------------------------------------------------
// catalogue
// -----------------------------------------------------------------------------

/**
 * The storms for every day. A5 takes its 20,000 runs; the other distributions take as many as asked for, and state their bands by it.
 *
 * @example
 * ```ts
 * import { Catalogue } from "@breakwater/storm"
 *
 * // every distribution from 20,000 runs, in bands as narrow as that
 * const narrow = Catalogue.make({ replicas: 20_000 })
 * ```
 * @category catalogue
 * @since 0.1.0
 */
export const make = (
  options: {
    /** Default: as many as take a few seconds. */
    readonly replicas?: number | undefined
  } = {}
): ReadonlyArray<Storm> => [
  SixClients.whatToRetry,
  SixClients.retryAtOnce,
  SixClients.exponentialBackoff,
  SixClients.fullJitter,
  SixClients.fullJitterManySeeds,
  ...SixClients.otherJitters({ replicas: options.replicas ?? 5000 }),
  ...SixClients.largerCrowds({ replicas: options.replicas ?? 2000 }),
  ...ClosedForms.storms,
  ...Metastable.storms,
  ...TokenBuckets.storms,
  ...BreakerStorms.storms,
  ...Contention.storms,
  ...OpenAndClosed.storms,
  ...CongestiveCollapse.storms,
  ...GoodRetryBadRetry.storms,
  ...ServerSays.storms,
  ...WaysOut.storms
]

/**
 * @category catalogue
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm> = make()

/**
 * All storms in full: every distribution from 20,000 runs, and the tables of which every day has a part. It takes many minutes.
 *
 * @category catalogue
 * @since 0.1.0
 */
export const thorough: ReadonlyArray<Storm> = [
  ...make({ replicas: 20_000 }),
  ...Metastable.longer,
  ...Contention.full,
  ...OpenAndClosed.full,
  ...CongestiveCollapse.full,
  ...GoodRetryBadRetry.full,
  ...WaysOut.full
]

// -----------------------------------------------------------------------------
// getters
// -----------------------------------------------------------------------------

/**
 * A storm by its name, whatever the case of its letters.
 *
 * @example
 * ```ts
 * import { Catalogue } from "@breakwater/storm"
 * import { Effect } from "effect"
 *
 * console.log(Effect.runSync(Catalogue.find("a4")).title) // Full jitter, one run
 * console.log(Effect.runSync(Effect.flip(Catalogue.find("A55"))).message.includes('Did you mean "A5"')) // true
 * ```
 * @category getters
 * @since 0.1.0
 */
export const find = (
  id: string,
  options: {
    /** Where it is looked for first. Default: among the storms for every day. */
    readonly in?: ReadonlyArray<Storm> | undefined
  } = {}
): Effect.Effect<Storm, UnknownStorm> => {
  const found = [...(options.in ?? storms), ...thorough].find((storm) => storm.id.toLowerCase() === id.toLowerCase())
  return found === undefined ? Effect.fail(new UnknownStorm({ id })) : Effect.succeed(found)
}
