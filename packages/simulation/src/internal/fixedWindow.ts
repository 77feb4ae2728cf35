/** The rule of a rate limit over fixed windows [0, per), [per, 2 per), ..., as a function of (state, now). */
export interface State {
  window: number
  used: number
}

export const make = (): State => ({ window: 0, used: 0 })

/** Takes a permit, or tells how long the next window is away. */
export const take = (state: State, permits: number, per: number, now: number): "admitted" | number => {
  const window = Math.floor(now / per)
  if (window !== state.window) {
    state.window = window
    state.used = 0
  }
  if (state.used >= permits) return (window + 1) * per - now
  state.used++
  return "admitted"
}
