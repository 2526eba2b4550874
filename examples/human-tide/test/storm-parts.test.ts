/** The parts of the storm that need no process. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { coresOf } from '../storm/cores.ts'
import { BUCKETS, bucketOf, type Counts, figuresOf, PATIENCE_MS, recent } from '../storm/figures.ts'
import { Beach, phaseOf } from '../storm/page/phone.js'
import { CALM, changed, MOST_PHONES } from '../storm/settings.ts'

const counts = (change: Partial<Counts>, ...latencies: number[]): Counts => {
  const buckets = new Array<number>(BUCKETS).fill(0)
  for (const ms of latencies) buckets[bucketOf(ms)]!++
  return { ms: 500, due: 0, stored: 0, inTime: 0, shed: 0, lost: 0, ...change, latencies: buckets }
}

test('rates are per second, p99 is right to 5 %, and an abandoned request counts as PATIENCE_MS', () => {
  const figures = figuresOf([
    counts({ due: 50, stored: 40, inTime: 30, shed: 5, lost: 5 }, ...Array(99).fill(20), 3000),
  ])
  assert.deepEqual(
    [figures.duePerS, figures.storedPerS, figures.inTimePerS, figures.shedPerS, figures.lostPerS],
    [100, 80, 60, 10, 10],
  )
  assert.ok(figures.p99Ms! >= 20 && figures.p99Ms! < 21.1, String(figures.p99Ms))
  assert.equal(figuresOf([counts({}, 10, PATIENCE_MS)]).p99Ms, PATIENCE_MS)
  assert.equal(figuresOf([counts({})]).p99Ms, undefined)
})

test('the state of a side is calm, carries, sheds, strains or melts', () => {
  const state = (due: number, stored: number, inTime: number, shed: number) =>
    figuresOf([counts({ due, stored, inTime, shed, lost: due - stored - shed })]).state
  assert.equal(state(0, 0, 0, 0), 'calm')
  assert.equal(state(100, 99, 99, 1), 'carries')
  assert.equal(state(100, 40, 39, 60), 'sheds')
  assert.equal(state(100, 80, 60, 0), 'strains')
  assert.equal(state(100, 40, 10, 0), 'melts')
  assert.equal(state(100, 40, 10, 60), 'melts')
  assert.equal(state(100, 0, 0, 0), 'melts')
  // Shedding every request is not a success.
  assert.equal(state(100, 0, 0, 100), 'melts')
})

test('recent() returns the last two seconds, or all if there are fewer', () => {
  const many = Array.from({ length: 9 }, (_, due) => counts({ due }))
  assert.deepEqual(
    recent(many).map(({ due }) => due),
    [5, 6, 7, 8],
  )
  assert.equal(recent(many.slice(0, 2)).length, 2)
})

test('changed() applies the given settings, keeps the rest, and rejects invalid ones', () => {
  assert.deepEqual(changed(CALM, { phones: 300, left: { log: true } }), {
    phones: 300,
    left: { protect: false, log: true },
    right: CALM.right,
  })
  for (const [given, message] of [
    [{ phones: -1 }, /phones must be a whole number from 0 to 5000, got -1/],
    [{ phones: MOST_PHONES + 1 }, /got 5001/],
    [{ phones: '9' }, /got 9/],
    [{ left: { protect: 'yes' } }, /protect and log of left must be true or false/],
    [{ right: [] }, /right must be an object/],
    [null, /settings must be an object/],
  ] as const) {
    assert.throws(() => changed(CALM, given), { name: 'RangeError', message })
  }
})

test('each side gets its own core if there are four, else they share one, which the load does not use', () => {
  assert.deepEqual(coresOf([0, 1, 2, 3]), { left: 2, right: 3, rest: [0, 1] })
  assert.deepEqual(coresOf([0, 1]), { left: 1, right: 1, rest: [0] })
  assert.equal(coresOf([0]), undefined)
})

test('phones walk the bay at walking pace, and send evenly over the second', () => {
  const shoreline = JSON.parse(readFileSync(new URL('../public/shoreline.json', import.meta.url), 'utf8'))
  const beach = new Beach(shoreline, shoreline.properties.bay)
  for (const phone of [0, 1, 99, 5000]) {
    for (const now of [0, 1e12, 1.8e12]) {
      const [a, b] = [beach.at(phone, now), beach.at(phone, now + 1000)]
      const metres = Math.hypot(a.lat - b.lat, (a.lon - b.lon) * Math.cos(0.942)) * 111_320
      assert.ok(metres < 40, `phone ${phone} went ${metres} m in a second`)
      assert.ok(Number.isFinite(a.lat) && Number.isFinite(a.lon))
    }
  }
  const tenths = new Array<number>(10).fill(0)
  for (let phone = 0; phone < 100; phone++) tenths[Math.floor(phaseOf(phone) * 10)]!++
  assert.ok(
    tenths.every(count => count >= 8 && count <= 12),
    String(tenths),
  )
})
