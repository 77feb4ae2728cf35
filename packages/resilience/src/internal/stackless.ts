/**
 * Makes an error without its stack: the capture costs ten times what the rest of a refusal does, and it would show nothing but
 * the inside of this package.
 */
export const stackless = <A>(make: () => A): A => {
  const { stackTraceLimit } = errors
  errors.stackTraceLimit = 0
  try {
    return make()
  } finally {
    errors.stackTraceLimit = stackTraceLimit
  }
}

/** V8's, and where it is another engine's, it does nothing. */
const errors: { stackTraceLimit?: unknown } = Error as never
