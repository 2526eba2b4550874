/** A cluster prints a warning that concerns all its workers only once. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { eventually } from '../server/harness.ts'
import { get, start } from './child.ts'

const WORKERS = 4

/** How often a cluster prints each `MeltproofWarning`, after a request that calls out. */
async function warnings(env: Record<string, string>): Promise<Map<string, number>> {
  const child = start('workers.mjs', { env: { WORKERS: String(WORKERS), MELTPROOF_OUTBOUND: 'on', ...env } })
  let stderr = ''
  child.process.stderr!.on('data', text => {
    stderr += text
  })
  const port = await child.port()
  for (let i = 1; i < WORKERS; i++) await child.port()
  const pids = new Set<string>()
  while (pids.size < WORKERS) pids.add(await get(port, '/out'))
  await eventually('a call is told of', () => stderr.includes('outbound calls of this process are limited'))
  child.process.kill('SIGKILL')
  await child.ended
  const times = new Map<string, number>()
  for (const line of stderr.split('\n')) {
    const [, text] = /^(?:\(node:\d+\) MeltproofWarning: |meltproof\/register: )(.*)$/.exec(line) ?? []
    if (text !== undefined) times.set(text, (times.get(text) ?? 0) + 1)
  }
  return times
}

describe('a cluster warns once', () => {
  it('about variables, a dry run, limits of calls, and missing lanes', async () => {
    const found = await warnings({ MELTPROOF_LIMT: '3', MELTPROOF_DEADLINE: '5', MELTPROOF_DRY_RUN: 'on' })
    assert.deepEqual([...found.values()], [1, 1, 1, 1, 1], JSON.stringify([...found]))
  })

  it('about an address that is not local', async () => {
    const port = await freePort()
    const found = await warnings({
      MELTPROOF_ADMIN: `192.0.2.1:${port}`,
      MELTPROOF_HAPROXY_AGENT: `192.0.2.1:${port}`,
    })
    assert.deepEqual([...found.values()], [1, 1, 1, 1], JSON.stringify([...found]))
  })
})
