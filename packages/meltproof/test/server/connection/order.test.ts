/**
 * Random pipelined conversations under overload: the n-th response on a connection belongs to its n-th request,
 * whatever was served, queued, shed or closed. A swapped response would answer another client's request.
 */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type GatedService, eventually, startGated } from '../harness.ts'

/** Mulberry32, for the same conversations every time. */
function seeded(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

interface Asked {
  readonly id: string
  readonly method: string
  readonly bytes: string
}

function ask(id: string, pick: number): Asked {
  const head = (method: string, ...lines: string[]): string =>
    [`${method} /${id} HTTP/1.1`, 'Host: test', ...lines, '', ''].join('\r\n')
  // Bodies look like requests, so that a gate that loses its place in them is detected.
  const body = 'GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n'
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`
  const method = pick === 1 ? 'HEAD' : pick >= 3 && pick <= 6 ? 'POST' : 'GET'
  const bytes = [
    head('GET'),
    head('HEAD'),
    head('GET', 'Accept: text/html'),
    head('POST', `Content-Length: ${body.length}`) + body,
    `${head('POST', 'Transfer-Encoding: chunked')}${chunk}0\r\nX-Sum: ${id}\r\n\r\n`,
    head('POST', 'Content-Length: 100000') + body.padEnd(100_000, 'x'),
    head('POST', 'Expect: 100-continue', `Content-Length: ${body.length}`) + body,
    head('GET', 'Connection: Upgrade', 'Upgrade: nothing'),
  ][pick]!
  return { id, method, bytes }
}

const answered = { served: 0, shed: 0 }

async function converse(service: GatedService, name: string, random: (below: number) => number): Promise<void> {
  const client = await service.connect()
  // An upgrade is last, because Node reads no further behind one without a listener.
  const last = random(8)
  const asked = Array.from({ length: last + 1 }, (_, i) => ask(`${name}-${i}`, random(i === last ? 8 : 7)))
  const bytes = asked.map(({ bytes }) => bytes).join('')
  const sending = (async () => {
    for (let at = 0; at < bytes.length && !client.isClosed; ) {
      const piece = 1 + random(random(2) === 0 ? 60 : 30_000)
      client.send(bytes.slice(at, at + piece))
      at += piece
      await turn()
    }
  })()
  for (const { id, method } of asked) {
    let answer = await client.answer(method)
    if (answer.status === 100) answer = await client.answer(method)
    if (answer.status === 200) {
      answered.served++
      assert.equal(answer.headers['x-id'], `/${id}`)
      if (method !== 'HEAD') assert.equal(answer.body, `/${id}`)
    } else {
      answered.shed++
      assert.equal(answer.status, 503, id)
      assert.ok(Number(answer.headers['retry-after']) >= 1)
    }
    // RFC 9112 section 9.6: nothing after this is a response.
    if (answer.headers['connection'] === 'close') break
  }
  await sending
  await turn()
  assert.equal(client.received, '', 'no answer without a request')
  client.destroy()
}

function handler(request: IncomingMessage, response: ServerResponse): void {
  assert.notEqual(request.url, '/smuggled')
  assert.equal(request.headers['x-sum'], undefined)
  const id = request.url!
  const answer = (): void => void response.setHeader('x-id', id).end(id)
  switch (id.length % 3) {
    case 0:
      answer()
      break
    case 1:
      setTimeout(answer, 1)
      break
    default:
      request.resume().on('end', () => setImmediate(answer))
  }
}

describe('answers keep the order of their requests', () => {
  for (const [how, limit, tuning] of [
    ['when the limit is never reached', 1000, {}],
    ['when one is served at a time', 1, {}],
    ['when waiting requests are soon shed', 1, { maxWaitMs: 2 }],
    ['when the queue is short', 2, { maxQueued: 2, maxWaitMs: 5 }],
  ] as const) {
    it(how, async () => {
      const service = await startGated(handler, { limit, tuning })
      answered.served = 0
      answered.shed = 0
      for (let round = 0; round < 25; round++) {
        const random = seeded(round)
        await Promise.all(
          Array.from({ length: 10 }, (_, i) => converse(service, `${round}-${i}`, seeded(random(1 << 30)))),
        )
      }
      await eventually(
        'nothing is held',
        () => service.requestPath.stats().inflight === 0 && service.requestPath.stats().queued === 0,
      )
      assert.ok(answered.served > 100, JSON.stringify(answered))
      if (Object.keys(tuning).length > 0) assert.ok(answered.shed > 100, JSON.stringify(answered))
    })
  }
})
