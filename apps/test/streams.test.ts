/** Each kind of stream is distinguished from one that was cut, was early or never arrived. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Asker, asker } from '../runner/asking.ts'
import type { Stream } from '../runner/definition.ts'
import { converse } from '../streams/all.ts'

const SILENCE_MS = 600

const routes: Readonly<Record<string, http.RequestListener>> = {
  '/whole': async (_, response) => {
    response.write('data: 1\n\n')
    await sleep(SILENCE_MS)
    response.end('data: 2\n\n')
  },
  '/cut': async (_, response) => {
    response.write('data: 1\n\n')
    await sleep(50)
    response.destroy()
  },
  '/ended': (_, response) => void response.end('data: 1\n\n'),
  '/hasty': (_, response) => void response.end('data: 1\n\ndata: 2\n\n'),
  '/late': async (_, response) => {
    await sleep(SILENCE_MS)
    response.end('late')
  },
  '/take': async (request, response) => {
    let bytes = 0
    for await (const chunk of request) bytes += (chunk as Buffer).length
    response.end(`${bytes}`)
  },
  '/refuse': (_, response) => void response.writeHead(503).end('busy'),
  '/large': (_, response) => void response.end(Buffer.alloc(100_000)),
}

const server = http.createServer((request, response) => routes[request.url!]!(request, response))
let origin = ''
let asking: Asker

before(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  asking = asker(origin)
})
after(() => {
  asking.close()
  server.close()
  server.closeAllConnections()
})

const lived = (stream: Stream): Promise<string> =>
  converse(stream, { origin, asker: asking, folder: import.meta.dirname, signal: new AbortController().signal })

const lines = (path: string): Stream => ({
  kind: 'lines',
  name: path,
  ask: { path },
  line: /^data:/,
  count: 2,
  silenceMs: SILENCE_MS,
})

test('a line stream passes if whole, and fails if it is cut, ends early or has no pause in between', async () => {
  assert.equal(await lived(lines('/whole')), '200\ndata: 1\ndata: 2')
  await assert.rejects(lived(lines('/cut')), /after 1 of 2 lines/)
  await assert.rejects(lived(lines('/ended')), /it ended after 1 of 2 lines/)
  await assert.rejects(lived(lines('/hasty')), /too short to show anything/)
})

test('a long poll passes if answered in time, and fails if answered too early', async () => {
  const poll = (path: string): Stream => ({ kind: 'long-poll', name: path, ask: { path }, waitMs: SILENCE_MS })
  assert.equal(await lived(poll('/late')), '200\nlate')
  await assert.rejects(lived(poll('/hasty')), /answered 200 after \d+ ms, not after 600/)
  await assert.rejects(lived(poll('/cut')), /aborted/)
})

test('an upload passes if received whole, and fails if refused before it was sent', async () => {
  const upload = (path: string): Stream => ({
    kind: 'upload',
    name: path,
    ask: { method: 'POST', path },
    body: () => Buffer.alloc(1001),
    overMs: SILENCE_MS,
  })
  assert.equal(await lived(upload('/take')), '200\n1001')
  await assert.rejects(lived(upload('/refuse')), /answered 503 .* before the body was sent: busy/)
})

test('a download passes if read whole, and fails if it is too short', async () => {
  const download = (path: string): Stream => ({
    kind: 'download',
    name: path,
    ask: { path },
    bytes: 100_000,
    overMs: SILENCE_MS,
  })
  assert.match(await lived(download('/large')), /^200 100000 bytes, sha256 /)
  await assert.rejects(lived(download('/hasty')), /only 18 bytes/)
})

test('a WebSocket that is refused fails', async () => {
  const socket: Stream = { kind: 'websocket', name: 'refused', path: '/refuse', steps: [{ send: 'hello' }] }
  await assert.rejects(lived(socket), /could not be opened|closed/)
})
