import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { busyShare } from '../../src/processes/core-times.ts'
import { usage } from '../../src/processes/process-tree.ts'
import { summarise, watch } from '../../src/processes/watch-usage.ts'

test('CPU time is that used while watched, even if a child process ended meanwhile', () => {
  const sample = (atMs: number, rssBytes: number, cpuMs: number) => ({ atMs, rssBytes, cpuMs })
  const seen = summarise([sample(0, 50, 1000), sample(250, 90, 1400), sample(500, 70, 1200)], 600)
  assert.equal(seen.peakRssBytes, 90)
  assert.equal(seen.cpuMs, 400)
  assert.equal(summarise([], 0).peakRssBytes, 0)
})

test('a process that has ended adds no sample', async () => {
  const readings = [
    { rssBytes: 10, cpuMs: 5 },
    { rssBytes: 0, cpuMs: 0 },
  ]
  const watching = watch(1, async () => readings.shift()!)
  const seen = await watching.stop()
  assert.deepEqual(
    seen.samples.map(({ rssBytes, cpuMs }) => ({ rssBytes, cpuMs })),
    [{ rssBytes: 10, cpuMs: 5 }],
  )
})

test('usage() reports memory and CPU time of this process', async () => {
  const now = await usage(process.pid)
  assert.ok(now.rssBytes > 10e6)
  assert.ok(now.cpuMs > 0)
})

test('usage() includes the CPU time of a child process that has ended', async () => {
  const before = await usage(process.pid)
  execFileSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 400_000);'])
  const after = await usage(process.pid)
  assert.ok(after.cpuMs - before.cpuMs >= 300, `${after.cpuMs - before.cpuMs} ms`)
})

test('busyShare() is the busy share of a core between two readings', () => {
  const before = [{ busyMs: 100, idleMs: 900 }]
  assert.equal(busyShare(before, [{ busyMs: 350, idleMs: 1650 }], 0), 0.25)
  assert.equal(busyShare(before, before, 0), 0)
})
