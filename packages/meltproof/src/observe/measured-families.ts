import { DURATION_BOUNDARIES_S } from '../record.ts'
import { type Family, type SampleLabels, SampledSeries } from './instruments.ts'
import { LABELS, type LabelName, type Labels } from './labels.ts'
import { measure } from './measuring.ts'
import { type GuardLike, METRICS } from './metrics.ts'
import type { CheckedObserveOptions } from './options.ts'

export interface MeasuredFamilies {
  readonly families: readonly Family[]
  /** Stops measuring; the families keep their last figures. */
  close(): void
}

export function measuredFamilies(guard: GuardLike, options: CheckedObserveOptions): MeasuredFamilies {
  const series = new Map(METRICS.map(metric => [metric, [] as SampledSeries[]]))
  const { loop, close } = measure(guard, options, {
    metrics: METRICS,
    seriesOf(metric, labels) {
      const boundaries = metric.kind === 'histogram' ? DURATION_BOUNDARIES_S : undefined
      const made = new SampledSeries(sampleLabels(labels), boundaries, metric.exemplars)
      series.get(metric)!.push(made)
      return made
    },
  })
  const families = METRICS.map((metric): Family => {
    const { prometheus: name, help, kind: type, aggregator = 'sum', read } = metric
    const samples =
      read === undefined
        ? () => series.get(metric)!.flatMap(each => each.samples())
        : () => read(guard, loop).map(([labels, value]) => ({ suffix: '', labels: sampleLabels(labels), value }))
    return { name, help, type, aggregator, samples }
  })
  return { families, close }
}

function sampleLabels(labels: Labels): SampleLabels {
  const named: Record<string, string> = {}
  for (const [label, value] of Object.entries(labels)) {
    named[LABELS[label as LabelName].prometheus] = String(value ?? '')
  }
  return named
}
