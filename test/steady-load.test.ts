/**
 * Whether an app sustains an open loop, from made-up seconds, and the lower capacities that are tried if it does not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lowered, steadyCapacity, whyUnsteady } from '../bench/lib/steady-load.ts'
import type { SecondResult } from '../packages/lab/src/melt/measured.ts'
import { agree } from '../packages/lab/src/melt/no-verdict.ts'

const SLO_MS = 1000
const second = (admittedP50Ms: number, goodput = 100): SecondResult => ({
  ...{ second: 0, offered: 100, goodput, late: 100 - goodput, shed: 0, shedLate: 0, otherStatus: 0, failed: 0 },
  ...{ unsent: 0, admittedP50Ms, admittedP99Ms: 2 * admittedP50Ms },
})
const why = (...mediansMs: number[]): string | undefined =>
  whyUnsteady(
    mediansMs.map(ms => second(ms)),
    SLO_MS,
  )

test('a load is steady if each second is answered in time and the median response time does not grow', () => {
  assert.equal(why(5, 5, 5, 5), undefined)
  assert.equal(why(150, 160, 170, 180), undefined)
  // A short answer may take several times as long, for example during a garbage collection.
  assert.equal(why(5, 5, 40, 45), undefined)
  assert.equal(why(20, 80, 140, 200), 'its median answer went from 50 to 170 ms')
  assert.equal(whyUnsteady([second(5), second(5, 98), second(5), second(5)], SLO_MS), 'it was late in 1 of 4 seconds')
  assert.equal(whyUnsteady([second(5), second(5, 99)], SLO_MS), undefined)
})

test('a lowered capacity is the highest that the search distinguishes from the old one', () => {
  assert.ok(agree([100, lowered(100) + 0.01]))
  assert.ok(!agree([100, lowered(100) - 0.01]))
})

/** An app that answers this many requests per second in an open loop, and queues the rest. */
const appOf = (most: number) => {
  const asked: number[] = []
  return {
    asked,
    sloMs: SLO_MS,
    warm: async () => {},
    steady: async (rate: number, durationS: number) => {
      asked.push(rate)
      return Array.from({ length: durationS }, (_, s) => second(5 + (rate > most ? 1000 * (rate / most - 1) * s : 0)))
    },
  }
}

test('the capacity is lowered step by step until 0.8x of it is steady, with reasons', async () => {
  const plenty = appOf(100)
  assert.deepEqual(await steadyCapacity(plenty, 110), { capacity: 110, lowered: [], isSteady: true })
  assert.deepEqual(plenty.asked, [88])
  const { capacity, lowered: why, isSteady } = await steadyCapacity(appOf(80), 116)
  assert.equal(isSteady, true)
  assert.ok(capacity <= 100 && capacity > 100 / 1.1, `${capacity}`)
  assert.equal(why.length, 2)
  assert.match(why[0]!, /^at 93\/s its median answer went from \d+ to \d+ ms$/)
})

test('the capacity is not lowered below a third', async () => {
  const { capacity, isSteady } = await steadyCapacity(appOf(1), 100)
  assert.equal(isSteady, false)
  assert.ok(capacity >= 30 && capacity < 34, `${capacity}`)
})
