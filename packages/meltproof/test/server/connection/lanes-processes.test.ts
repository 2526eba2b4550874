/** Accept lanes across processes: one port with two owners, clusters, and a process that must end by itself. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../../lab/src/launch/free-port.ts'
import { canShareAddresses } from '../../../src/server/connection/listen-socket.ts'

const fixture = fileURLToPath(new URL('./lanes.fixture.ts', import.meta.url))
const canShare = canShareAddresses()
const LANES = canShare ? 16 : 1

const children = new Set<ChildProcess>()
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

function start(part: string, kind: string, extra: net.ListenOptions = {}, fds: number[] = []): ChildProcess {
  const stdio: StdioOptions = ['ignore', 'inherit', 'inherit', 'ipc', ...fds]
  const child = fork(fixture, [part, kind, JSON.stringify(extra)], { stdio })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

/** The next message of a child. Its exit is a failure, not a hang. */
async function next<T>(child: ChildProcess): Promise<T> {
  const stop = new AbortController()
  const exit = once(child, 'exit', { signal: stop.signal }).then(([code, signal]) => {
    throw new Error(`child ended (${code ?? signal}) instead of answering`)
  })
  exit.catch(() => undefined)
  const [message] = await Promise.race([once(child, 'message', { signal: stop.signal }), exit])
  stop.abort()
  return message as T
}

interface Raced {
  listening?: number
  reason?: string
  code?: string
}

/** Makes both children listen on one port at the same time. Returns the results. */
async function race(pair: readonly ChildProcess[], leadMs: readonly number[], options: net.ListenOptions) {
  const port = await freePort()
  const at = performance.timeOrigin + performance.now() + 3
  const answers = pair.map(child => next<Raced>(child))
  for (const [i, child] of pair.entries()) child.send({ port, at: at + (leadMs[i] ?? 0), options })
  const results = await Promise.all(answers)
  for (const [i, child] of pair.entries()) {
    if (results[i]?.listening === undefined) continue
    child.send({ at: 0 })
    await next(child)
  }
  return results
}

for (const kinds of [
  ['plain', 'plain'],
  ['lanes', 'lanes'],
  ['lanes', 'plain'],
] as const) {
  describe(`two processes on one port (${kinds.join(' and ')})`, () => {
    it('the second to listen gets EADDRINUSE', async () => {
      const pair = kinds.map(kind => start('race', kind))
      await Promise.all(pair.map(child => next(child)))
      for (const options of [{}, { host: '127.0.0.1' }]) {
        const [first, second] = await race(pair, [0, 400], options)
        assert.equal(first?.listening, kinds[0] === 'lanes' ? LANES : 1)
        assert.deepEqual(second, { code: 'EADDRINUSE' })
      }
      for (const child of pair) child.disconnect()
    })

    it('never listen both when they start in the same instant', async () => {
      const pair = kinds.map(kind => start('race', kind))
      await Promise.all(pair.map(child => next(child)))
      for (let i = 0; i < 40; i++) {
        const results = await race(pair, [0, (i % 5) * 0.05], { host: '127.0.0.1' })
        const listening = results.filter(result => result.listening !== undefined)
        // When two plain listen() calls race, the kernel may refuse both. It must never accept both.
        assert.ok(listening.length <= 1, JSON.stringify(results))
        for (const { listening: count, code } of results) if (count === undefined) assert.equal(code, 'EADDRINUSE')
      }
      for (const child of pair) child.disconnect()
    })
  })
}

for (const kind of ['plain', 'lanes']) {
  describe(`a process whose server has ${kind === 'plain' ? 'one listener' : 'accept lanes'}`, () => {
    for (const part of ['unref', 'unrefFirst', 'close']) {
      it(`exits by itself: ${part}`, async () => {
        const [code] = await once(start(part, kind), 'exit', { signal: AbortSignal.timeout(10_000) })
        assert.equal(code, 0)
      })
    }

    it('stays alive while a server is referenced again after unref()', async () => {
      assert.equal(await next(start('ref', kind)), 'still here')
    })

    it('listens even when file descriptors run short', { skip: process.platform === 'win32' }, async () => {
      interface Report {
        count: number
        warnings: string[]
        status: number
      }
      const report = await next<Report>(start('scarce', kind))
      assert.equal(report.status, 200)
      if (kind === 'plain' || !canShare) return
      assert.ok(report.count >= 1 && report.count < 16, String(report.count))
      assert.equal(report.warnings.length, 1)
      assert.match(report.warnings[0]!, /^only \d+ of 16 listening sockets could be opened /)
    })
  })
}

it('lanes use an inherited file descriptor as it is', { skip: process.platform === 'win32' }, async () => {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle
  const report = await next<{ count: number; warnings: string[] }>(start('inherited', 'lanes', {}, [fd]))
  assert.equal(report.count, 1)
  assert.deepEqual(report.warnings, [])
  server.close()
})

interface ClusterReport {
  reports: { count?: number; code?: string; port: number; warnings?: string[] }[]
  pids: string[]
}

describe('cluster workers', () => {
  it('share the socket of the primary, with one listener each, and the first warns that lanes do not apply', async () => {
    for (const kind of ['plain', 'lanes']) {
      const { reports, pids } = await next<ClusterReport>(start('cluster', kind))
      assert.equal(reports[0]?.port, reports[1]?.port)
      assert.equal(pids.length, 2)
      for (const { count } of reports) assert.equal(count, 1)
      if (kind === 'plain') continue
      const warnings = reports.flatMap(report => report.warnings ?? [])
      assert.equal(warnings.length, 1)
      assert.match(warnings[0]!, /cluster workers share/)
    }
  })

  it('have their own lanes when they listen exclusively', async () => {
    const { reports, pids } = await next<ClusterReport>(start('cluster', 'lanes', { exclusive: true }))
    assert.notEqual(reports[0]?.port, reports[1]?.port)
    assert.equal(pids.length, 2)
    for (const { count, warnings } of reports) assert.deepEqual([count, warnings], [LANES, []])
  })

  it('share a port among their own lanes with reusePort', { skip: !canShare }, async () => {
    const port = await freePort()
    const { reports, pids } = await next<ClusterReport>(start('cluster', 'lanes', { port, reusePort: true }))
    assert.equal(pids.length, 2)
    for (const { count } of reports) assert.equal(count, LANES)
  })

  it('get EADDRINUSE for a port in use when they listen exclusively', async () => {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as net.AddressInfo
    for (const kind of ['plain', 'lanes']) {
      const child = start('clusterTaken', kind, { port, exclusive: true })
      assert.deepEqual(await next(child), ['EADDRINUSE', 'EADDRINUSE'])
    }
    server.close()
  })
})
