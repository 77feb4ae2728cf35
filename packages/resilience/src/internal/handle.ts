/**
 * What an operation leaves in the fibers it runs, for as long as it runs. A daemon that was forked inside keeps the references of
 * its parent for ever; it finds the handle closed and looks further out.
 */
export interface Handle<A> {
  readonly value: A
  readonly outer: Handle<A> | undefined
  open: boolean
}

export const open = <A>(value: A, outer: Handle<A> | undefined): Handle<A> => ({ value, outer: current(outer), open: true })

export const close = (handle: Handle<unknown>): void => {
  handle.open = false
}

/** The innermost one that is still open. */
export const current = <A>(handle: Handle<A> | undefined): Handle<A> | undefined =>
  handle === undefined || handle.open ? handle : current(handle.outer)
