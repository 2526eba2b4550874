import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SampledSeries, type Aggregator, type Family } from '../../src/observe/instruments.ts'
import { countedOf, type Figures, figuresOf, joined } from '../../src/observe/joined-families.ts'
import { METRICS } from '../../src/observe/metrics.ts'

const family = (name: string, aggregator: Aggregator, type: Family['type'] = 'gauge', value = 0): Family => ({
  ...{ name, aggregator, type, help: '' },
  samples: () => [{ suffix: '', labels: { of: name }, value }],
})
const values = (families: readonly Family[]): number[] =>
  families.flatMap(({ samples }) => samples().map(({ value }) => value))
/** The figures as one process sends them to another. */
const told = (families: readonly Family[]): Figures => JSON.parse(JSON.stringify(figuresOf(families)))

test('joined figures are the sum, minimum, maximum or mean, as their aggregator says', () => {
  const kinds = ['sum', 'min', 'max', 'average'] as const
  const of = (value: number): Family[] => kinds.map(kind => family(kind, kind, 'gauge', value))
  assert.deepEqual(values(joined(of(0), [told(of(2)), told(of(4))])), [6, 2, 4, 3])
  assert.deepEqual(
    values(joined(of(0), [told(of(2)), {}])),
    [2, 2, 2, 2],
    'one that knows nothing yet counts for nothing',
  )
})

test('a joined histogram has the sum of each bucket, all series, and the newest exemplar', () => {
  const trace = (digit: string) => ({ headers: { traceparent: `00-${digit.repeat(32)}-b7ad6b7169203331-01` } })
  const of = (...series: SampledSeries[]): Family => ({
    ...{ name: 'h', help: '', type: 'histogram', aggregator: 'sum' },
    samples: () => series.flatMap(each => each.samples()),
  })
  const [one, two, three] = ['a', 'a', 'b'].map(route => new SampledSeries({ route }, [1], true))
  one!.add(0.5, 2, 1000, trace('1'))
  two!.add(0.5, 3, 1000, trace('2'))
  three!.add(2, 1)
  const newer = two!.samples().map(each => ({ ...each, exemplar: each.exemplar && { ...each.exemplar, atS: 9e9 } }))
  const [both] = joined(
    [of(one!)],
    [told([of(one!)]), told([{ ...of(), samples: () => [...newer, ...three!.samples()] }])],
  )
  assert.deepEqual(
    both!.samples().map(({ suffix, labels, value }) => [suffix, labels['route'], labels['le'], value]),
    [
      ['_bucket', 'a', '1', 5],
      ['_bucket', 'a', '+Inf', 5],
      ['_sum', 'a', undefined, 2.5],
      ['_count', 'a', undefined, 5],
      ['_bucket', 'b', '1', 0],
      ['_bucket', 'b', '+Inf', 1],
      ['_sum', 'b', undefined, 2],
      ['_count', 'b', undefined, 1],
    ],
  )
  assert.equal(both!.samples()[0]!.exemplar?.traceId, '2'.repeat(32))
})

test('only the counters of ended processes are kept', () => {
  const families = [family('c', 'sum', 'counter', 5), family('g', 'sum', 'gauge', 7)]
  assert.deepEqual(Object.keys(countedOf(families, [told(families)])), ['c'])
})

/** The joined values of an idle worker (0.25) and a busy one (0.75). All other metrics have the sum, 1. */
const NO_SUMS: Readonly<Record<number, readonly string[]>> = {
  0.75: [
    'meltproof_pressure',
    'meltproof_dry_run',
    'meltproof_limit_known',
    'meltproof_draining',
    'meltproof_limiter_pressure',
    'nodejs_eventloop_delay_max_seconds',
    'nodejs_eventloop_delay_p50_seconds',
    'nodejs_eventloop_delay_p90_seconds',
    'nodejs_eventloop_delay_p99_seconds',
  ],
  0.5: [
    'meltproof_utilisation_ratio',
    'meltproof_demand_ratio',
    'meltproof_load_ratio',
    'nodejs_eventloop_delay_mean_seconds',
    'nodejs_eventloop_delay_stddev_seconds',
    'nodejs_eventloop_utilization_ratio',
  ],
  0.25: ['nodejs_eventloop_delay_min_seconds'],
}

test('per-process gauges are not summed', () => {
  const families = METRICS.map(({ prometheus, kind, aggregator = 'sum' }) => family(prometheus, aggregator, kind))
  const of = (value: number): Figures =>
    told(families.map(each => ({ ...each, samples: () => [{ suffix: '', labels: {}, value }] })))
  const noSums = new Map(Object.entries(NO_SUMS).flatMap(([value, names]) => names.map(name => [name, Number(value)])))
  for (const { name, samples } of joined(families, [of(0.25), of(0.75)])) {
    assert.equal(samples()[0]!.value, noSums.get(name) ?? 1, name)
  }
})
