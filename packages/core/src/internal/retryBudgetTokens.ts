import * as InvalidOption from "../InvalidOption.js"
import type { Kind, Ledger, Outcome, Permit, TokensOptions } from "../RetryBudget.js"

/** In millionths of a token: what is refilled in a millisecond is then whole too. */
export interface Tokens {
  readonly amount: number
  /** The whole millisecond up to which it has been refilled. */
  readonly at: number
}

const mostTokens = 1e6

export const tokens = (options: TokensOptions = {}): Ledger<Tokens> => {
  const where = "RetryBudget.tokens"
  const millionths = (field: string, value: number, most = mostTokens) =>
    InvalidOption.thousandths(where, field, value, most) * 1000
  const capacity = millionths("capacity", options.capacity ?? 500)
  const initial = millionths("initial", options.initial ?? capacity / 1e6, capacity / 1e6)
  const success = millionths("success", options.success ?? 1)
  const perMillisecond = InvalidOption.thousandths(where, "refillPerSecond", options.refillPerSecond ?? 0, mostTokens)
  const refund = options.refund ?? true
  const failure = millionths("cost.failure", options.cost?.failure ?? 14)
  const cost: { readonly [kind in Kind]: number } = {
    failure,
    timeout: millionths("cost.timeout", options.cost?.timeout ?? failure / 1e6),
    throttled: millionths("cost.throttled", options.cost?.throttled ?? Math.min(5, failure / 1e6))
  }

  const refilled = ({ amount, at }: Tokens, now: number): number => {
    const passed = Math.max(0, Math.floor(now) - at)
    return Math.min(capacity, amount + passed * perMillisecond)
  }
  const changed = (state: Tokens, by: number, now: number): Tokens => ({
    amount: Math.min(capacity, refilled(state, now) + by),
    at: Math.max(state.at, Math.floor(now))
  })
  // A full bucket need not know how long it has been full.
  const given = (state: Tokens, amount: number, now: number): Tokens =>
    amount === 0 || state.amount === capacity ? state : changed(state, amount, now)
  const gift = (outcome: Outcome, permit: Permit | undefined): number => {
    if (outcome !== "success") return 0
    if (permit === undefined) return success
    return refund ? permit.amount : 0
  }
  return {
    name: "tokens",
    initial: (now) => ({ amount: initial, at: Math.floor(now) }),
    started: (state) => state,
    settled: (state, outcome, permit, now) => given(state, gift(outcome, permit), now),
    ended: (state) => state,
    retry(state, kind, now) {
      const amount = cost[kind]
      if (refilled(state, now) < amount) return undefined
      return { state: changed(state, -amount, now), permit: { slot: 0, amount } }
    },
    returned: (state, { amount }, now) => given(state, amount, now),
    balance: (state, now) => (cost.failure === 0 ? Infinity : Math.floor(refilled(state, now) / cost.failure))
  }
}
