/** Arrivals whose rate changes while they run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SteeredArrivals } from '../../src/live/steered-arrivals.ts'

function made(rate: number) {
  const seen: [latencyMs: number, end: number | string, ownMs: number][] = []
  let due = 0
  const arrivals = new SteeredArrivals(rate, {
    due: () => {
      due++
    },
    ended: (...end) => seen.push(end),
  })
  return { arrivals, seen, dueCount: () => due }
}

/** Takes all arrivals that are due until `atMs`. */
function until(arrivals: SteeredArrivals, atMs: number): number[] {
  const dues: number[] = []
  for (let due = arrivals.peek(); due <= atMs; due = arrivals.peek()) {
    dues.push(due)
    arrivals.advance()
  }
  return dues
}

test('arrivals are evenly spaced at the given rate, and each is counted', () => {
  const { arrivals, dueCount } = made(100)
  const dues = until(arrivals, 10_000)
  assert.equal(dues.length, 1000)
  assert.deepEqual(dues.slice(0, 3), [5, 15, 25])
  assert.equal(dueCount(), 1000)
})

test('a new rate applies at once to the rest of the current gap', () => {
  const { arrivals } = made(1)
  arrivals.steer(1000, 100)
  // The first arrival was due at 500 ms. The 400 ms until then are 0.4 of the old gap, so 0.4 of the new gap remains.
  assert.equal(arrivals.peek(), 100.4)
  assert.equal(until(arrivals, 1100).length, 1000)
  arrivals.steer(1, 1100)
  assert.deepEqual(until(arrivals, 1300), [])
  assert.ok(Math.abs(arrivals.peek() - 1500) < 1e-6, String(arrivals.peek()))
})

test('frequent changes of the rate neither lose nor add arrivals', () => {
  const { arrivals } = made(500)
  let count = 0
  for (let at = 0; at < 10_000; at += 1) {
    arrivals.steer(at % 2 === 0 ? 500 : 1500, at)
    count += until(arrivals, at).length
  }
  assert.ok(Math.abs(count - 10_000) <= 2, String(count))
})

test('arrivals that came due while the generator was held up are at the rate of that time', () => {
  const { arrivals } = made(1000)
  until(arrivals, 100)
  // No arrivals are taken while the rate falls and rises again.
  arrivals.steer(10, 400)
  arrivals.steer(100, 900)
  assert.equal(until(arrivals, 400).length, 300)
  assert.equal(until(arrivals, 900).length, 5)
  assert.equal(until(arrivals, 1900).length, 100)
})

test('nothing is due after the end, and a later end changes nothing', () => {
  const { arrivals } = made(100)
  assert.equal(arrivals.durationMs, Number.POSITIVE_INFINITY)
  until(arrivals, 90)
  arrivals.end(100)
  assert.deepEqual(until(arrivals, 10_000), [95])
  assert.equal(arrivals.peek(), Number.POSITIVE_INFINITY)
  arrivals.end(5000)
  assert.equal(arrivals.durationMs, 100)
})

test('latency counts from the time at which a request was due', () => {
  const { arrivals, seen } = made(100)
  arrivals.ended(70, true, 20, 200, 3)
  arrivals.ended(2020, false, 20, 'refused', 0)
  assert.deepEqual(seen, [
    [50, 200, 3],
    [2000, 'refused', 0],
  ])
})
