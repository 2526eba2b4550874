import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Histogram } from '../../src/load/histogram.ts'

const of = (values: readonly number[]): Histogram => {
  const histogram = new Histogram()
  for (const value of values) histogram.record(value)
  return histogram
}

/** From 1 us to 17 minutes, with every order of magnitude equally likely. */
const duration = fc.double({ min: Math.log(0.001), max: Math.log(1_000_000), noNaN: true }).map(Math.exp)
const durations = fc.array(duration, { maxLength: 200 })

describe('Histogram', () => {
  it('keeps each percentile within 0.4 % of the exact one', () => {
    fc.assert(
      fc.property(
        fc.array(duration, { minLength: 1, maxLength: 300 }),
        fc.integer({ min: 0, max: 1000 }),
        (values, p) => {
          const percent = p / 10
          const sorted = [...values].sort((a, b) => a - b)
          const truth = sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length - 1e-9) - 1)]!
          const got = of(values).percentile(percent)
          assert.ok(Math.abs(got - truth) <= 0.004 * truth, `p${percent}: ${got}, truth ${truth}`)
        },
      ),
    )
  })

  it('keeps count, minimum, maximum and mean', () => {
    fc.assert(
      fc.property(fc.array(duration, { minLength: 1 }), values => {
        const histogram = of(values)
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length
        assert.equal(histogram.count, values.length)
        assert.equal(histogram.min, Math.min(...values))
        assert.equal(histogram.max, Math.max(...values))
        assert.equal(histogram.percentile(100), histogram.max)
        assert.ok(Math.abs(histogram.mean - mean) <= 0.0001 + mean * 1e-12)
      }),
    )
  })

  it('merges in any order to the same histogram as recording all values', () => {
    fc.assert(
      fc.property(durations, durations, durations, (a, b, c) => {
        const whole = of([...a, ...b, ...c]).toJSON()
        assert.deepEqual(of(a).merge(of(b)).merge(of(c)).toJSON(), whole)
        assert.deepEqual(
          of(a)
            .merge(of(b).merge(of(c)))
            .toJSON(),
          whole,
        )
        assert.deepEqual(of(c).merge(of(a)).merge(of(b)).toJSON(), whole)
      }),
    )
  })

  it('is the same after JSON and structured clone', () => {
    fc.assert(
      fc.property(durations, values => {
        const data = of(values).toJSON()
        assert.deepEqual(Histogram.fromJSON(JSON.parse(JSON.stringify(data))).toJSON(), data)
        assert.deepEqual(Histogram.fromJSON(structuredClone(data)).toJSON(), data)
      }),
    )
  })

  it('clamps values outside its range, but keeps the exact extremes', () => {
    const histogram = of([-3, 0, 1e-9, 1e9, Number.POSITIVE_INFINITY])
    assert.equal(histogram.min, 0)
    assert.equal(histogram.max, Number.POSITIVE_INFINITY)
    assert.ok(histogram.percentile(40) < 0.001)
    assert.ok(histogram.percentile(80) > 1_000_000)
  })

  it('is NaN for every figure if it is empty', () => {
    const empty = new Histogram()
    assert.equal(empty.count, 0)
    for (const figure of [empty.mean, empty.min, empty.max, empty.percentile(50), empty.shareWithin(1)]) {
      assert.ok(Number.isNaN(figure))
    }
  })

  it('computes the share of values within a bound', () => {
    const histogram = of(Array.from({ length: 1000 }, (_, k) => k + 1))
    assert.ok(Math.abs(histogram.shareWithin(500) - 0.5) < 0.005)
    assert.equal(histogram.shareWithin(1000), 1)
  })

  it('refuses invalid values, percentages and serialised data', () => {
    assert.throws(() => of([Number.NaN]), RangeError)
    assert.throws(() => of([1]).percentile(101), RangeError)
    assert.throws(() => Histogram.fromJSON({ ...of([1]).toJSON(), count: 2 }), RangeError)
    assert.throws(() => Histogram.fromJSON({ ...of([1]).toJSON(), buckets: [-1, 1] }), RangeError)
  })
})
