import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { waitsOf } from '../../src/observe/event-loop.ts'
import { RecentDelays } from '../../src/observe/recent-delays.ts'

/** A loop that beats every 10 ms for `totalMs`, with stalls of `stallMs` after every `freeMs`. */
function looked(stallMs: number, freeMs: number, totalMs: number): RecentDelays {
  const delays = new RecentDelays()
  let nowMs = 0
  for (let dueMs = freeMs; nowMs < totalMs; ) {
    const lateMs = nowMs >= dueMs ? stallMs : 0
    if (lateMs > 0) dueMs = nowMs + stallMs + freeMs
    nowMs += 10 + lateMs
    waitsOf(10, lateMs, (delayMs, times) => delays.add(nowMs, delayMs, times))
  }
  return delays
}

test('a loop blocked for 3 s of every 6 s shows it in every figure', () => {
  const { max, p99, p90, mean, p50, min } = looked(3000, 3000, 60_000).read(60_000)!
  assert.equal(max, 3)
  assert.ok(p99 > 2.7 && p99 <= 3, `p99 ${p99}`)
  assert.ok(p90 > 2.2 && p90 < 2.6, `p90 ${p90}`)
  // Half of the time, due work waits 1.5 s on average.
  assert.ok(mean > 0.6 && mean < 0.9, `mean ${mean}`)
  assert.ok(p50 < 0.2, `p50 ${p50}`)
  assert.equal(min, 0)
})

test('reading changes nothing, and delays older than a minute are forgotten', () => {
  const delays = looked(3000, 3000, 6000)
  const first = delays.read(6000)
  assert.deepEqual(delays.read(6000), first)
  assert.equal(delays.read(60_000)?.max, 3)
  assert.equal(delays.read(80_000), undefined)
  delays.add(80_000, 5)
  assert.equal(delays.read(80_000)?.max, 0.005)
})

test('property: percentiles lie between minimum and maximum, with an error below 5 %', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0.001, max: 60_000, noNaN: true }), { minLength: 1 }), values => {
      const delays = new RecentDelays()
      for (const value of values) delays.add(1, value)
      const { min, p50, p99, max } = delays.read(1)!
      const sorted = values.toSorted((a, b) => a - b)
      assert.equal(min, sorted[0]! / 1000)
      assert.equal(max, sorted.at(-1)! / 1000)
      for (const [got, share] of [
        [p50, 0.5],
        [p99, 0.99],
      ] as const) {
        const right = sorted[Math.ceil(share * sorted.length) - 1]! / 1000
        assert.ok(Math.abs(got / right - 1) < 0.05, `${got} instead of ${right}`)
      }
    }),
  )
})

test('a pause of days is recorded in about a thousand steps', () => {
  let told = 0
  let waited = 0
  waitsOf(10, 3 * 86_400_000, (_, times) => {
    told++
    waited += times
  })
  assert.ok(told <= 1001, `${told}`)
  assert.ok(Math.abs(waited / (3 * 8_640_000) - 1) < 0.01, `${waited}`)
})
