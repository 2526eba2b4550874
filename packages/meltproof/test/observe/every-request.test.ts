/** However a request ends, the metrics count it once and the log has one line for it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { type ProtectOptions, protect } from '../../src/index.ts'
import { accessLog } from '../../src/logging/access-log.ts'
import { metrics } from '../../src/observe/prometheus.ts'
import { eventually, Holding, listen } from '../server/harness.ts'

const HISTOGRAM =
  /^http_server_request_duration_seconds_count\{.*http_response_status_code="(\d*)",error_type="(\w*)".*\} (\d+)$/gm

/** Collects the log lines and metrics of a server. */
function watched(server: http.Server, options: ProtectOptions) {
  const guard = protect(server, { drainDelayMs: 0, ...options })
  const lines: { status: number; outcome: string }[] = []
  accessLog(guard, { sampleUnderPressure: 1, write: line => void lines.push(JSON.parse(line)) })
  const handler = metrics(guard)
  const logged = (): string[] => lines.map(({ status, outcome }) => `${status} ${outcome}`).sort()
  const counted = (): string[] =>
    [...handler.text().matchAll(HISTOGRAM)].flatMap(([, status, error, count]) =>
      Array<string>(Number(count)).fill(`${status} ${error}`.trim()),
    )
  return { guard, logged, counted }
}

async function open(options: ProtectOptions = {}) {
  const holding = new Holding()
  const server = http.createServer(holding.handler)
  return { ...watched(server, options), holding, ...(await listen(server)) }
}

describe('a request is logged and counted once', () => {
  it('when its deadline ends it', async () => {
    const { connect, counted, logged } = await open({ deadlineMs: 50 })
    const client = (await connect()).get('/')
    assert.equal((await client.answer()).status, 504)
    await eventually('it is logged', () => logged().length === 1)
    assert.deepEqual([logged(), counted()], [['504 answered'], ['504 504']])
  })

  it('when its client sends invalid data behind it, waiting or in service', async () => {
    const { connect, counted, guard, holding, logged } = await open({ limit: 1 })
    const inService = (await connect()).get('/in-service')
    await holding.take('/in-service')
    const waiting = (await connect()).get('/waiting')
    await eventually('it waits', () => guard.stats().queued === 1)
    for (const client of [waiting, inService]) client.send('nonsense\r\n\r\n')
    await eventually('both are logged', () => logged().length === 2)
    assert.deepEqual(
      [logged(), counted()],
      [
        ['0 aborted', '0 aborted'],
        ['aborted', 'aborted'],
      ],
    )
  })

  it('when an upgrade arrives behind it while it waits', async () => {
    const { connect, counted, guard, holding, logged } = await open({ limit: 1 })
    const first = (await connect()).get('/in-service')
    const { response } = await holding.take('/in-service')
    const second = (await connect()).get('/waiting')
    await eventually('it waits', () => guard.stats().queued === 1)
    second.send('GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    assert.equal((await second.answer()).status, 503)
    response.end()
    await first.answer()
    await eventually('both are logged', () => logged().includes('200 answered') && logged().includes('503 shed'))
    assert.ok(counted().includes('503 shed') && counted().includes('200'))
  })

  it('when the end of a drain cuts or sheds it, before the drain resolves', async () => {
    const { connect, counted, guard, holding, logged } = await open({ limit: 1 })
    for (const path of ['/in-service', '/waiting']) (await connect()).get(path)
    await holding.take('/in-service')
    await eventually('the other one waits', () => guard.stats().queued === 1)
    assert.equal(await guard.drain(50), false)
    assert.deepEqual(
      [logged(), counted().sort()],
      [
        ['0 aborted', '503 shed'],
        ['503 shed', 'aborted'],
      ],
    )
  })

  it('when the end of a drain cuts or sheds it over HTTP/2', async () => {
    const server = http2.createServer(() => undefined)
    const { counted, guard, logged } = watched(server as never, { limit: 1 })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    session.on('error', () => undefined)
    for (const path of ['/in-service', '/waiting']) session.request({ ':path': path }).on('error', () => undefined)
    await eventually('one waits', () => guard.stats().queued === 1)
    assert.equal(await guard.drain(50), false)
    assert.deepEqual(
      [logged(), counted().sort()],
      [
        ['0 aborted', '503 shed'],
        ['503 shed', 'aborted'],
      ],
    )
    session.destroy()
  })

  it('when the deadline of a gRPC call passes, as a 504 despite its HTTP status of 200', async () => {
    const server = http2.createServer()
    server.on('stream', () => undefined)
    const { counted, logged } = watched(server as never, { deadlineMs: 50 })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const call = session.request({ ':method': 'POST', ':path': '/a.B/C', 'content-type': 'application/grpc' })
    const [head] = (await once(call, 'response')) as [http2.IncomingHttpHeaders]
    assert.deepEqual([head[':status'], head['grpc-status']], [200, '4'])
    call.end()
    await eventually('it is logged', () => logged().length === 1)
    assert.deepEqual([logged(), counted()], [['504 answered'], ['504 504']])
    session.destroy()
    server.close()
  })
})
