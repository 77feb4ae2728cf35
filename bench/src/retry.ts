/**
 * What a retry costs when nothing fails, against Effect's own.
 *
 * `npm run bench -- retry`
 */
import { AttemptTimeout, Deadline, Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Jitter, Limit } from "@breakwater/schedule"
import { Effect } from "effect"
import { Table } from "./measure.js"

const schedule = Backoff.exponential({ base: "100 millis" }).pipe(Jitter.full, Limit.attempts(4))

const budget = Effect.runSync(RetryBudget.make(RetryBudget.ratio({ percent: 10 })))

const succeeds: Effect.Effect<number, "unavailable"> = Effect.succeed(1)
const suspends: Effect.Effect<number, "unavailable"> = Effect.zipRight(Effect.yieldNow(), succeeds)

const alone = Retry.retry({ schedule })
const whole = Retry.retry({ schedule, attemptTimeout: "2 seconds", deadline: "10 seconds", budget })
const effects = (call: Effect.Effect<number, "unavailable">) => call.pipe(Effect.timeout("2 seconds"), Effect.retry(schedule))

const table = new Table()

await table.effects("retry / Effect.retry", alone(succeeds), Effect.retry(succeeds, schedule), 0.2)
await table.effects("all four, ends at once / retry(timeout)", whole(succeeds), effects(succeeds), 0.35)
await table.effects("all four, suspends once / retry(timeout)", whole(suspends), effects(suspends), 0.6)

// Where it goes, against the bare effect.
const parts: Record<string, Effect.Effect<unknown, unknown>> = {
  retry: alone(succeeds),
  "retry, suspends": alone(suspends),
  "with a budget": Retry.retry(succeeds, { schedule, budget }),
  "with a deadline": Retry.retry(succeeds, { schedule, deadline: "10 seconds" }),
  "with an attempt time-out": Retry.retry(succeeds, { schedule, attemptTimeout: "2 seconds" }),
  "with an adaptive one": Retry.retry(succeeds, {
    schedule,
    attemptTimeout: Effect.runSync(AttemptTimeout.adaptive())
  }),
  "Deadline.within": Deadline.within(succeeds, "10 seconds"),
  "AttemptTimeout.timeout": AttemptTimeout.timeout(succeeds, "2 seconds"),
  "Effect.timeout": Effect.timeout(succeeds, "2 seconds"),
  "Effect.onExit": Effect.onExit(succeeds, () => Effect.void)
}
for (const [part, effect] of Object.entries(parts)) await table.effects(`${part} / bare`, effect, succeeds)

table.print()
