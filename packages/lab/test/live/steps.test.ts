/** The loads of the slider, and the validation of other values. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadOf, stopsFor } from '../../src/live/session.ts'

test('the loads range from 0.5x to 20x the capacity, in the same steps for every app', () => {
  const stops = stopsFor(190)
  assert.deepEqual([stops[0], stops.at(-1)], [0.5, 20])
  assert.deepEqual(
    stops,
    stops.toSorted((one, other) => one - other),
  )
  for (const load of [1, 2, 5, 10]) assert.ok(stops.includes(load), `${load}x`)
})

test('the highest load is limited by what the generator can send, and is at least 0.5x', () => {
  assert.equal(stopsFor(10_000).at(-1), 2)
  assert.deepEqual(stopsFor(100_000), [0.5])
})

test('a load is rounded to the nearest step, and anything outside the range is refused', () => {
  const stops = stopsFor(190)
  assert.equal(loadOf(1.04, stops), 1)
  assert.equal(loadOf(20, stops), 20)
  for (const wrong of [0, 0.49, 20.01, -1, Number.NaN, Number.POSITIVE_INFINITY, '5', null, undefined, {}, [5]]) {
    assert.throws(() => loadOf(wrong, stops), /^RangeError: load must be a number from 0\.5 to 20, got /)
  }
})
