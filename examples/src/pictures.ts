/**
 * Draws the pictures of the documentation into `docs/pictures`. By hand, after `npm run build`: `npx jiti examples/src/pictures.ts`
 */
import { Backoff, Jitter, Presets, Preview, RetryObserver } from "@breakwater/schedule"
import { Simulation } from "@breakwater/simulation"
import { Charts, SixClients } from "@breakwater/storm"
import { Duration, Effect, Schedule } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const folder = join(dirname(fileURLToPath(import.meta.url)), "../../docs/pictures")

const lanes = [SixClients.retryAtOnce, SixClients.exponentialBackoff, SixClients.fullJitter].map(({ id, scenario, seed }) =>
  Effect.map(Simulation.run(scenario, { seed }), (trace) => ({
    file: `storm-${id.toLowerCase()}.svg`,
    svg: Charts.standalone(Charts.lanes(trace))
  }))
)

const base = "100 millis"
const cap = "800 millis"
const exponential = Backoff.exponential({ base, cap })

const jitters: Record<string, Schedule.Schedule<unknown>> = {
  none: exponential,
  "Jitter.full": exponential.pipe(Jitter.full),
  "Jitter.equal": exponential.pipe(Jitter.equal),
  "Jitter.proportional(0.2)": exponential.pipe(Jitter.proportional(0.2)),
  "Backoff.decorrelated": Backoff.decorrelated({ base, cap }),
  "decorrelated as published": Presets.brookerDecorrelated({ base, cap }),
  // Effect's own, around a backoff that is capped already. It draws fractions, which a preview cannot stand at.
  "Schedule.jittered": exponential.pipe(
    Schedule.jittered,
    Schedule.modifyDelay((_, wait) => Duration.millis(Math.floor(Duration.toMillis(wait)))),
    RetryObserver.observed
  )
}

const moments = { "3rd retry, backoff 400 ms": 3, "5th retry, backoff at its cap of 800 ms": 5 }

const seeds = Array.from({ length: 2000 }, (_, seed) => seed)

const jitter = Effect.forEach(Object.entries(jitters), ([policy, schedule]) =>
  Effect.map(
    Effect.forEach(seeds, (seed) => Preview.of(schedule, { retries: 5, seed })),
    (previews) =>
      Object.entries(moments).map(([moment, retry]) => ({
        policy,
        moment,
        waits: previews.map(({ retries }) => Duration.toMillis(retries[retry - 1]!.wait))
      }))
  )
).pipe(Effect.map((cells) => ({ file: "jitter.svg", svg: Charts.standalone(Charts.distribution(cells.flat(), 800)) })))

export const pictures = Effect.all([...lanes, jitter])

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(folder, { recursive: true })
  for (const { file, svg } of Effect.runSync(pictures)) writeFileSync(join(folder, file), svg)
}
