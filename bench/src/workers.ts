/**
 * What a second thread gives: the six-client storm under 20,000 seeds, with one thread and with two, each with its start.
 *
 * `npm run bench -- workers`
 */
import { Effect } from "effect"
import { Workers } from "@breakwater/storm"
import { ratio } from "./measure.js"

const seeds = 20_000

const over = (workers: number) => ({
  run: () => Effect.runPromise(Workers.replicate({ _tag: "Catalogue", id: "A4" }, { seeds: { from: 1, to: seeds }, workers })),
  units: seeds
})

const { quick, ratio: times, slow } = await ratio(over(1), over(2))

console.table([
  {
    measured: "six-client storm, one thread / two threads, per run",
    ratio: times.toPrecision(3),
    target: ">= 1.7",
    met: times >= 1.7 ? "yes" : "NO",
    one: `${slow.toPrecision(3)} us`,
    two: `${quick.toPrecision(3)} us`
  }
])
console.log(`Node ${process.version}, the ratio is the median of five`)
