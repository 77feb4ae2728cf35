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

  const refilled = (state: Tokens, now: number): Tokens => {
    const at = Math.floor(now)
    if (at <= state.at) return state
    return {
      at,
      amount: perMillisecond === 0 ? state.amount : Math.min(capacity, state.amount + (at - state.at) * perMillisecond)
    }
  }
  const given = (state: Tokens, amount: number): Tokens =>
    amount === 0 || state.amount === capacity ? state : { ...state, amount: Math.min(capacity, state.amount + amount) }
  const gift = (outcome: Outcome, permit: Permit | undefined): number => {
    if (outcome !== "success") return 0
    if (permit === undefined) return success
    return refund ? permit.amount : 0
  }
  return {
    name: "tokens",
    initial: (now) => ({ amount: initial, at: Math.floor(now) }),
    started: (state) => state,
    settled: (state, outcome, permit, now) => given(perMillisecond === 0 ? state : refilled(state, now), gift(outcome, permit)),
    ended: (state) => state,
    retry(state, kind, now) {
      const current = refilled(state, now)
      const amount = cost[kind]
      if (current.amount < amount) return undefined
      return { state: { ...current, amount: current.amount - amount }, permit: { slot: 0, amount } }
    },
    returned: (state, { amount }, now) => given(refilled(state, now), amount),
    balance: (state, now) => (cost.failure === 0 ? Infinity : Math.floor(refilled(state, now).amount / cost.failure))
  }
}
