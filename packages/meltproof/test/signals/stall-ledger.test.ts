import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { StallLedger } from '../../src/signals/stall-ledger.ts'

/** Feeds a ledger until `untilMs` from a loop that is idle except for these stalls. */
function fed(stalls: readonly (readonly [fromMs: number, toMs: number])[], untilMs: number): StallLedger {
  const ledger = new StallLedger()
  ledger.beat(0, 0)
  let beatMs = 0
  const idleAt = (ms: number): number =>
    ms - stalls.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, ms) - Math.min(from, ms)), 0)
  for (;;) {
    beatMs += 10
    for (const [from, to] of stalls) if (from < beatMs && beatMs < to) beatMs = to
    if (beatMs > untilMs) return ledger
    ledger.beat(beatMs, idleAt(beatMs))
  }
}

test('a loop that turns has no stalls', () => {
  const ledger = fed([], 1000)
  assert.equal(ledger.stalledBetween(0, 1000), 0)
  assert.deepEqual(ledger.stallsBetween(0, 1000), [])
})

test('a stall has its exact beginning, although there is a beat only every 10 ms', () => {
  const ledger = fed([[103, 406]], 1000)
  assert.deepEqual(ledger.stallsBetween(0, 1000), [{ fromMs: 103, toMs: 406 }])
  assert.equal(ledger.stalledBetween(0, 1000), 303)
})

test('only the part of a stall inside the interval counts', () => {
  const ledger = fed([[103, 406]], 1000)
  assert.equal(ledger.stalledBetween(0, 103), 0)
  assert.equal(ledger.stalledBetween(200, 300), 100)
  assert.equal(ledger.stalledBetween(300, 900), 106)
  assert.equal(ledger.stalledBetween(406, 900), 0)
  assert.equal(ledger.stalledBetween(300, 200), 0)
})

test('work that delays a beat by less than the slack is no stall', () => {
  assert.equal(fed([[103, 111.5]], 1000).stalledBetween(0, 1000), 0)
})

test('arrivedNoEarlierThan() is the start of the stall for data read right after it, and the read time later', () => {
  const ledger = fed([[103, 406]], 1000)
  assert.equal(ledger.arrivedNoEarlierThan(406), 103)
  assert.equal(ledger.arrivedNoEarlierThan(417), 103)
  assert.equal(ledger.arrivedNoEarlierThan(419), 419)
  assert.equal(fed([], 200).arrivedNoEarlierThan(90), 90)
  // The loop polled between the two stalls.
  const two = [[103, 203] as const, [210, 300] as const]
  assert.equal(fed(two, 310).arrivedNoEarlierThan(305), 210)
  // The stall still lasts, so it began when the loop was last idle.
  assert.equal(fed([[500, 800]], 505).arrivedNoEarlierThan(700, 500), 500)
})

test('a beat is overdue only after the time that the beat before it announced', () => {
  const ledger = new StallLedger()
  ledger.beat(0, 0)
  ledger.beat(10, 10, 20)
  assert.equal(ledger.idleSince(20, 20), 1)
  assert.equal(ledger.overdue(31), false)
  assert.equal(ledger.overdue(33), true)
  ledger.beat(60, 25)
  assert.deepEqual(ledger.stallsBetween(0, 100), [{ fromMs: 25, toMs: 60 }])
  assert.equal(ledger.overdue(73), true)
  assert.equal(ledger.idleSince(80, 35), 0.5)
})

test('a stall that still lasts counts up to the time of the query', () => {
  const ledger = fed([[500, 800]], 505)
  assert.equal(ledger.overdue(700), true)
  assert.equal(ledger.stalledBetween(0, 700, 500), 200)
  assert.equal(ledger.stalledBetween(650, 700, 500), 50)
  // Without the idle time, the stall counts from when the next beat was due.
  assert.equal(ledger.stalledBetween(0, 700), 190)
  assert.deepEqual(ledger.stallsBetween(0, 700), [])
})

test('there are no stalls before the first beat and after the last', () => {
  const ledger = new StallLedger()
  assert.equal(ledger.stalledBetween(0, 5000), 0)
  ledger.beat(5000, 4000)
  assert.equal(ledger.stalledBetween(0, 5005), 0)
  ledger.stop()
  assert.equal(ledger.stalledBetween(0, 9000), 0)
  ledger.beat(9000, 4000)
  ledger.beat(9010, 4010)
  assert.equal(ledger.stalledBetween(0, 9010), 0)
})

test('the ring forgets the oldest stalls, and counts the rest correctly', () => {
  const ledger = new StallLedger()
  ledger.beat(0, 0)
  // Every 60 ms: 10 ms of idle time, then a stall of 50 ms.
  for (let i = 0; i < 5000; i++) {
    ledger.beat(i * 60 + 10, (i + 1) * 10)
    ledger.beat(i * 60 + 60, (i + 1) * 10)
  }
  assert.equal(ledger.stallsBetween(0, 300_000).length, 4096)
  assert.equal(ledger.stalledBetween(299_400, 300_000), 500)
  assert.equal(ledger.stalledBetween(0, 300_000), 4096 * 50)
})

test('property: agrees with a plain sum over any stalls and any interval', () => {
  const gap = fc.tuple(fc.integer({ min: 25, max: 200 }), fc.integer({ min: 23, max: 400 }))
  fc.assert(
    fc.property(fc.array(gap, { maxLength: 40 }), fc.nat(20_000), fc.nat(20_000), (gaps, a, b) => {
      let at = 0
      const stalls = gaps.map(([free, stalled]) => {
        const from = at + free
        at = from + stalled
        return [from, at] as const
      })
      const ledger = fed(stalls, at + 100)
      const [from, to] = [Math.min(a, b), Math.max(a, b)]
      // Intervals end at a beat.
      const end = Math.min(to, at)
      const expected = stalls.reduce((sum, [f, t]) => sum + Math.max(0, Math.min(t, end) - Math.max(f, from)), 0)
      const found = ledger.stallsBetween(from, end)
      assert.deepEqual(
        found,
        stalls.filter(([f, t]) => t > from && f < end).map(([fromMs, toMs]) => ({ fromMs, toMs })),
      )
      const counted = end > from ? found.reduce((s, x) => s + Math.min(x.toMs, end) - Math.max(x.fromMs, from), 0) : 0
      assert.ok(Math.abs(counted - expected) < 1e-6)
      if (!ledger.overdue(end)) assert.ok(Math.abs(ledger.stalledBetween(from, end) - expected) < 1e-6)
    }),
  )
})
