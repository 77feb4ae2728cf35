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
  const done = ({ operations, retries }: InFlight): InFlight => ({ operations, retries: Math.max(0, retries - 1) })
  return {
    name: "inFlight",
    initial: () => ({ operations: 0, retries: 0 }),
    started: ({ operations, retries }) => ({ operations: operations + 1, retries }),
    settled: (state, _outcome, permit) => (permit === undefined ? state : done(state)),
    ended: ({ operations, retries }) => ({ operations: Math.max(0, operations - 1), retries }),
    retry({ operations, retries }) {
      if (retries >= limit(operations)) return undefined
      return { state: { operations, retries: retries + 1 }, permit: one }
    },
    returned: done,
    balance: ({ operations, retries }) => Math.max(0, limit(operations) - retries)
  }
}
