import * as InvalidOption from "../InvalidOption.js"
import type { Ledger, ThrottleOptions } from "../RetryBudget.js"

/** What a failure takes, in thousandths. */
const oneToken = 1000

const nothing = { slot: 0, amount: 0 }

/** The state is the tokens, in thousandths. */
export const throttle = (options: ThrottleOptions = {}): Ledger<number> => {
  const where = "RetryBudget.throttle"
  const most = InvalidOption.between(where, "maxTokens", options.maxTokens ?? 10, 1, 1000)
  const capacity = InvalidOption.thousandths(where, "maxTokens", most, 1000)
  // Not 0: what has paused would never go on.
  const ratio = InvalidOption.between(where, "tokenRatio", options.tokenRatio ?? 0.1, 0.001, 1000)
  const success = InvalidOption.thousandths(where, "tokenRatio", ratio, 1000)
  const isPaused = (tokens: number) => tokens * 2 <= capacity
  return {
    name: "throttle",
    initial: () => capacity,
    started: (tokens) => tokens,
    settled(tokens, outcome) {
      if (outcome === "success") return Math.min(capacity, tokens + success)
      return outcome === "failure" ? Math.max(0, tokens - oneToken) : tokens
    },
    ended: (tokens) => tokens,
    retry: (tokens) => (isPaused(tokens) ? undefined : { state: tokens, permit: nothing }),
    returned: (tokens) => tokens,
    balance: (tokens) => (isPaused(tokens) ? 0 : Infinity)
  }
}
