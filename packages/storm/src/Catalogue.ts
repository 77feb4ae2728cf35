/**
 * Every storm there is, in the order in which they are run.
 *
 * @since 0.1.0
 */
import * as BreakerStorms from "./BreakerStorms.js"
import * as ClosedForms from "./ClosedForms.js"
import * as Metastable from "./Metastable.js"
import * as SixClients from "./SixClients.js"
import type { Storm } from "./Storm.js"
import * as TokenBuckets from "./TokenBuckets.js"

// -----------------------------------------------------------------------------
// catalogue
// -----------------------------------------------------------------------------

/**
 * All storms. A5 takes its 20,000 runs; the other distributions take as many as asked for, and state their bands by it.
 *
 * @example
 * ```ts
 * import { Catalogue } from "@breakwater/storm"
 *
 * // every distribution from 20,000 runs, in bands as narrow as that
 * const thorough = Catalogue.make({ replicas: 20_000 })
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
  ...BreakerStorms.storms
]

/**
 * @category catalogue
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm> = make()
