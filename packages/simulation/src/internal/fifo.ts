import type { Interval } from "../Trace.js"

/**
 * The rule of a queue before a number of servers, as functions of (state, event, now). First come, first served.
 *
 * ```text
 * arrival     full?  -> refused
 *             else   -> waits
 * free server head of the queue, past those that are not worth it -> works on it until now + takes
 * ```
 *
 * Instants are decided by intervals, so the order in which a clock runs what is due at one instant changes nothing: a server
 * works over [start, end), so an arrival at the very end of a call finds the server free; a caller waits over [arrival, leave],
 * so one that leaves at the very start of its call is still worked for.
 */
export interface Job {
  /** How long the work takes. */
  readonly takes: number
  /** Since when its caller has been gone; Infinity while it waits. */
  readonly call: { readonly goneAt: number }
}

export interface Options {
  readonly servers: number
  /** How many jobs may wait. */
  readonly limit: number
  /** Whether a job whose caller has gone is dropped when it comes to the head, instead of being worked on. */
  readonly dropExpired: boolean
  /** When no server begins a job. */
  readonly pause: Interval | undefined
}

export interface State<J extends Job> {
  readonly options: Options
  /** Those that wait are `jobs[head]` and what follows. */
  jobs: Array<J>
  head: number
  /** Until when each server works. */
  readonly busyUntil: Array<number>
}

export const make = <J extends Job>(options: Options): State<J> => ({
  options,
  jobs: [],
  head: 0,
  busyUntil: new Array<number>(options.servers).fill(0)
})

export const waiting = (state: State<Job>): number => state.jobs.length - state.head

export const isPaused = ({ options: { pause } }: State<Job>, now: number): boolean =>
  pause !== undefined && pause.from <= now && now < pause.to

/** Puts an arrival into the queue, if there is room once the free servers have taken what they take at this very instant. */
export const arrive = <J extends Job>(state: State<J>, job: J, now: number): "waits" | "refused" => {
  if (waiting(state) >= state.options.limit && isFull(state, now)) return "refused"
  state.jobs.push(job)
  return "waits"
}

const isFull = (state: State<Job>, now: number): boolean => {
  let free = isPaused(state, now) ? 0 : state.busyUntil.filter((until) => until <= now).length
  let next = state.head
  for (; free > 0 && next < state.jobs.length; next++) {
    const job = state.jobs[next]!
    // A job that takes no time leaves its server free.
    if (job.takes > 0 && !isExpired(state, job, now)) free--
  }
  return free === 0 && state.jobs.length - next >= state.options.limit
}

const isExpired = ({ options }: State<Job>, { call }: Job, now: number): boolean => options.dropExpired && call.goneAt < now

/** The job that a free server begins now, if there is one. */
export const begin = <J extends Job>(state: State<J>, server: number, now: number): J | undefined => {
  if (isPaused(state, now)) return undefined
  while (state.head < state.jobs.length) {
    const job = state.jobs[state.head++]!
    forget(state)
    if (isExpired(state, job, now)) continue
    state.busyUntil[server] = now + job.takes
    return job
  }
  return undefined
}

/** Gives up the space of those that have left, now and then. */
const forget = <J extends Job>(state: State<J>): void => {
  if (state.head < 1024 || 2 * state.head < state.jobs.length) return
  state.jobs = state.jobs.slice(state.head)
  state.head = 0
}
