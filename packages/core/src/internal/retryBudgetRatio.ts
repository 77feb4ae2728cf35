import * as InvalidOption from "../InvalidOption.js"
import type { Ledger, RatioOptions } from "../RetryBudget.js"
import * as Slots from "./slots.js"

const slotCount = 10

/** What one retry costs: 100 %, in thousandths, so that nothing drifts. */
const wholeRetry = 100_000

export const ratio = (options: RatioOptions = {}): Ledger<Slots.Slots> => {
  const where = "RetryBudget.ratio"
  const percent = InvalidOption.thousandths(where, "percent", options.percent ?? 10, 1000)
  const window = InvalidOption.wholeMillis(where, "window", options.window ?? 10_000, slotCount)
  const perSecond = InvalidOption.thousandths(where, "reservePerSecond", options.reservePerSecond ?? 1, 1e6)
  // Thousandths of a retry a second, for milliseconds, at 100,000 a retry.
  const reserve = Math.floor((perSecond * window) / 10)
  const of = options.of ?? "operations"
  if (of !== "operations" && of !== "attempts") {
    throw new InvalidOption.InvalidOption(where, "of", `"operations" or "attempts"`, of)
  }
  // Of all attempts: a retry is one of them, and so brings its own share.
  const cost = wholeRetry - (of === "attempts" ? percent : 0)
  const slotOf = (now: number) => Math.floor((now * slotCount) / window)
  const at = (state: Slots.Slots, now: number) => Slots.advance(state, slotOf(now))
  return {
    name: "ratio",
    initial: (now) => Slots.make(slotCount, slotOf(now)),
    started(state, now) {
      const advanced = at(state, now)
      return Slots.add(advanced, advanced.current, percent)
    },
    settled: (state) => state,
    ended: (state) => state,
    retry(state, _kind, now) {
      const advanced = at(state, now)
      if (reserve + advanced.total < cost) return undefined
      const permit = { slot: advanced.current, amount: cost }
      return { state: Slots.add(advanced, advanced.current, -cost), permit }
    },
    returned: (state, { amount, slot }) => Slots.add(state, slot, amount),
    balance: (state, now) => (cost > 0 ? Math.max(0, Math.floor((reserve + at(state, now).total) / cost)) : Infinity)
  }
}
