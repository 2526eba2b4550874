/** What is published of requests, by real servers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { calls, passingRequests, type RequestMessage, requests, type ShedMessage, sheds } from '../../src/channels.ts'
import { now } from '../../src/clock.ts'
import type { OutboundRecord } from '../../src/record.ts'
import { nameRoute } from '../../src/route.ts'
import { currentScope } from '../../src/scope.ts'
import { isBeating } from '../../src/signals/loop-stalls.ts'
import { block } from '../block.ts'
import { protect } from '../../src/server/protect.ts'
import { eventually, listen, openDoor, openFullDoor } from '../server/harness.ts'
import { HeldThreads, THREADS } from '../signals/held-threads.ts'

const seen: RequestMessage[] = []
const see = (message: RequestMessage): void => {
  seen.push(message)
}
const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
after(() => requests.unsubscribe(see))

async function recordOf(url: string): Promise<RequestMessage> {
  await eventually(`the record of ${url}`, () => seen.some(message => message.record.url === url))
  return seen.find(message => message.record.url === url)!
}

test('while nobody observes nothing is published, no scope is entered and no heartbeat runs', async () => {
  let scope: object | undefined = {}
  const { connect } = await openDoor((_, response) => {
    scope = currentScope()
    response.end()
  })
  await (await connect()).get('/unseen').answer()
  assert.equal(scope, undefined)
  assert.equal(isBeating(), false)
})

test('a record for each request: status, route, times that add up', async () => {
  requests.subscribe(see)
  const { connect, server } = await openDoor((request, response) => {
    nameRoute(request, '/named/:id')
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
  assert.ok(Math.abs(queuedMs + stalledMs + dependencyMs + networkMs + ownMs - totalMs) < 1e-6)
})

test('the target is as it came, also when its client leaves while a router has shortened it', async () => {
  let target: string | undefined
  const { connect } = await openDoor(request => {
    request.url = target = '/shortened'
  })
  const client = (await connect()).get('/api/shortened')
  await eventually('its handler runs', () => target !== undefined)
  client.destroy()
  const { record } = await recordOf('/api/shortened')
  assert.equal(record.outcome, 'aborted')
})

test('an HTTP/2 client that leaves is not answered, before its answer and in the middle of it', async () => {
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

test('a subscriber keeps its records, also where others read theirs in passing', async () => {
  const read: string[] = []
  const inPassing = ({ record }: RequestMessage): void => {
    read.push(record.url)
  }
  passingRequests.subscribe(inPassing)
  const { connect } = await openDoor((_, response) => response.end('four'))
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

test('a client that goes away first is an abort, without a status when none was sent', async () => {
  const { connect } = await openDoor(() => undefined)
  const connection = await connect()
  connection.get('/left')
  await sleep(20)
  connection.destroy()
  const { record } = await recordOf('/left')
  assert.deepEqual([record.outcome, record.status], ['aborted', 0])
})

test('a request that sat through a stall of somebody else says loop; the one whose handler blocks says self', async () => {
  const { connect } = await openDoor(
    (request, response) => {
      if (request.url === '/blocks') {
        block(200)
        response.end()
      } else setTimeout(() => response.end(), 30)
    },
    { limit: 10 },
  )
  const [victim, culprit] = [await connect(), await connect()]
  const answered = victim.get('/victim').answer()
  await sleep(15)
  await culprit.get('/blocks').answer()
  await answered
  const blocked = (await recordOf('/blocks')).record
  assert.equal(blocked.verdict, 'self')
  const sat = (await recordOf('/victim')).record
  assert.equal(sat.verdict, 'loop')
  assert.ok(sat.stalledMs > 120, `${sat.stalledMs}`)
})

test('a request whose bytes came during a stall says how long they may have lain there', async () => {
  const { connect } = await openDoor(
    (request, response) => {
      if (request.url === '/slow') setTimeout(() => response.end(), 400)
      else response.end()
    },
    { limit: 10 },
  )
  // The loop has turned to something new since the stall of the test before.
  await sleep(50)
  const slow = (await connect()).get('/slow').answer()
  const other = await connect()
  await sleep(50)
  setTimeout(() => {
    // Its bytes are in the socket, and nobody reads them before the block is over.
    void other.get('/late')
    block(250)
  }, 1)
  await eventually('the stalled request', () => seen.some(({ record }) => record.url === '/late'))
  await slow
  const { record } = await recordOf('/late')
  assert.ok(record.lateMs > 150, JSON.stringify(record))
  assert.equal(record.verdict, 'loop')
  assert.equal((await recordOf('/slow')).record.lateMs, 0)
})

test('calls published by anybody are counted towards the request they were made for', async () => {
  const { connect } = await openDoor(async (_, response) => {
    const startedAtMs = now()
    const scope = currentScope()
    await sleep(200)
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
  assert.ok(record.dependencyMs > 100, `${record.dependencyMs}`)
})

test('a client that leaves while a call is under way has waited for the dependency', async () => {
  const dependency = await listen(http.createServer(() => undefined))
  let asked = false
  const { connect } = await openDoor(() => {
    http.get(`http://127.0.0.1:${dependency.port}/hangs`).on('error', () => undefined)
    asked = true
  })
  const connection = await connect()
  connection.get('/hung')
  await eventually('the call', () => asked)
  await sleep(150)
  connection.destroy()
  const { record } = await recordOf('/hung')
  assert.deepEqual([record.outcome, record.calls], ['aborted', 1])
  assert.ok(record.dependencyMs > 100 && record.ownMs < record.dependencyMs, JSON.stringify(record))
  assert.ok(record.poolMs < record.dependencyMs, JSON.stringify(record))
})

test('so has one that leaves while the call waits for a connection', async () => {
  const dependency = await listen(http.createServer(() => undefined))
  const agent = new http.Agent({ maxSockets: 1 })
  let asked = 0
  const { connect } = await openDoor(
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
  await sleep(150)
  connection.destroy()
  const { record } = await recordOf('/waits')
  holder.destroy()
  agent.destroy()
  assert.equal(record.calls, 1)
  // A stall of a busy machine while it waits is the loop's.
  assert.ok(record.poolMs > 0 && record.poolMs <= record.dependencyMs, JSON.stringify(record))
  assert.ok(record.poolMs + record.stalledMs > 100 && record.ownMs < 50, JSON.stringify(record))
})

test('a call whose name waits for a thread that our own work has is the work of its request', {
  ...(process.platform === 'win32' ? { skip: 'no named pipes' } : {}),
}, async () => {
  const dependency = await listen(http.createServer((_, response) => response.end()))
  const { port } = await openDoor(async (_, response) => {
    const held = new HeldThreads(THREADS)
    const called = fetch(`http://localhost:${dependency.port}`).then(answer => answer.text())
    await sleep(300)
    await held.release()
    await called
    response.end()
  })
  await fetch(`http://127.0.0.1:${port}/held`).then(answer => answer.text())
  const { record } = await recordOf('/held')
  assert.equal(record.calls, 1)
  // What else there is may be a stall of a busy machine.
  assert.ok(record.ownMs + record.stalledMs > 250 && record.networkMs < 50, JSON.stringify(record))
})

test('a slow upload and a slow download are the network', async () => {
  const { port } = await openDoor(
    (request, response) => {
      request.resume()
      request.on('end', () => response.end())
    },
    { limit: 10 },
  )
  const upload = http.request({ port, method: 'POST', path: '/upload', headers: { 'content-length': 4 } })
  upload.on('response', response => response.resume())
  upload.write('ab')
  await sleep(500)
  upload.end('cd')
  const { record } = await recordOf('/upload')
  // A stall of a busy machine while it waits is the loop's.
  assert.equal(record.verdict, record.stalledMs >= record.networkMs ? 'loop' : 'network')
  assert.ok(record.networkMs + record.stalledMs > 400, JSON.stringify(record))
})

test('the handler runs in the scope of its request, also after it has waited at the gate', async () => {
  const scopes: (object | undefined)[] = []
  const answers: (() => void)[] = []
  const { connect } = await openDoor((_, response) => {
    scopes.push(currentScope())
    setImmediate(() => scopes.push(currentScope()))
    answers.push(() => response.end())
  })
  const first = (await connect()).get('/first').answer()
  await eventually('the first', () => answers.length === 1)
  const second = (await connect()).get('/second').answer()
  await sleep(60)
  answers[0]!()
  await eventually('the second', () => answers.length === 2)
  answers[1]!()
  await Promise.all([first, second])
  await eventually('what each set off', () => scopes.length === 4)
  const [a, again, b, bAgain] = scopes
  assert.ok(a !== undefined && a === again)
  assert.ok(b !== undefined && b !== a && b === bAgain)
  const { record } = await recordOf('/second')
  assert.ok(record.queuedMs > 30, `${record.queuedMs}`)
})

test('a request turned away is published as a shed, with its reason, and has no record', async () => {
  const shed: ShedMessage[] = []
  const note = (message: ShedMessage): void => {
    shed.push(message)
  }
  sheds.subscribe(note)
  const { connect, make } = await openFullDoor()
  await (await connect()).get('/turned-away').answer()
  assert.equal(shed.length, 1)
  assert.equal(shed[0]!.request?.url, '/turned-away')
  assert.equal(shed[0]!.record.reason, 'full')
  await make()
  sheds.unsubscribe(note)
  assert.ok(!seen.some(({ record }) => record.url === '/turned-away'))
})

test('when the last request is over the heartbeat ends', async () => {
  requests.unsubscribe(see)
  await eventually('the heartbeat ends', () => !isBeating())
})
