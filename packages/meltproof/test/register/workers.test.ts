/** Workers of a cluster that query each other. */
import assert from 'node:assert/strict'
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { GuardStats } from '../../src/server/guard.ts'

interface Message {
  readonly unreachable?: string
  readonly admitted: number
  readonly stats: GuardStats
}

cluster.setupPrimary({ exec: fileURLToPath(new URL('apps/asking-worker.mjs', import.meta.url)), execArgv: [] })
after(() => {
  for (const worker of Object.values(cluster.workers!)) worker!.process.kill('SIGKILL')
})

async function messageFrom(worker: Worker): Promise<Message> {
  const [message] = (await once(worker, 'message')) as [Message]
  return message
}

async function fork(name: string, admitted: number, env: Record<string, string> = {}): Promise<Worker> {
  const worker = cluster.fork({ NAME: `${name} ${process.pid}`, ADMITTED: String(admitted), ...env })
  assert.deepEqual(await messageFrom(worker), {})
  return worker
}

async function ask(worker: Worker): Promise<number> {
  worker.send('ask')
  const { admitted, stats } = await messageFrom(worker)
  assert.equal(stats.admitted, admitted, 'the figures are those of the metrics')
  return admitted
}

async function kill(worker: Worker): Promise<void> {
  worker.process.kill('SIGKILL')
  await once(worker, 'exit')
}

test('counts of dead workers stay, also for a worker forked after their death', async () => {
  const first = await fork('carried counters', 1)
  const second = await fork('carried counters', 10)
  const third = await fork('carried counters', 100)
  assert.equal(await ask(first), 111)
  await kill(third)
  assert.equal(await ask(first), 111)
  assert.equal(await ask(first), 111)
  await kill(first)
  const later = await fork('carried counters', 1000)
  for (let i = 0; i < 2; i++) assert.equal(await ask(later), 1111)
  await kill(later)
  for (let i = 0; i < 2; i++) assert.equal(await ask(second), 1111)
  await kill(second)
})

test('the stats of a cluster have the mean of per-process loads', async () => {
  const [first] = [await fork('averages', 2), await fork('averages', 4)]
  first.send('ask')
  const { stats } = await messageFrom(first)
  assert.deepEqual([stats.admitted, stats.demand], [6, 1])
  assert.ok(Math.abs(stats.utilisation - 0.3) < 1e-9, `${stats.utilisation}`)
  assert.ok(Math.abs(stats.load - 0.6) < 1e-9, `${stats.load}`)
})

test('a container that starts again with the same process ids keeps the counts it left', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'left-'))
  await fork('left', 1, { TMPDIR: folder, LEFT: 'on' })
  assert.equal(await ask(await fork('left', 10, { TMPDIR: folder })), 11)
})

test('machine names keep clusters apart that share a folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'shared-'))
  const first = await fork('shared', 1, { TMPDIR: folder, MACHINE: 'one' })
  await fork('shared', 10, { TMPDIR: folder, MACHINE: 'two' })
  assert.equal(await ask(first), 1)
})
