/** Operating an app without changing its code: the pages of MELTPROOF_ADMIN, the lines of MELTPROOF_ACCESS_LOG. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { describe, it } from 'node:test'
import { eventually } from '../server/harness.ts'
import { type Child, get, start } from './child.ts'

/** Below the ports that the system assigns. */
let nextPort = 20_000 + (process.pid % 10_000)

function withAdmin(app: string, env: Record<string, string> = {}): { child: Child; admin: number } {
  const admin = nextPort++
  return { child: start(app, { env: { MELTPROOF_ADMIN: `127.0.0.1:${admin}`, ...env } }), admin }
}

async function statusOf(port: number, path: string): Promise<number> {
  const request = http.get({ port, path, host: '127.0.0.1', agent: false })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.resume()
  return response.statusCode!
}

describe('the admin port', () => {
  it('has the figures of all servers of the app, and does not count its own', async () => {
    const { child, admin } = withAdmin('two-servers.mjs')
    const ports = [await child.port(), await child.port()]
    await eventually('it listens', () => get(admin, '/ready').then(Boolean, () => false))
    for (const port of [...ports, ports[0]!]) assert.equal(await get(port), 'served')
    const stats = JSON.parse(await get(admin, '/stats'))
    assert.deepEqual([stats.admitted, stats.lanes, stats.draining], [3, 64, false])
    assert.equal(stats.shed.full, 0)
    const { ready, inflight } = JSON.parse(await get(admin, '/ready'))
    assert.deepEqual([ready, inflight], [true, 0])
    let metrics = ''
    // A request is measured after its client has the response.
    await eventually('all requests are measured', async () => {
      metrics = await get(admin, '/metrics')
      return /^http_server_request_duration_seconds_count\{.*\} 3$/m.test(metrics)
    })
    assert.match(metrics, /^meltproof_admitted_total 3$/m)
    assert.equal((await get(admin, '/explain')).split('\n').length, 3)
    assert.equal(await statusOf(admin, '/elsewhere'), 404)
    child.process.kill('SIGKILL')
  })

  it('reports not ready while the process drains', async () => {
    const { child, admin } = withAdmin('slow.mjs', { MELTPROOF_DRAIN: 'on' })
    const slow = get(await child.port(), '/slow')
    await eventually('it is ready', () =>
      statusOf(admin, '/ready').then(
        status => status === 200,
        () => false,
      ),
    )
    await eventually('it serves', async () => JSON.parse(await get(admin, '/stats')).inflight === 1)
    child.process.kill('SIGTERM')
    await eventually('it is not', () =>
      statusOf(admin, '/ready').then(
        status => status === 503,
        () => true,
      ),
    )
    assert.equal(await slow, 'served')
    assert.equal((await child.ended).signal, 'SIGTERM')
  })

  it('answers again after half-open clients have taken all its connections', async () => {
    const { child, admin } = withAdmin('slow.mjs')
    await child.port()
    await eventually('it listens', () => get(admin, '/ready').then(Boolean, () => false))
    const sockets = Array.from({ length: 150 }, () => net.connect(admin, '127.0.0.1'))
    for (const socket of sockets) socket.on('error', () => undefined).write('GET /ready HTTP/1.1\r\nHost: x\r\n')
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    await assert.rejects(get(admin, '/ready'))
    await eventually('it answers', () => get(admin, '/ready').then(Boolean, () => false))
    for (const socket of sockets) socket.destroy()
    child.process.kill('SIGKILL')
  })

  it('does not keep the process alive', async () => {
    const { child } = withAdmin('calls-out.mjs', { CLIENT: 'http' })
    assert.equal((await child.ended).code, 0)
  })

  it('is reported once if the port is in use, and the app runs', async () => {
    const other = net.createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const taken = `127.0.0.1:${(other.address() as net.AddressInfo).port}`
    const child = start('http.mjs', { env: { MELTPROOF_ADMIN: taken } })
    assert.equal(await get(await child.port()), 'admitted 1')
    child.process.kill('SIGTERM')
    const { stderr } = await child.ended
    assert.match(stderr, /MeltproofWarning: meltproof\/register has no admin port\. Error: listen EADDRINUSE/)
    other.close()
  })
})

describe('the access log', () => {
  for (const [format, expected] of [
    ['json', /"method":"GET".*"\/logged".*"status":200/],
    ['combined', /"GET \/logged HTTP\/1\.1" 200/],
  ] as const) {
    it(`has a line for each request, ${format}`, async () => {
      const child = start('slow.mjs', { env: { MELTPROOF_ACCESS_LOG: format } })
      const port = await child.port()
      const line = once(child.process.stdout!, 'data')
      await get(port, '/logged')
      assert.match(String(await line), expected)
      child.process.kill('SIGKILL')
    })
  }
})

describe('a stdout whose reader has left', () => {
  it('does not end the process at the next line of the access log', async () => {
    const child = start('slow.mjs', { env: { MELTPROOF_ACCESS_LOG: 'json' } })
    const port = await child.port()
    child.process.stdout!.destroy()
    for (let i = 0; i < 3; i++) assert.equal(await get(port, '/logged'), 'served')
    child.process.kill('SIGKILL')
  })
})

describe('limits of outbound calls', () => {
  it('are those in the variables, and are reported', async () => {
    const env = { CLIENT: 'http', MELTPROOF_OUTBOUND_TOTAL: '5s', MELTPROOF_OUTBOUND_IN_FLIGHT: '9' }
    const { stdout, stderr } = await start('calls-out.mjs', { env }).ended
    assert.equal(stdout, 'hello\n'.repeat(3))
    assert.match(stderr, /to the head of the answer, 5 s in total, 9 in flight to each origin\./)
  })
})
