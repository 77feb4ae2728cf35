import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import type * as MetricKeyType from "effect/MetricKeyType"
import * as MetricLabel from "effect/MetricLabel"

/** With its labels in its key, a metric finds its value at once; `Metric.tagged` looks for it at each update. */
const labelled = <Type extends MetricKeyType.MetricKeyType.Untyped>(
  key: MetricKey.MetricKey<Type>,
  labels: Record<string, string>
) =>
  Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      key,
      Object.entries(labels).map(([name, value]) => MetricLabel.make(name, value))
    )
  )

export const counter = (name: string, description: string, labels: Record<string, string>): Metric.Metric.Counter<number> =>
  labelled(MetricKey.counter(name, { description, incremental: true }), labels)

/** From a millisecond to two minutes and more, doubling. */
const seconds = MetricBoundaries.exponential({ start: 0.001, factor: 2, count: 18 })

export const histogram = (name: string, description: string, labels: Record<string, string>): Metric.Metric.Histogram<number> =>
  labelled(MetricKey.histogram(name, seconds, description), labels)

export const gauge = (name: string, description: string, labels: Record<string, string>): Metric.Metric.Gauge<number> =>
  labelled(MetricKey.gauge(name, { description }), labels)

/** One metric for each value of a label. */
export const memoized = <Key extends string, A>(make: (key: Key) => A): ((key: Key) => A) => {
  const made = new Map<Key, A>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}
