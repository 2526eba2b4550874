/** Processes of one cluster that have the same to say. */
import assert from 'node:assert/strict'
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isFirstToSay } from '../../src/cluster/said.ts'

const folder = mkdtempSync(join(tmpdir(), 'said-'))
process.env['TMPDIR'] = folder
cluster.setupPrimary({ exec: fileURLToPath(new URL('apps/saying-worker.mjs', import.meta.url)), execArgv: [] })
after(() => {
  for (const worker of Object.values(cluster.workers!)) worker!.process.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

async function fork(env: Record<string, string> = {}): Promise<Worker> {
  const worker = cluster.fork(env)
  await once(worker, 'message')
  return worker
}

async function say(worker: Worker, ...texts: string[]): Promise<boolean[]> {
  worker.send(texts)
  const [said] = (await once(worker, 'message')) as [boolean[]]
  return said
}

async function kill(worker: Worker): Promise<void> {
  worker.process.kill('SIGKILL')
  await once(worker, 'exit')
}

describe('a warning of a cluster', () => {
  it('is printed by one worker only, even if others start later, and again after that worker has died', async () => {
    const workers = [await fork(), await fork(), await fork()]
    const texts = Array.from({ length: 100 }, (_, i) => `text ${i}`)
    const said = await Promise.all(workers.map(worker => say(worker, ...texts)))
    for (const i of texts.keys()) assert.equal(said.filter(each => each[i]).length, 1, `text ${i} is said once`)
    const late = await fork()
    assert.deepEqual(await say(late, ...texts), Array(100).fill(false))
    const [first, ...rest] = workers as [Worker, ...Worker[]]
    await say(first, 'its own')
    await kill(first)
    assert.deepEqual(await say(late, 'its own', 'its own'), [true, false])
    for (const worker of rest) assert.deepEqual(await say(worker, 'its own'), [false])
  })

  it('is not repeated if the primary printed it, and is always printed outside a worker', async () => {
    assert.deepEqual([isFirstToSay('set up wrongly'), isFirstToSay('set up wrongly')], [true, true])
    assert.deepEqual(await say(await fork(), 'set up wrongly', 'another'), [false, true])
  })

  it('is printed by a process that reuses an earlier process id, and once for each app of PM2', async () => {
    const worker = await fork()
    assert.deepEqual(await say(worker, 'again'), [true])
    const [meeting] = readdirSync(folder)
    const links = readdirSync(join(folder, meeting!)).map(name => join(folder, meeting!, name))
    const life = `${worker.process.pid} `
    const mine = links.find(path => readlinkSync(path).startsWith(life))!
    rmSync(mine)
    symlinkSync(`${life}1`, mine)
    assert.deepEqual(await say(worker, 'again'), [true])
    const [one, other] = [await fork({ pm_id: '0', name: 'one' }), await fork({ pm_id: '1', name: 'other' })]
    assert.deepEqual(await say(one, 'again'), [true])
    assert.deepEqual(await say(other, 'again'), [true])
  })

  it('is printed each time if it is about one process, and leaves no file behind', async () => {
    const names = readdirSync(folder, { recursive: true })
    const worker = await fork()
    assert.deepEqual(await say(worker, 'each: shed 1 of 2', 'each: shed 1 of 2'), [true, true])
    assert.deepEqual(readdirSync(folder, { recursive: true }), names)
  })

  it('is printed by each worker if they share no temporary folder', async () => {
    const workers = [await fork({ TMPDIR: '/dev/null' }), await fork({ TMPDIR: '/dev/null' })]
    for (const worker of workers) assert.deepEqual(await say(worker, 'unmet'), [true])
  })
})
