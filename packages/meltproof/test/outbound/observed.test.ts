/** HTTP calls of every client are recorded. Uses real clients and a real server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { after, test } from 'node:test'
import { Client, getGlobalDispatcher, Pool, request as undiciRequest, setGlobalDispatcher } from 'undici'
import { now } from '../../src/clock.ts'
import { install } from '../../src/outbound/install.ts'
import type { OutboundRecord } from '../../src/record.ts'
import { runInScope } from '../../src/outbound/scope.ts'
import type { CallTimeline } from '../../src/timing/call-timeline.ts'
import { watchDelays } from '../../src/signals/loop-stalls.ts'
import { watchCalls } from '../../src/timing/tracker.ts'
import { block } from '../block.ts'
import { eventually, listen } from '../server/harness.ts'
import { startDependency } from './dependency.ts'

const seen: { record: OutboundRecord; timeline: CallTimeline }[] = []
const see = (record: OutboundRecord, timeline: CallTimeline): unknown => seen.push({ record, timeline })
let stop = watchCalls(see)
// In a server, a pending request keeps the stall ledger running. Here the test must do that.
const release = watchDelays(() => undefined)
after(() => {
  stop()
  release()
})

const server = http.createServer((request, response) => {
  const afterMs = Number(/\d+/.exec(request.url!)?.[0] ?? 0)
  const askedAtMs = now()
  setTimeout(() => {
    // The measured time, which may be longer on a busy machine.
    const tookMs = Math.ceil(now() - askedAtMs)
    if (request.url!.startsWith('/honest')) response.setHeader('server-timing', [`db;dur=1`, `total;dur=${tookMs}`])
    response.statusCode = request.url!.startsWith('/missing') ? 404 : 200
    response.end('answer')
  }, afterMs)
})
const { port } = await listen(server)
const url = `http://127.0.0.1:${port}`
const dependency = await startDependency()
/** Resolves a path on this server, or passes on a whole URL. */
const at = (path: string): string => (path.startsWith('/') ? url + path : path)

const viaHttp = (path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    http.get(at(path), response => response.resume().on('end', resolve)).on('error', reject)
  })
const clients: Record<string, (path: string) => Promise<unknown>> = {
  fetch: path => fetch(at(path)).then(answer => answer.text()),
  undici: path => undiciRequest(at(path)).then(({ body }) => body.text()),
  'node:http': viaHttp,
}

async function next(): Promise<{ record: OutboundRecord; timeline: CallTimeline }> {
  await eventually('a call', () => seen.length > 0)
  const [first] = seen.splice(0)
  return first!
}

for (const [name, call] of Object.entries(clients)) {
  test(`${name}: a record has the peer, status, scope and Server-Timing of its call`, async () => {
    const scope = { openCalls: undefined }
    await runInScope(scope, () => call('/honest/80'))
    const { record, timeline } = await next()
    assert.deepEqual(
      [record.kind, record.peer, record.operation, record.status, record.outcome],
      ['http', url, 'GET', 200, 'answered'],
    )
    assert.equal(record.scope, scope)
    assert.match(record.serverTiming!, /^db;dur=1, total;dur=\d+$/)
    // The peer runs in this process, so on a busy machine the loop may have taken longer than the peer reports.
    const { dependencyMs, loopMs } = timeline.shares
    assert.ok(dependencyMs + loopMs > 75, JSON.stringify(timeline.shares))
    await call('/missing/1')
    assert.equal((await next()).record.status, 404)
  })

  test(`${name}: an answer that arrived while the event loop of this process stalled counts as loop time`, async () => {
    await call(`${dependency.url}/hello`)
    await next()
    const [came, written] = [dependency.came(), dependency.written()]
    const startedAtMs = now()
    const answered = call(`${dependency.url}/claims?ms=30`)
    await eventually('the request is there', () => dependency.came() > came)
    dependency.blockUntilWritten(written + 1)
    // Longer than everything before, so that the stall is the slow part.
    block(300 + 2 * (now() - startedAtMs))
    await answered
    const { record, timeline } = await next()
    assert.equal(timeline.verdict, 'loop', JSON.stringify(timeline))
    assert.ok(timeline.wallMs > 300)
    const bodyMs = record.endedAtMs - record.firstByteAtMs!
    assert.ok(timeline.dependencyMs.best <= 30 + bodyMs, `${timeline.dependencyMs.best}, body ${bodyMs}`)
  })

  test(`${name}: a refused connection counts as network time, and its record has the error code`, async () => {
    // Below the ports that the system assigns, which another test could use.
    const nobody = 2
    const refused =
      name === 'fetch'
        ? fetch(`http://127.0.0.1:${nobody}/`)
        : name === 'undici'
          ? undiciRequest(`http://127.0.0.1:${nobody}/`)
          : new Promise((_, reject) => http.get(`http://127.0.0.1:${nobody}/`).on('error', reject))
    await assert.rejects(refused)
    const { record, timeline } = await next()
    assert.deepEqual([record.outcome, record.errorCode, record.status], ['failed', 'ECONNREFUSED', undefined])
    // Only the time before the call may connect counts as a wait for the dependency.
    assert.ok(timeline.shares.dependencyMs <= record.queuedMs, JSON.stringify(timeline.shares))
  })
}

test('a call that its caller gives up is recorded as timeout or aborted', async () => {
  await assert.rejects(fetch(`${url}/5000`, { signal: AbortSignal.timeout(30) }))
  assert.equal((await next()).record.outcome, 'timeout')
  const controller = new AbortController()
  const aborted = fetch(`${url}/5000`, { signal: controller.signal })
  setTimeout(() => controller.abort(), 30)
  await assert.rejects(aborted)
  assert.equal((await next()).record.outcome, 'aborted')
})

test('a call given up while it waits for its agent does not count as network time', async () => {
  const agent = new http.Agent({ maxSockets: 1 })
  const held = once(http.get(`${url}/5000`, { agent }), 'error')
  const uninstall = install({ totalMs: 100 })
  await once(http.get(`${url}/1`, { agent }), 'error')
  const { record, timeline } = await next()
  assert.equal(record.phase, 'total')
  // On a busy machine a stall during the wait counts as loop time.
  assert.ok(['dependency', 'loop'].includes(timeline.verdict), timeline.verdict)
  uninstall()
  agent.destroy()
  await held
  await next()
})

const pool = new Pool(url, { connections: 1 })
const [keeping, closing] = [true, false].map(keepAlive => new http.Agent({ keepAlive, maxSockets: 1 }))
after(() => pool.destroy())
const viaAgent = (agent: http.Agent | undefined, path: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    http.get(url + path, { agent }, answer => answer.resume().on('end', resolve)).on('error', reject)
  })
const pools: Record<string, (path: string) => Promise<unknown>> = {
  'an undici Pool': path => pool.request({ path, method: 'GET' }).then(({ body }) => body.text()),
  'an http Agent': path => viaAgent(keeping, path),
  'an http Agent that closes': path => viaAgent(closing, path),
}

for (const [name, call] of Object.entries(pools)) {
  test(`${name}: the wait for a connection is dependency time of the request that waits`, async () => {
    // A copy of undici that is not the global one is detected at its first connection.
    await call('/1')
    const [holder, waiter] = [{ openCalls: undefined }, { openCalls: undefined }]
    const first = runInScope(holder, () => call('/150'))
    await runInScope(waiter, () => call('/quick/1'))
    await first
    const waited = seen.splice(0).filter(({ record }) => record.scope === waiter)
    assert.equal(waited.length, 1)
    const { record, timeline } = waited[0]!
    assert.equal(record.route, '/quick/*')
    assert.ok(record.queuedMs > 100, `${record.queuedMs}`)
    assert.ok(record.connectMs! < record.queuedMs, `${record.connectMs}`)
    assert.ok(timeline.shares.dependencyMs + timeline.shares.loopMs > 100, JSON.stringify(timeline.shares))
    const afterWaitMs = record.endedAtMs - record.startedAtMs - record.queuedMs
    assert.ok(timeline.dependencyMs.high <= afterWaitMs, 'the wait is no time of the dependency itself')
  })
}

test('without observers dispatch() of undici is no longer replaced', () => {
  const base = Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf(pool))) as { dispatch: unknown }
  const ours = base.dispatch
  stop()
  assert.notEqual(base.dispatch, ours)
  stop = watchCalls(see)
})

const shapes: Readonly<Record<string, (client: Client) => Client>> = {
  'undici 7': client => client,
  'undici 6, which has no stats,': client => Object.defineProperty(client, 'stats', { value: undefined }),
}

for (const [version, shaped] of Object.entries(shapes)) {
  test(`the wait in the queue of a Client of ${version} does not count towards connectMs`, async () => {
    const before = getGlobalDispatcher()
    const client = shaped(new Client(url))
    setGlobalDispatcher(client)
    const uninstall = install({ connectMs: 100 })
    const answers = await Promise.all([150, 150, 0].map(ms => undiciRequest(`${url}/${ms}`)))
    assert.deepEqual(await Promise.all(answers.map(({ body }) => body.text())), ['answer', 'answer', 'answer'])
    uninstall()
    setGlobalDispatcher(before)
    await client.close()
  })
}
