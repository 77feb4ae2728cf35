import * as InvalidOption from "../InvalidOption.js"
import type { InFlightOptions, Ledger } from "../RetryBudget.js"

export interface InFlight {
  readonly operations: number
  readonly retries: number
}

const one = { slot: 0, amount: 1 }

export const inFlight = (options: InFlightOptions = {}): Ledger<InFlight> => {
  const where = "RetryBudget.inFlight"
  const percent = InvalidOption.thousandths(where, "percent", options.percent ?? 20, 100)
  const minimum = InvalidOption.count(where, "minimum", options.minimum ?? 3)
  const limit = (operations: number) => Math.max(minimum, Math.floor((percent * operations) / 100_000))
  const done = (state: InFlight): InFlight => ({ ...state, retries: Math.max(0, state.retries - 1) })
  return {
    name: "inFlight",
    initial: () => ({ operations: 0, retries: 0 }),
    started: (state) => ({ ...state, operations: state.operations + 1 }),
    settled: (state, _outcome, permit) => (permit === undefined ? state : done(state)),
    ended: (state) => ({ ...state, operations: Math.max(0, state.operations - 1) }),
    retry: (state) =>
      state.retries < limit(state.operations) ? { state: { ...state, retries: state.retries + 1 }, permit: one } : undefined,
    returned: done,
    balance: ({ operations, retries }) => Math.max(0, limit(operations) - retries)
  }
}
