/**
 * Amounts by when they came: a ring of slots of equal length, of which each counts until the ring has gone round. A value; with as
 * few slots as here a copy costs little.
 */
export interface Slots {
  /** The slot that is current. */
  readonly current: number
  readonly amounts: ReadonlyArray<number>
  readonly total: number
}

export const make = (count: number, current: number): Slots => ({
  current,
  amounts: new Array<number>(count).fill(0),
  total: 0
})

/** Moves on to a slot, and forgets those that have gone by. Time does not go back. */
export const advance = (slots: Slots, current: number): Slots => {
  if (current <= slots.current) return slots
  if (slots.total === 0 && slots.amounts.every((amount) => amount === 0)) return { ...slots, current }
  const count = slots.amounts.length
  if (current - slots.current >= count) return make(count, current)
  const amounts = slots.amounts.slice()
  let total = slots.total
  for (let slot = slots.current + 1; slot <= current; slot++) {
    total -= amounts[slot % count]!
    amounts[slot % count] = 0
  }
  return { current, amounts, total }
}

/** Adds an amount to a slot, if that still counts. */
export const add = (slots: Slots, slot: number, amount: number): Slots => {
  const count = slots.amounts.length
  if (slot <= slots.current - count || amount === 0) return slots
  const amounts = slots.amounts.slice()
  amounts[slot % count]! += amount
  return { current: slots.current, amounts, total: slots.total + amount }
}
