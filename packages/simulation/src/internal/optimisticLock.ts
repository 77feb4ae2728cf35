/**
 * The rule of a row under optimistic concurrency control, as a function of (state, read, now): a write succeeds if the version
 * that was read is still current. A version is current over [its write, the next write): a read at the very instant of a write
 * sees what was written, whichever of the two the clock runs first. Writes at one instant are taken one by one.
 */
export interface State {
  /** When the current version was written. */
  writtenAt: number
}

export const make = (): State => ({ writtenAt: -Infinity })

export const write = (state: State, readAt: number, now: number): "written" | "conflict" => {
  if (state.writtenAt > readAt) return "conflict"
  state.writtenAt = now
  return "written"
}
