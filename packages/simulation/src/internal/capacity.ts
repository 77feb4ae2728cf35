/**
 * The rule of a service with a number of slots, as functions of (state, event, now). A call is in flight over [start, until): one
 * that starts at the very instant another ends does not meet it.
 */
export interface InFlight {
  readonly until: number
  doomed: boolean
}

/** Forgets the calls that are over. */
export const release = (inFlight: Array<InFlight>, now: number): void => {
  let kept = 0
  for (const call of inFlight) if (call.until > now) inFlight[kept++] = call
  inFlight.length = kept
}

/** A call starts whether or not there is a slot; one too many dooms every call then in flight. */
export const overload = (inFlight: Array<InFlight>, slots: number, now: number, until: number): InFlight => {
  release(inFlight, now)
  const call = { until, doomed: false }
  inFlight.push(call)
  if (inFlight.length > slots) for (const other of inFlight) other.doomed = true
  return call
}

/** A call starts if there is a slot, and is refused otherwise. */
export const refuse = (inFlight: Array<InFlight>, slots: number, now: number, until: number): InFlight | undefined => {
  release(inFlight, now)
  if (inFlight.length >= slots) return undefined
  const call = { until, doomed: false }
  inFlight.push(call)
  return call
}
