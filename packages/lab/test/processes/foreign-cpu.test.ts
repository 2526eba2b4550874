/** CPU time of other processes on the cores of an experiment. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeContext } from '../../src/experiment/context.ts'
import { busyMsOf } from '../../src/processes/core-times.ts'
import { lostBetween } from '../../src/processes/foreign-cpu.ts'
import type { ProcessRow } from '../../src/processes/proc-stat.ts'

const row = (pid: number, ppid: number, cpuMs: number, reapedMs = 0): ProcessRow => ({
  ...{ pid, ppid, pgid: pid, state: 'S' },
  ...{ cpuMs, reapedMs },
})

test('the CPU time of an ended process is lost only if no process of the tree has waited for it', () => {
  const lab = row(1, 0, 100)
  const app = row(2, 1, 500)
  const neighbour = row(3, 2, 900)
  const before = [lab, app, neighbour]
  assert.equal(lostBetween([], before), 0)
  assert.equal(lostBetween(before, before), 0)
  // The app ended first, so no process of the tree waited for its child.
  assert.equal(lostBetween(before, [row(1, 0, 120, 500)]), 900)
  // The app waited for its child, and the lab for the app.
  assert.equal(lostBetween(before, [row(1, 0, 120, 1400)]), 0)
  assert.equal(lostBetween(before, [lab, row(2, 1, 510, 900)]), 0)
  // The tree also waited for processes that started and ended between the readings.
  assert.equal(lostBetween(before, [row(1, 0, 120, 9000)]), 0)
})

test('only the cores of the server, of the lab and of what was started are watched', async () => {
  const before = [0, 1, 2].map(() => ({ busyMs: 100, idleMs: 0 }))
  const after = [
    { busyMs: 110, idleMs: 0 },
    { busyMs: 130, idleMs: 0 },
    { busyMs: 900, idleMs: 0 },
  ] as const
  const { context, usedCores, end } = makeContext({
    form: 'quick',
    signal: new AbortController().signal,
    progress: { status() {}, line() {}, clear() {} },
    cores: { server: 1, lab: 0, dependency: 2 },
  })
  assert.equal(busyMsOf(before, [...after], usedCores), 40)
  const start = context.start({ name: 'a database', run: ['/nowhere'], core: 'dependency', startTimeoutMs: 5000 })
  await assert.rejects(start)
  await end()
  assert.equal(busyMsOf(before, [...after], usedCores), 840)
})
