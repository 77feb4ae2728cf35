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

  print(): void {
    console.table(this.rows)
    console.log(`Node ${process.version}, ratios are the median of five`)
  }
}
