/**
 * Every storm there is, in the order in which they are run.
 *
 * @since 0.1.0
 */
import * as SixClients from "./SixClients.js"
import type { Storm } from "./Storm.js"

/**
 * @category catalogue
 * @since 0.1.0
 */
export const storms: ReadonlyArray<Storm> = [
  SixClients.whatToRetry,
  SixClients.retryAtOnce,
  SixClients.exponentialBackoff,
  SixClients.fullJitter,
  SixClients.fullJitterManySeeds
]
