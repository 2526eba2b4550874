/** The guards of a process as one. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
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
