/** The cutoff level from given counts: it admits what departures allow, and stays while that holds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LEVELS } from '../../src/admission/queue/criticality.ts'
import { Cutoff } from '../../src/admission/queue/cutoff.ts'

const OPEN = LEVELS - 1

/** Feeds one window from `fromMs` on: the arrivals of each level, and the departures. */
function pass(cutoff: Cutoff, fromMs: number, arrivals: readonly number[], departures: number): number {
  for (const [level, count] of arrivals.entries()) for (let i = 0; i < count; i++) cutoff.arrived(level)
  for (let i = 1; i < departures; i++) cutoff.departed(fromMs)
  cutoff.departed(fromMs + 250)
  return fromMs + 250
}

test('property: the cutoff is the first level up to which arrivals fill 97 % of the departures', () => {
  const shapes = {
    each: fc.integer({ min: 1, max: 5 }),
    departures: fc.integer({ min: 16, max: 900 }),
    windows: fc.integer({ min: 1, max: 5 }),
  }
  fc.assert(
    fc.property(fc.record(shapes), ({ each, departures, windows }) => {
      // Where both are equal, rounding decides.
      fc.pre((97 * departures) % (100 * each) !== 0)
      const cutoff = new Cutoff()
      let nowMs = 0
      for (let i = 0; i < windows; i++) nowMs = pass(cutoff, nowMs, new Array<number>(LEVELS).fill(each), departures)
      const line = Math.min(OPEN, Math.ceil((97 * departures) / (100 * each)) - 1)
      assert.deepEqual([cutoff.level, cutoff.isSet], [line, line < OPEN])
      assert.deepEqual(
        [line, line + 1].map(level => cutoff.arrived(Math.min(OPEN, level))),
        [true, line === OPEN],
      )
      cutoff.reset(nowMs)
      assert.equal(cutoff.isSet, false)
      pass(cutoff, nowMs, [0, 0, departures], departures)
      assert.equal(cutoff.level, 2, 'nothing that arrived before the reset counts')
    }),
    { numRuns: 30 },
  )
})

test('the cutoff is set after 16 departures and 250 ms, not before', () => {
  const cutoff = new Cutoff()
  for (let i = 0; i < 100; i++) cutoff.arrived(0)
  for (let i = 0; i < 15; i++) cutoff.departed(1_000)
  assert.equal(cutoff.isSet, false)
  cutoff.reset(1_000)
  for (let i = 0; i < 100; i++) cutoff.arrived(0)
  for (let i = 0; i < 99; i++) cutoff.departed(1_249)
  assert.equal(cutoff.isSet, false)
  cutoff.departed(1_250)
  assert.equal(cutoff.level, 0)
})

test('the cutoff stays while it admits 95 to 108 % of what departures allow', () => {
  const cutoff = new Cutoff()
  let nowMs = 0
  const lineAfter = (...arrivals: number[]): number => {
    nowMs = pass(cutoff, nowMs, arrivals, 100)
    return cutoff.level
  }
  assert.equal(lineAfter(50, 50), 1)
  assert.equal(lineAfter(50, 40, 50), 1, '180 of 184 wanted')
  assert.equal(lineAfter(50, 20, 50), 2, '232 of 263 wanted')
  assert.equal(lineAfter(97, 0, 0), 2, '391 of 334 wanted, but 306 without its last level')
  assert.equal(lineAfter(900, 0, 0), 0)
})
