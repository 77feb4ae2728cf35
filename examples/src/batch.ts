/**
 * A job that nobody waits for: it sends its records one after another and sits out an outage of minutes.
 * The receiver knows a record by its number, so one that is sent twice does no harm.
 *
 * By hand, after `npm run build`, in virtual time: `npx jiti examples/src/batch.ts`
 */
import { Presets, RetryObserver } from "@breakwater/schedule"
import { VirtualTime } from "@breakwater/simulation"
import { Clock, Console, Data, Duration, Effect } from "effect"
import { fileURLToPath } from "node:url"

export class Unavailable extends Data.TaggedError("Unavailable") {}

export interface Report {
  /** What to begin with next time. */
  readonly left: ReadonlyArray<number>
  readonly retries: number
  readonly gaveUp: RetryObserver.Reason | undefined
}

/** Sends the records in their order; one that cannot be sent within a quarter of an hour ends the job. */
export const job = <R>(
  records: ReadonlyArray<number>,
  send: (record: number) => Effect.Effect<void, Unavailable, R>
): Effect.Effect<Report, never, R> =>
  Effect.suspend(() => {
    const left = [...records]
    let retries = 0
    let gaveUp: RetryObserver.Reason | undefined
    const observer: RetryObserver.Observer = (event) =>
      Effect.sync(() => {
        if (event._tag === "Retrying") retries++
        else gaveUp = event.reason
      })
    return Effect.forEach(records, (record) =>
      send(record).pipe(
        Effect.retry(Presets.batch()),
        Effect.tap(() => left.shift())
      )
    ).pipe(
      RetryObserver.observe(observer),
      Effect.ignore,
      Effect.map(() => ({ left, retries, gaveUp }))
    )
  })

/** A service that takes a second for each record, and refuses at once from the first minute on for so long. */
export const serviceWithOutage =
  (outage: Duration.DurationInput) =>
  (_record: number): Effect.Effect<void, Unavailable> =>
    Effect.gen(function* () {
      const minute = (yield* Clock.currentTimeMillis) / 60_000
      if (minute >= 1 && minute < 1 + Duration.toMinutes(outage)) return yield* new Unavailable()
      yield* Effect.sleep("1 second")
    })

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const records = Array.from({ length: 100 }, (_, index) => index)
  const run = Effect.fn(function* (outage: Duration.DurationInput) {
    const [took, report] = yield* VirtualTime.run(Effect.timed(job(records, serviceWithOutage(outage))), { seed: 1 })
    const { gaveUp, left, retries } = report
    yield* Console.log({ outage, took: Duration.format(took), retries, left: left.length, gaveUp })
  })
  Effect.runSync(Effect.zipRight(run("5 minutes"), run("1 hour")))
}
