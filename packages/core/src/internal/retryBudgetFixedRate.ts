import * as InvalidOption from "../InvalidOption.js"
import type { FixedRateOptions, Ledger } from "../RetryBudget.js"
import * as Slots from "./slots.js"

/** So many slots make up the span. One more is counted, so that what a slot holds is certainly out of the span when it goes. */
const slotsOfSpan = 60

export const fixedRate = (options: FixedRateOptions = {}): Ledger<Slots.Slots> => {
  const where = "RetryBudget.fixedRate"
  const retries = InvalidOption.count(where, "retries", options.retries ?? 60)
  const per = InvalidOption.wholeMillis(where, "per", options.per ?? 60_000, 1)
  const slotOf = (now: number) => Math.floor((now * slotsOfSpan) / per)
  const at = (state: Slots.Slots, now: number) => Slots.advance(state, slotOf(now))
  return {
    name: "fixedRate",
    initial: (now) => Slots.make(slotsOfSpan + 1, slotOf(now)),
    started: (state) => state,
    settled: (state) => state,
    ended: (state) => state,
    retry(state, _kind, now) {
      const advanced = at(state, now)
      if (advanced.total >= retries) return undefined
      return { state: Slots.add(advanced, advanced.current, 1), permit: { slot: advanced.current, amount: 1 } }
    },
    returned: (state, { amount, slot }) => Slots.add(state, slot, -amount),
    balance: (state, now) => retries - at(state, now).total
  }
}
