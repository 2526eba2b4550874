/** The guards of a process as one. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { METRICS } from '../../src/observe/metrics.ts'
import { AllGuards } from '../../src/all-guards.ts'
import { protect } from '../../src/server/protect.ts'

test('what a server has counted stays when it listens no more, and its gauges go', () => {
  const [first, second] = [2, 3].map(admitted => {
    const guard = protect(http.createServer())
    const { stats } = guard
    return { ...guard, stats: () => ({ ...stats(), admitted, queued: 1, shed: { ...stats().shed, full: 10 } }) }
  })
  let listening = [first!, second!]
  const all = new AllGuards(() => listening)
  const figures = (): number[] => {
    const { admitted, queued, shed } = all.stats()
    return [admitted, queued, shed.full]
  }
  assert.deepEqual(figures(), [5, 2, 20])
  listening = [second!]
  for (let i = 0; i < 2; i++) assert.deepEqual(figures(), [5, 1, 20])
  listening = []
  assert.deepEqual(figures(), [5, 1, 20])
})

test('a server that listens again counts once', () => {
  let more = 0
  const [first, second] = [2, 3].map(admitted => {
    const guard = protect(http.createServer())
    const { stats } = guard
    return {
      ...guard,
      stats: () => ({ ...stats(), admitted: admitted + more, shed: { ...stats().shed, full: 10 + more } }),
    }
  })
  let listening = [first!, second!]
  const all = new AllGuards(() => listening)
  const figures = (): number[] => [all.stats().admitted, all.stats().shed.full, all.sheds()[0]!.shed.full]
  assert.deepEqual(figures(), [5, 20, 20])
  for (let i = 1; i <= 3; i++) {
    listening = [second!]
    assert.deepEqual(figures(), [5 + 2 * more, 20 + 2 * more, 20 + 2 * more])
    listening = [first!, second!]
    more++
    assert.deepEqual(figures(), [5 + 2 * more, 20 + 2 * more, 20 + 2 * more])
  }
})

test('sheds of a dry run are apart from those of servers that shed, also when they listen no more', () => {
  const [dry, real, other] = [true, false, false].map((dryRun, i) => {
    const guard = protect(http.createServer(), { dryRun })
    const { stats } = guard
    return { ...guard, stats: () => ({ ...stats(), shed: { ...stats().shed, full: 10 ** i } }) }
  })
  let listening = [dry!, real!]
  const all = new AllGuards(() => listening)
  const full = () =>
    METRICS.find(({ prometheus }) => prometheus === 'meltproof_shed_total')!.read!(all, undefined as never)
      .filter(([{ reason }]) => reason === 'full')
      .map(([{ dryRun }, value]) => [dryRun, value])
  assert.deepEqual(full(), [
    ['false', 10],
    ['true', 1],
  ])
  assert.equal(all.stats().dryRun, true, 'what is true of one is true')
  listening = [other!]
  assert.deepEqual(full(), [
    ['false', 110],
    ['true', 1],
  ])
  assert.deepEqual([all.stats().dryRun, all.stats().shed.full], [false, 111])
})
