import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SampledSeries } from '../../src/observe/instruments.ts'
import { METHODS, methodIndex } from '../../src/record.ts'
import { addressOf, boundedNames } from '../../src/observe/labels.ts'
import { prometheusText } from '../../src/observe/scrape.ts'

test('a histogram counts each value once, in the first bucket that holds it', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 20, noNaN: true })), values => {
      const histogram = new SampledSeries({ a: 'x' }, [0.1, 1, 5])
      for (const value of values) histogram.add(value, 1)
      const samples = histogram.samples()
      for (const bound of [0.1, 1, 5]) {
        const bucket = samples.find(({ labels }) => labels['le'] === String(bound))
        assert.equal(bucket?.value, values.filter(value => value <= bound).length)
      }
      assert.equal(samples.find(({ labels }) => labels['le'] === '+Inf')?.value, values.length)
      assert.equal(samples.find(({ suffix }) => suffix === '_count')?.value, values.length)
    }),
  )
})

test('the text format has help, type and escaped labels', () => {
  const counter = new SampledSeries({ a: 'quo"te\n\\', b: '' })
  counter.add(1, 2)
  counter.add(1, 1)
  const family = {
    name: 'c_total',
    help: 'What\nit \\ is',
    type: 'counter',
    aggregator: 'sum',
    samples: () => counter.samples(),
  } as const
  assert.equal(
    prometheusText([family]),
    '# HELP c_total What\\nit \\\\ is\n# TYPE c_total counter\nc_total{a="quo\\"te\\n\\\\",b=""} 3\n',
  )
})

test("names are bounded: the first two, then 'other'", () => {
  const nameOf = boundedNames(2)
  assert.deepEqual(
    ['a', 'b', 'c', 'a', 'd'].map(name => nameOf(name)),
    ['a', 'b', 'other', 'a', 'other'],
  )
  assert.equal(METHODS[methodIndex('GET')], 'GET')
  assert.equal(METHODS[methodIndex('EVIL')], '_OTHER')
})

test('addressOf() splits a peer into address and port', () => {
  assert.deepEqual(addressOf('https://api.example:8443'), { address: 'api.example', port: 8443 })
  assert.deepEqual(addressOf('https://api.example'), { address: 'api.example', port: 443 })
  assert.deepEqual(addressOf('http://[::1]:80'), { address: '[::1]', port: 80 })
  assert.deepEqual(addressOf('db.example:5432/shop'), { address: 'db.example', port: 5432 })
  assert.deepEqual(addressOf('other'), { address: 'other', port: undefined })
})
