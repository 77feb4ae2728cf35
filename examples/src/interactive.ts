/**
 * A page with someone waiting for a price: a few short tries, then "try again later" instead of a spinner.
 *
 * By hand, after `npm run build`: `npx jiti examples/src/interactive.ts`
 */
import { Presets } from "@breakwater/schedule"
import { Console, Data, Duration, Effect } from "effect"
import { fileURLToPath } from "node:url"

/** Worth retrying: the service is busy or did not answer. */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  /** When the service wants to be asked again, if it says so. */
  readonly retryAfter?: Duration.Duration
}> {}

/** Wrong for good: the same question gets the same answer. */
export class NotSold extends Data.TaggedError("NotSold") {}

const retryAfter = (error: Unavailable | NotSold) => (error._tag === "Unavailable" ? error.retryAfter : undefined)

/** What the page shows. The call only reads, so a second one does no harm. */
export const showPrice = <R>(call: Effect.Effect<string, Unavailable | NotSold, R>): Effect.Effect<string, never, R> =>
  call.pipe(
    // No limit of a schedule cuts a call that hangs.
    Effect.timeoutFail({ duration: "1 second", onTimeout: () => new Unavailable({}) }),
    Effect.retry({
      schedule: Presets.interactive({ retryAfter }),
      while: (error) => error._tag === "Unavailable"
    }),
    Effect.map((price) => `It costs ${price}.`),
    Effect.catchTags({
      NotSold: () => Effect.succeed("We do not sell that."),
      Unavailable: (error) => {
        const after = retryAfter(error)
        return Effect.succeed(`Please try again ${after === undefined ? "later" : `in ${Duration.format(after)}`}.`)
      }
    })
  )

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const busy = Console.log("asks for the price").pipe(Effect.zipRight(Effect.fail(new Unavailable({}))))
  Effect.runPromise(showPrice(busy).pipe(Effect.flatMap(Console.log)))
}
