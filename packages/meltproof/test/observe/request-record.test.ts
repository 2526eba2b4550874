/** The records that real servers publish of requests, on a clock that the test moves. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { calls, passingRequests, type RequestMessage, requests, type ShedMessage, sheds } from '../../src/channels.ts'
import { now } from '../../src/clock.ts'
import type { OutboundRecord } from '../../src/record.ts'
import { nameRoute } from '../../src/request-notes.ts'
import { currentScope } from '../../src/outbound/scope.ts'
import { isBeating } from '../../src/signals/loop-stalls.ts'
import { protect } from '../../src/server/protect.ts'
import { eventually, Holding, listen, startGated, startFull } from '../server/harness.ts'
import { testClock } from '../test-clock.ts'

const { pass, stall } = testClock()
const seen: RequestMessage[] = []
const see = (message: RequestMessage): void => {
  seen.push(message)
}
/** Sums of floats differ in their last digits. */
const near = (actual: number, expected: number, what: string): void =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${what}: ${actual}, expected ${expected}`)
after(() => requests.unsubscribe(see))

async function recordOf(url: string): Promise<RequestMessage> {
  await eventually(`the record of ${url}`, () => seen.some(message => message.record.url === url))
  return seen.find(message => message.record.url === url)!
}

test('without a subscriber nothing is published, no scope is entered and no heartbeat runs', async () => {
  let scope: object | undefined = {}
  const { connect } = await startGated((_, response) => {
    scope = currentScope()
    response.end()
  })
  await (await connect()).get('/unseen').answer()
  assert.equal(scope, undefined)
  assert.equal(isBeating(), false)
})

test('a record has status and route, and times that add up', async () => {
  requests.subscribe(see)
  const { connect, server } = await startGated(async (request, response) => {
    nameRoute(request, '/named/:id')
    await pass(30)
    response.writeHead(404).end('gone')
  })
  await (await connect()).get('/named/7?q=1').answer()
  const { record, server: from, response } = await recordOf('/named/7?q=1')
  assert.equal(from, server)
  assert.equal(response.statusCode, 404)
  assert.deepEqual(
    [record.method, record.route, record.status, record.outcome, record.calls],
    ['GET', '/named/:id', 404, 'answered', 0],
  )
  const { queuedMs, stalledMs, dependencyMs, networkMs, ownMs, totalMs } = record
  near(totalMs, 30, 'in all')
  near(queuedMs + stalledMs + dependencyMs + networkMs + ownMs, totalMs, 'together')
})

test('the URL is as it arrived, even if a router has shortened it and the client disconnects', async () => {
  let target: string | undefined
  const { connect } = await startGated(request => {
    request.url = target = '/shortened'
  })
  const client = (await connect()).get('/api/shortened')
  await eventually('its handler runs', () => target !== undefined)
  client.destroy()
  const { record } = await recordOf('/api/shortened')
  assert.equal(record.outcome, 'aborted')
})

test('an HTTP/2 client that disconnects before or during the response is recorded as aborted', async () => {
  const server = http2.createServer((request, response) => {
    if (request.url === '/h2-begun') response.write('a')
    else request.stream.session!.destroy()
  })
  protect(server)
  after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  for (const path of ['/h2-begun', '/h2-gone']) {
    const session = http2.connect(`http://127.0.0.1:${port}`).on('error', () => undefined)
    after(() => session.destroy())
    const stream = session.request({ ':path': path }).on('error', () => undefined)
    stream.on('data', () => stream.close(http2.constants.NGHTTP2_CANCEL))
    const { record } = await recordOf(path)
    assert.equal(record.outcome, 'aborted')
  }
})

test('a subscriber may keep its records, also next to a subscriber that does not', async () => {
  const read: string[] = []
  const inPassing = ({ record }: RequestMessage): void => {
    read.push(record.url)
  }
  passingRequests.subscribe(inPassing)
  const { connect } = await startGated((_, response) => response.end('four'))
  const connection = await connect()
  await connection.get('/kept').answer()
  const { record } = await recordOf('/kept')
  const asPublished = structuredClone(record)
  await connection.get('/next').answer()
  await recordOf('/next')
  passingRequests.unsubscribe(inPassing)
  assert.deepEqual(structuredClone(record), asPublished)
  assert.equal(record.bytes, 4)
  assert.deepEqual(read, ['/kept', '/next'])
})

test('a client that disconnects before the response is recorded as aborted, with status 0', async () => {
  const holding = new Holding()
  const { connect } = await startGated(holding.handler)
  const connection = await connect()
  connection.get('/left')
  await holding.take('/left')
  connection.destroy()
  const { record } = await recordOf('/left')
  assert.deepEqual([record.outcome, record.status], ['aborted', 0])
})

test('a request that waits while another handler blocks gets the verdict loop; the blocking request gets self', async () => {
  const holding = new Holding()
  const { connect } = await startGated(
    (request, response) => {
      if (request.url === '/blocks') {
        stall(200)
        response.end()
      } else holding.handler(request, response)
    },
    { limit: 10 },
  )
  const [victim, culprit] = [await connect(), await connect()]
  const answered = victim.get('/victim').answer()
  const { response } = await holding.take('/victim')
  await culprit.get('/blocks').answer()
  response.end()
  await answered
  const blocked = (await recordOf('/blocks')).record
  assert.equal(blocked.verdict, 'self')
  near(blocked.ownMs, 200, 'its own')
  const sat = (await recordOf('/victim')).record
  assert.equal(sat.verdict, 'loop')
  near(sat.totalMs, 200, 'in all')
  near(sat.stalledMs, 200, 'stalled')
})

test('lateMs is how long the bytes of a request may have waited during a stall', async () => {
  const holding = new Holding()
  const { connect } = await startGated(
    (request, response) => {
      if (request.url === '/slow') holding.handler(request, response)
      else response.end()
    },
    { limit: 10 },
  )
  // Separates this test from the stall of the one before.
  await pass(50)
  const slow = (await connect()).get('/slow').answer()
  const { response } = await holding.take('/slow')
  const other = await connect()
  await pass(50)
  // Its bytes are in the socket, and are read only after the stall.
  void other.get('/late')
  stall(250)
  const { record } = await recordOf('/late')
  response.end()
  await slow
  near(record.lateMs, 250, 'late')
  assert.equal(record.verdict, 'loop')
  assert.equal((await recordOf('/slow')).record.lateMs, 0)
  // Data read within 12 ms of a stall may have waited during it, which must not affect the next test.
  await pass(50)
})

test('a published call counts towards the request in its scope', async () => {
  const { connect } = await startGated(async (_, response) => {
    const startedAtMs = now()
    const scope = currentScope()
    await pass(200)
    const endedAtMs = now()
    calls.publish({
      kind: 'http',
      peer: 'http://somebody',
      operation: 'GET',
      route: '/',
      status: 200,
      outcome: 'answered',
      errorCode: undefined,
      phase: undefined,
      startedAtMs,
      queuedMs: 0,
      connectMs: 0,
      sentAtMs: startedAtMs,
      firstByteAtMs: endedAtMs,
      endedAtMs,
      serverTiming: undefined,
      scope,
    } satisfies OutboundRecord)
    response.end()
  })
  await (await connect()).get('/depends').answer()
  const { record } = await recordOf('/depends')
  assert.equal(record.calls, 1)
  assert.equal(record.verdict, 'dependency')
  near(record.dependencyMs, 200, 'the dependency')
})

test('a client that disconnects during a call has waited for the dependency', async () => {
  const dependency = await listen(http.createServer(() => undefined))
  let asked = false
  const { connect } = await startGated(() => {
    http.get(`http://127.0.0.1:${dependency.port}/hangs`).on('error', () => undefined)
    asked = true
  })
  const connection = await connect()
  connection.get('/hung')
  await eventually('the call', () => asked)
  await pass(150)
  connection.destroy()
  const { record } = await recordOf('/hung')
  assert.deepEqual([record.outcome, record.calls], ['aborted', 1])
  near(record.dependencyMs, 150, 'the dependency')
  near(record.ownMs, 0, 'its own')
  near(record.poolMs, 0, 'the pool')
})

test('a client that disconnects while the call waits for a connection has waited for the pool', async () => {
  const dependency = await listen(http.createServer(() => undefined))
  const agent = new http.Agent({ maxSockets: 1 })
  let asked = 0
  const { connect } = await startGated(
    () => {
      http.get(`http://127.0.0.1:${dependency.port}/hangs`, { agent }).on('error', () => undefined)
      asked++
    },
    { limit: 10 },
  )
  const holder = await connect()
  holder.get('/holds')
  await eventually('the holder', () => asked === 1)
  const connection = await connect()
  connection.get('/waits')
  await eventually('the call', () => asked === 2)
  await pass(150)
  connection.destroy()
  const { record } = await recordOf('/waits')
  holder.destroy()
  agent.destroy()
  assert.equal(record.calls, 1)
  near(record.poolMs, 150, 'the pool')
  near(record.dependencyMs, 150, 'the dependency')
  near(record.ownMs, 0, 'its own')
})

test('a slow upload counts as network time', async () => {
  let begun = false
  const { port } = await startGated(
    (request, response) => {
      begun = true
      request.resume()
      request.on('end', () => response.end())
    },
    { limit: 10 },
  )
  const upload = http.request({ port, method: 'POST', path: '/upload', headers: { 'content-length': 4 } })
  upload.on('response', response => response.resume())
  upload.write('ab')
  await eventually('its first half is there', () => begun)
  await pass(500)
  upload.end('cd')
  const { record } = await recordOf('/upload')
  assert.equal(record.verdict, 'network')
  near(record.networkMs, 500, 'the network')
})

test('the handler runs in the scope of its request, even after it has waited', async () => {
  const scopes: (object | undefined)[] = []
  const answers: (() => void)[] = []
  const { connect, requestPath } = await startGated((_, response) => {
    scopes.push(currentScope())
    setImmediate(() => scopes.push(currentScope()))
    answers.push(() => response.end())
  })
  const first = (await connect()).get('/first').answer()
  await eventually('the first', () => answers.length === 1)
  const second = (await connect()).get('/second').answer()
  await eventually('the second waits', () => requestPath.stats().queued === 1)
  await pass(60)
  answers[0]!()
  await eventually('the second', () => answers.length === 2)
  answers[1]!()
  await Promise.all([first, second])
  await eventually('what each set off', () => scopes.length === 4)
  const [a, again, b, bAgain] = scopes
  assert.ok(a !== undefined && a === again)
  assert.ok(b !== undefined && b !== a && b === bAgain)
  const { record } = await recordOf('/second')
  near(record.queuedMs, 60, 'in the queue')
})

test('a shed request is published as a shed with its reason, and has no request record', async () => {
  const shed: ShedMessage[] = []
  const note = (message: ShedMessage): void => {
    shed.push(message)
  }
  sheds.subscribe(note)
  const { connect, freePermits } = await startFull()
  await (await connect()).get('/turned-away').answer()
  assert.equal(shed.length, 1)
  assert.equal(shed[0]!.request?.url, '/turned-away')
  assert.equal(shed[0]!.record.reason, 'full')
  await freePermits()
  sheds.unsubscribe(note)
  assert.ok(!seen.some(({ record }) => record.url === '/turned-away'))
})

test('the heartbeat stops after the last request', async () => {
  requests.unsubscribe(see)
  await eventually('the heartbeat ends', () => !isBeating())
})
