import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { StallLedger } from '../../src/signals/stall-ledger.ts'

const TUNING = { leastMs: 12, shortTurnMs: 3, capacity: 64 }
const PERIOD_MS = 10

type Stalls = readonly (readonly [fromMs: number, toMs: number])[]

/** A loop that is idle but for these stalls: how long it has been idle by then. */
const idleAt = (stalls: Stalls, ms: number): number =>
  ms - stalls.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, ms) - Math.min(from, ms)), 0)

/** A ledger fed by beats every 10 ms of such a loop, until `untilMs`. Each look is in a turn of its own. */
function fed(stalls: Stalls, untilMs: number, periodMs: number = PERIOD_MS): StallLedger {
  const ledger = new StallLedger(TUNING)
  ledger.start(0, 0, 0)
  let beatMs = 0
  for (let turn = 1; ; turn++) {
    beatMs += periodMs
    for (const [from, to] of stalls) if (from < beatMs && beatMs < to) beatMs = to
    if (beatMs > untilMs) return ledger
    ledger.look(beatMs, idleAt(stalls, beatMs), turn)
  }
}

const stalled = (ledger: StallLedger, stalls: Stalls, fromMs: number, toMs: number): number =>
  ledger.stalledBetween(fromMs, toMs, idleAt(stalls, toMs), Number.NaN)

test('a loop that turns has no stalls', () => {
  const ledger = fed([], 1000)
  assert.equal(stalled(ledger, [], 0, 1000), 0)
  assert.deepEqual(ledger.stallsBetween(0, 1000), [])
})

test('a stall is known with its exact beginning, though looks come every 10 ms', () => {
  const one = [[103, 406]] as const
  const ledger = fed(one, 1000)
  assert.deepEqual(ledger.stallsBetween(0, 1000), [{ fromMs: 103, toMs: 406 }])
  assert.equal(stalled(ledger, one, 0, 1000), 303)
})

test('only what lies inside the interval counts', () => {
  const one = [[103, 406]] as const
  const ledger = fed(one, 1000)
  assert.equal(stalled(ledger, one, 0, 103), 0)
  assert.equal(stalled(ledger, one, 200, 300), 100)
  assert.equal(stalled(ledger, one, 300, 900), 106)
  assert.equal(stalled(ledger, one, 406, 900), 0)
  assert.equal(stalled(ledger, one, 300, 200), 0)
})

test('short work is no stall', () => {
  const work = [[103, 111.5]] as const
  assert.equal(stalled(fed(work, 1000), work, 0, 1000), 0)
})

test('looks that are far apart find a stall that a beat was due in where it was, a shorter one later', () => {
  const [long, short] = [[[103, 406]] as const, [[103, 133]] as const]
  assert.deepEqual(fed(long, 1000, 50).stallsBetween(0, 1000), [{ fromMs: 103, toMs: 406 }])
  assert.deepEqual(fed(short, 1000, 50).stallsBetween(0, 1000), [{ fromMs: 120, toMs: 150 }])
})

test('busy with many short things is no stall, with a few it is one', () => {
  const ledger = new StallLedger(TUNING)
  ledger.start(0, 0, 0)
  assert.equal(ledger.stalledBetween(0, 40, 10, 20), 0)
  assert.equal(ledger.look(40, 10, 20), undefined)
  assert.equal(ledger.stalledBetween(40, 80, 20, 25), 30)
  assert.deepEqual(ledger.look(80, 20, 25), { fromMs: 50, toMs: 80 })
  // Nobody counts turns.
  assert.deepEqual(ledger.look(120, 30, Number.NaN), { fromMs: 90, toMs: 120 })
})

test('a look in the turn of the look before does not hide how long that turn already is', () => {
  const ledger = new StallLedger(TUNING)
  ledger.start(0, 0, 7)
  assert.equal(ledger.look(10, 0, 7), undefined)
  assert.equal(ledger.stalledBetween(0, 10, 0, 7), 0)
  assert.equal(ledger.look(20, 0, 7), undefined)
  assert.equal(ledger.stalledBetween(0, 20, 0, 7), 20)
  assert.equal(ledger.lainSince(20, 0, 7), 0)
  assert.deepEqual(ledger.stallsBetween(0, 100), [])
  assert.deepEqual(ledger.look(25, 0, 8), { fromMs: 0, toMs: 25 })
})

test('what is read after a stall may have lain since it began; what is read later has not', () => {
  const one = [[103, 406]] as const
  const ledger = fed(one, 1000)
  assert.equal(ledger.lainSince(406, idleAt(one, 1000), Number.NaN), 103)
  const right = fed(one, 410)
  assert.equal(right.lainSince(417, idleAt(one, 417), Number.NaN), 103)
  assert.equal(right.lainSince(419, idleAt(one, 419), Number.NaN), 419)
  assert.equal(fed([], 200).lainSince(90, 90, Number.NaN), 90)
  // In between the loop had looked.
  const two = [[103, 203] as const, [210, 300] as const]
  assert.equal(fed(two, 310).lainSince(305, idleAt(two, 305), Number.NaN), 210)
  // Still on: as long as the loop has not been idle.
  assert.equal(fed([[500, 800]], 505).lainSince(700, 500, Number.NaN), 500)
})

test('a stall that is still on counts up to the moment of the question', () => {
  const ledger = fed([[500, 800]], 505)
  assert.equal(ledger.mayBeStalled(511), false)
  assert.equal(ledger.mayBeStalled(700), true)
  assert.equal(ledger.stalledBetween(0, 700, 500, Number.NaN), 200)
  assert.equal(ledger.stalledBetween(650, 700, 500, Number.NaN), 50)
  assert.deepEqual(ledger.stallsBetween(0, 700), [])
})

test('how busy the loop has been since the last look', () => {
  const ledger = new StallLedger(TUNING)
  ledger.start(10, 10, 1)
  assert.equal(ledger.busyShare(20, 20), 0)
  assert.equal(ledger.busyShare(30, 15), 0.75)
})

test('nothing is known before the first look and after the last', () => {
  const ledger = new StallLedger(TUNING)
  assert.equal(ledger.stalledBetween(0, 5000, 0, 1), 0)
  assert.equal(ledger.look(5000, 0, 1), undefined)
  ledger.start(5000, 4000, 2)
  assert.equal(ledger.stalledBetween(0, 5005, 4000, 2), 0)
  ledger.stop()
  assert.equal(ledger.stalledBetween(0, 9000, 4000, 3), 0)
  ledger.start(9000, 4000, 4)
  ledger.look(9010, 4010, 5)
  assert.equal(ledger.stalledBetween(0, 9010, 4010, 5), 0)
})

test('the ring forgets the oldest and keeps counting the rest right', () => {
  const stalls = Array.from({ length: 100 }, (_, i) => [i * 100 + 3, i * 100 + 43] as const)
  const ledger = fed(stalls, 10_000)
  assert.equal(ledger.stallsBetween(0, 10_000).length, 64)
  assert.equal(stalled(ledger, stalls, 9000, 10_000), 400)
  assert.equal(stalled(ledger, stalls, 0, 10_000), 64 * 40)
})

test('property: agrees with a plain sum over any stalls and any interval', () => {
  const gap = fc.tuple(fc.integer({ min: 25, max: 200 }), fc.integer({ min: 23, max: 400 }))
  fc.assert(
    fc.property(fc.array(gap, { maxLength: 40 }), fc.nat(20_000), fc.nat(20_000), (gaps, a, b) => {
      let at = 0
      const stalls = gaps.map(([free, stalledMs]) => {
        const from = at + free
        at = from + stalledMs
        return [from, at] as const
      })
      const ledger = fed(stalls, at + 100)
      const [from, to] = [Math.min(a, b), Math.max(a, b)]
      // Compared on intervals that end where beats have come.
      const end = Math.min(to, at)
      const expected = stalls.reduce((sum, [f, t]) => sum + Math.max(0, Math.min(t, end) - Math.max(f, from)), 0)
      const found = ledger.stallsBetween(from, end)
      assert.deepEqual(
        found,
        stalls.filter(([f, t]) => t > from && f < end).map(([fromMs, toMs]) => ({ fromMs, toMs })),
      )
      const told = ledger.stalledBetween(from, end, idleAt(stalls, at + 100), Number.NaN)
      assert.ok(Math.abs(told - (end > from ? expected : 0)) < 1e-6)
    }),
  )
})
