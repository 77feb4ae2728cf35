/**
 * Amounts by when they came, in slots of equal length, of which each counts until as many as there are have begun after it. A
 * value; with as few slots as here a copy costs little.
 */
export interface Slots {
  /** The number of the slot that is current. */
  readonly current: number
  /** By age: the first is the current slot's. */
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
  const passed = current - slots.current
  if (passed <= 0) return slots
  const amounts = new Array<number>(slots.amounts.length).fill(0)
  let total = 0
  for (let age = passed; age < amounts.length; age++) total += amounts[age] = slots.amounts[age - passed]!
  return { current, amounts, total }
}

/** Adds an amount to a slot, if that still counts. */
export const add = (slots: Slots, slot: number, amount: number): Slots => {
  const age = slots.current - slot
  if (age >= slots.amounts.length || amount === 0) return slots
  const amounts = slots.amounts.slice()
  amounts[age]! += amount
  return { current: slots.current, amounts, total: slots.total + amount }
}
