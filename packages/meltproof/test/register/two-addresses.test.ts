/** Servers with one handler and one port are one server if Fastify created them for the addresses of `localhost`. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { describe, it } from 'node:test'
import { eventually } from '../server/harness.ts'
import { type Child, get, start } from './child.ts'

/** Below the ports that the system assigns. */
let nextPort = 10_000 + (process.pid % 10_000)

async function from(host: string, port: number, path: string): Promise<number> {
  const [response] = (await once(http.get({ host, port, path, agent: false }), 'response')) as [http.IncomingMessage]
  response.resume()
  return response.statusCode!
}

interface Started {
  readonly child: Child
  readonly port: number
  stats(): Promise<{ inflight: number; queued: number; limit: number; admitted: number }>
}

async function started(env: Record<string, string>): Promise<Started> {
  const admin = nextPort++
  const child = start('two-addresses.mjs', { env: { MELTPROOF_ADMIN: `127.0.0.1:${admin}`, ...env } })
  const port = await child.port()
  return { child, port, stats: async () => JSON.parse(await get(admin, '/stats')) }
}

// On other platforms 127.0.0.2 is not a local address.
describe('two addresses, one port and one handler', { skip: process.platform !== 'linux' }, () => {
  it('share one limit', async () => {
    const { child, port, stats } = await started({ MELTPROOF_LIMIT: '1' })
    const both = [from('127.0.0.1', port, '/slow'), from('127.0.0.2', port, '/slow')]
    await eventually('one is served and one waits', async () => {
      const { inflight, queued, limit } = await stats()
      return inflight === 1 && queued === 1 && limit === 1
    })
    await Promise.all(both)
    child.process.kill('SIGKILL')
  })

  it('drain together', async () => {
    const { child, port, stats } = await started({ MELTPROOF_DRAIN: 'on' })
    const both = [from('127.0.0.1', port, '/slow'), from('127.0.0.2', port, '/slow')]
    await eventually('both are served', async () => (await stats()).inflight === 2)
    child.process.kill('SIGTERM')
    assert.deepEqual(await Promise.all(both), [200, 200])
    assert.equal((await child.ended).signal, 'SIGTERM')
  })

  it('close together, and do not keep the process alive', async () => {
    const { child, port, stats } = await started({})
    const slow = from('127.0.0.2', port, '/slow')
    await eventually('it is served', async () => (await stats()).inflight === 1)
    assert.equal(await from('127.0.0.1', port, '/stop'), 200)
    assert.equal(await slow, 200)
    assert.equal((await child.ended).code, 0)
  })

  it('are two servers if each has its own handler', async () => {
    const { child, stats } = await started({ SAME: 'no', MELTPROOF_LIMIT: '1' })
    assert.equal((await stats()).limit, 2)
    child.process.kill('SIGKILL')
  })

  it('are two servers if the app created both: the second serves after the first has closed', async () => {
    const { child, port, stats } = await started({ APART: 'yes', MELTPROOF_LIMIT: '1' })
    assert.equal((await stats()).limit, 2)
    assert.equal(await from('127.0.0.1', port, '/stop'), 200)
    await eventually('the first has closed', async () => (await stats()).limit === 1)
    assert.equal(await from('127.0.0.2', port, '/'), 200)
    child.process.kill('SIGKILL')
  })

  it('are two servers if only one handles upgrades', async () => {
    const { child, port } = await started({ UPGRADES: 'second' })
    const socket = net.connect(port, '127.0.0.2').setEncoding('utf8')
    socket.end('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: any\r\n\r\n')
    const [answer] = await once(socket, 'data')
    assert.match(answer, /^HTTP\/1.1 101 Hello/)
    child.process.kill('SIGKILL')
  })

  it('are two servers if the second had to listen on another port', async () => {
    const { child, port, stats } = await started({ TAKEN: 'yes', MELTPROOF_LIMIT: '1' })
    const other = await child.port()
    assert.equal((await stats()).limit, 2)
    assert.equal(await from('127.0.0.1', port, '/stop'), 200)
    await eventually('the first has closed', async () => (await stats()).limit === 1)
    assert.equal(await from('127.0.0.1', other, '/'), 200)
    child.process.kill('SIGKILL')
  })
})
