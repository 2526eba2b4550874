/** The outcomes of the requests of one side between two ticks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram } from '../../src/load/histogram.ts'
import { SideCounter } from '../../src/live/side-counter.ts'

test('each request is counted once, and only 2xx and 3xx responses have a latency', () => {
  const counter = new SideCounter(1000)
  for (let each = 0; each < 8; each++) counter.due()
  counter.ended(10, 200, 2)
  counter.ended(1000, 304, 0)
  counter.ended(1001, 200, 0)
  counter.ended(3, 503, 0)
  counter.ended(5, 500, 0)
  counter.ended(5, 404, 0)
  counter.ended(2000, 'response-timeout', 0)
  counter.ended(2000, 'unsent', 0)
  const taken = counter.take()
  assert.deepEqual([taken.due, taken.good, taken.late, taken.refused, taken.lost], [8, 2, 1, 1, 4])
  assert.equal(Histogram.fromJSON(taken.measured).count, 3)
  assert.equal(Histogram.fromJSON(taken.measured).min, 10)
  assert.equal(Histogram.fromJSON(taken.clean).min, 8)
})

test('take() resets the counters', () => {
  const counter = new SideCounter(1000)
  counter.due()
  counter.ended(10, 200, 0)
  counter.take()
  const { due, good, dots, measured } = counter.take()
  assert.deepEqual([due, good, dots, measured.count], [0, 0, [], 0])
})

test('the sample of ten per tick is uniform, whatever the number of requests', () => {
  let seed = 7
  const random = (): number => {
    seed = (seed * 16_807) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const counter = new SideCounter(1000, random)
  let late = 0
  for (let tick = 0; tick < 500; tick++) {
    // A quarter of the requests are late, all of them at the end.
    for (let each = 0; each < 400; each++) counter.ended(each < 300 ? 1 : 1500, 200, 0)
    const { dots } = counter.take()
    assert.equal(dots.length, 10)
    late += dots.filter(([fate]) => fate === 'late').length
  }
  assert.ok(late > 1100 && late < 1400, `${late} of 5,000`)
})
