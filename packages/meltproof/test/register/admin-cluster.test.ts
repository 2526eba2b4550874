/** MELTPROOF_ADMIN in a cluster: one port and one scrape with the figures of all workers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type net from 'node:net'
import { describe, it } from 'node:test'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { wrongWith } from '../observe/exposition.ts'
import { eventually } from '../server/harness.ts'
import { type Child, get, start } from './child.ts'

const WORKERS = 3

/** A cluster whose workers share the admin port. */
function cluster(admin: number, env: Record<string, string> = {}): Child {
  return start('workers.mjs', { env: { WORKERS: String(WORKERS), MELTPROOF_ADMIN: `127.0.0.1:${admin}`, ...env } })
}

/** Returns undefined while the port changes owners, and while its owner knows no listening server. */
async function figure(admin: number, line: RegExp): Promise<number | undefined> {
  const text = await get(admin, '/metrics').catch(() => undefined)
  if (text === undefined || text.startsWith('No server of this app is listening')) return undefined
  assert.deepEqual(wrongWith(text, 'prometheus'), [])
  const found = line.exec(text)?.[1]
  return found === undefined ? undefined : Number(found)
}

const ADMITTED = /^meltproof_admitted_total (\d+)$/m
const MEASURED = /^http_server_request_duration_seconds_count\{.*\} (\d+)$/m

async function served(port: number, times: number): Promise<Set<number>> {
  const pids = new Set<number>()
  for (let i = 0; i < times; i++) pids.add(Number(await get(port)))
  return pids
}

describe('the admin port of a cluster', () => {
  it('sums the figures of all workers, and keeps them when workers die', async () => {
    const admin = await freePort()
    const child = cluster(admin)
    const port = await child.port()
    await eventually('all are seen', async () => (await figure(admin, /^meltproof_lanes (\d+)$/m)) === WORKERS)
    const pids = await served(port, 30)
    assert.equal(pids.size, WORKERS)
    // On a busy machine a worker may answer the scrape too late. A request is measured after its client has the
    // response.
    await eventually('all requests are counted', async () => (await figure(admin, ADMITTED)) === 30)
    await eventually('all requests are measured', async () => (await figure(admin, MEASURED)) === 30)
    const utilization = await figure(admin, /^nodejs_eventloop_utilization_ratio (\S+)$/m)
    assert.ok(utilization! <= 1, `${utilization} is no sum`)
    const stats = JSON.parse(await get(admin, '/stats'))
    assert.deepEqual([stats.admitted, stats.lanes, stats.draining], [30, WORKERS, false])
    assert.equal((await get(admin, '/explain')).split('\n').length, WORKERS + 1)
    assert.equal(JSON.parse(await get(admin, '/ready')).ready, true)
    for (let i = 1; i < WORKERS; i++) await child.port()
    // Ends one worker after the other, so also the owner of the port.
    for (const pid of pids) {
      child.process.send(pid)
      await child.port()
      // On a busy machine a worker may be slow to send its counters to the new owner of the port.
      await eventually('what the dead have counted stays', async () => (await figure(admin, ADMITTED)) === 30)
    }
    child.process.kill('SIGKILL')
    const { stderr, stdout } = await child.ended
    assert.ok(!stderr.includes('admin port'), stderr)
    assert.deepEqual(
      stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line).listening),
      [1, 2, 3, 4, 5, 6],
      'the primary hears of no server but those of the app',
    )
  })

  it('includes a primary that listens itself', async () => {
    const admin = await freePort()
    const child = cluster(admin, { PRIMARY: 'on' })
    const port = await child.port()
    const stats = async () => JSON.parse(await get(admin, '/stats').catch(() => '{}'))
    await eventually(
      'all are seen',
      async () => (await get(admin, '/explain').catch(() => '')).split('\n').length === WORKERS + 2,
    )
    await served(port, 9)
    await eventually('all requests are counted', async () => (await stats()).admitted === 9)
    child.process.kill('SIGKILL')
    assert.ok(!(await child.ended).stderr.includes('admin port'))
  })

  it('is reported once if another process uses it, and is opened when that process closes it', async () => {
    const stranger = http.createServer((_, response) => response.end('stranger'))
    stranger.listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    stranger.unref() // lets a failing test end
    const { port: admin } = stranger.address() as net.AddressInfo
    const child = cluster(admin)
    let told = ''
    child.process.stderr!.on('data', chunk => {
      told += chunk
    })
    await child.port()
    await eventually('it is told', () => told.includes('has no admin port. Error: listen EADDRINUSE'))
    stranger.close().closeAllConnections()
    await eventually('it is taken', async () => (await figure(admin, /^meltproof_lanes (\d+)$/m)) === WORKERS)
    child.process.kill('SIGKILL')
    const { stderr } = await child.ended
    assert.equal(stderr.split('has no admin port').length, 2, stderr)
  })

  it('has the figures of one worker, with one warning, if the workers cannot connect', async () => {
    const admin = await freePort()
    const child = cluster(admin, { TMPDIR: '/dev/null' })
    await child.port()
    await eventually('one has it', async () => (await figure(admin, /^meltproof_lanes (\d+)$/m)) === 1)
    child.process.kill('SIGKILL')
    const { stderr } = await child.ended
    assert.equal(stderr.split('serves the figures of this worker only').length, 2, stderr)
  })
})
