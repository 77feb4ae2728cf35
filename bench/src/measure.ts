import { Effect } from "effect"

/** How long something takes, in milliseconds. */
export const timed = async (run: () => unknown): Promise<number> => {
  const start = performance.now()
  await run()
  return performance.now() - start
}

export const median = (values: ReadonlyArray<number>): number => values.slice().sort((a, b) => a - b)[values.length >> 1]!

/**
 * How many times longer `slow` takes than `quick`, each per unit of work: the median of five turns, taken one after the other so
 * that whatever else the machine does falls on both.
 */
export const ratio = async (slow: Work, quick: Work, turns = 5): Promise<Ratio> => {
  await slow.run()
  await quick.run()
  const ratios: Array<number> = []
  const each: { slow: Array<number>; quick: Array<number> } = { slow: [], quick: [] }
  for (let turn = 0; turn < turns; turn++) {
    const perSlow = (await timed(slow.run)) / slow.units
    const perQuick = (await timed(quick.run)) / quick.units
    each.slow.push(perSlow)
    each.quick.push(perQuick)
    ratios.push(perSlow / perQuick)
  }
  return { ratio: median(ratios), slow: median(each.slow) * 1000, quick: median(each.quick) * 1000 }
}

export interface Work {
  readonly run: () => unknown
  /** How many units of work one run is. */
  readonly units: number
}

export interface Ratio {
  readonly ratio: number
  /** Microseconds per unit. */
  readonly slow: number
  readonly quick: number
}

/** An effect, run so many times by one fiber. */
export const repeated = (effect: Effect.Effect<unknown, unknown>, units = 20_000): Work => {
  let left = 0
  const loop = Effect.whileLoop({ while: () => left-- > 0, body: () => effect, step: () => undefined })
  return {
    units,
    run: () => {
      left = units
      return Effect.runPromise(loop)
    }
  }
}

/** Rows of ratios against their targets. */
export class Table {
  private readonly rows: Array<object> = []

  row(measured: string, ratio: number, target: string, met: boolean, ours: number, other: number): void {
    const micros = (number: number) => `${number.toPrecision(3)} us`
    this.rows.push({
      measured,
      ratio: ratio.toPrecision(3),
      target,
      met: met ? "yes" : "NO",
      ours: micros(ours),
      other: micros(other)
    })
  }

  /** Two pieces of work, per unit; without a target the ratio is only told. */
  async compare(measured: string, ours: Work, other: Work, target?: number): Promise<void> {
    const { quick, ratio: measuredRatio, slow } = await ratio(ours, other)
    const met = target === undefined || measuredRatio <= target
    this.row(measured, measuredRatio, target === undefined ? "" : `<= ${target}`, met, slow, quick)
  }

  /** Two effects, each run many times by one fiber. */
  effects(
    measured: string,
    ours: Effect.Effect<unknown, unknown>,
    other: Effect.Effect<unknown, unknown>,
    target?: number
  ): Promise<void> {
    return this.compare(measured, repeated(ours), repeated(other), target)
  }

  print(): void {
    console.table(this.rows)
    console.log(`Node ${process.version}, ratios are the median of five`)
  }
}
