/**
 * What a second thread gives: the six-client storm under 20,000 seeds, with one thread and with two, each with its start. Beside it a
 * loop that shares nothing: no program has more of a second thread than that, wherever it runs.
 *
 * `npm run bench -- workers`
 */
import { Workers } from "@breakwater/storm"
import { Effect } from "effect"
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { type Ratio, ratio } from "./measure.js"

const seeds = 20_000

const storm = (workers: number) => ({
  run: () => Effect.runPromise(Workers.replicate({ _tag: "Catalogue", id: "A4" }, { seeds: { from: 1, to: seeds }, workers })),
  units: seeds
})

const turns = 1e9

const loop = (workers: number) => ({
  run: () =>
    Promise.all(
      Array.from({ length: workers }, () =>
        once(new Worker(`let x = 0; for (let i = 0; i < ${turns / workers}; i++) x = (x * 31 + i) | 0`, { eval: true }), "exit")
      )
    ),
  units: turns
})

const row = (measured: string, { quick, ratio, slow }: Ratio, target?: number) => ({
  measured,
  "one / two": ratio.toPrecision(3),
  target: target === undefined ? "" : `>= ${target}`,
  met: target === undefined || ratio >= target ? "yes" : "NO",
  one: `${slow.toPrecision(3)} us`,
  two: `${quick.toPrecision(3)} us`
})

const bare = await ratio(loop(1), loop(2))
const storms = await ratio(storm(1), storm(2))

console.table([row("a loop that shares nothing, per turn", bare), row("six-client storm, per run", storms, 1.7)])
console.log(`Node ${process.version}, ratios are the median of five`)
