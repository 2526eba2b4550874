/** `Server-Timing` is sent to the configured clients, and to no others. */
import assert from 'node:assert/strict'
import http, { type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import type { ProtectOptions } from '../../src/index.ts'
import { protect } from '../../src/server/protect.ts'
import { checkPeers } from '../../src/server/request/peers.ts'
import { claimedMs } from '../../src/timing/server-timing.ts'
import { listen } from '../server/harness.ts'

async function header(options: ProtectOptions, handler: http.RequestListener): Promise<string | null> {
  const server = http.createServer(handler)
  protect(server, options)
  const { port } = await listen(server)
  const answer = await fetch(`http://127.0.0.1:${port}/`)
  await answer.text()
  return answer.headers.get('server-timing')
}

const slowly: http.RequestListener = (_, response) => {
  setTimeout(() => response.end('ok'), 50)
}

test('Server-Timing is sent neither by default nor to clients outside the listed networks', async () => {
  assert.equal(await header({}, slowly), null)
  assert.equal(await header({ serverTiming: false }, slowly), null)
  assert.equal(await header({ serverTiming: ['10.0.0.0/8', '::2'] }, slowly), null)
})

test('Server-Timing is sent to all or to peers, together with an entry of the app', async () => {
  for (const serverTiming of [true, ['127.0.0.0/8']]) {
    const claim = claimedMs((await header({ serverTiming }, slowly)) ?? undefined)
    assert.ok(claim !== undefined && claim >= 45, `${claim}`)
  }
  const both = await header({ serverTiming: true }, (_, response) => {
    response.setHeader('server-timing', 'db;dur=7')
    response.writeHead(200, 'fine', { 'x-more': '1' }).end('ok')
  })
  assert.match(both ?? '', /^db;dur=7, total;dur=\d+\.\d, queue;dur=\d+\.\d, loop;dur=\d+\.\d$/)
})

test('Server-Timing is sent with a head given as a list of pairs', async () => {
  const pairs = [
    ['x-a', '1'],
    ['x-a', '2'],
  ] as unknown as string[]
  assert.match(
    (await header({ serverTiming: true }, (_, answer) => answer.writeHead(200, pairs).end())) ?? '',
    /^total;/,
  )
})

test('an IPv4 peer of a dual-stack socket matches its IPv4 address', () => {
  const tells = checkPeers('serverTiming', ['10.0.0.0/8', 'fd00::/8', 'fe80::2'])!
  const from = (remoteAddress: string | undefined): boolean => tells({ socket: { remoteAddress } } as IncomingMessage)
  assert.deepEqual(
    ['::ffff:10.1.2.3', '10.1.2.3', '11.1.2.3', 'fd12::1', 'fe80::1', 'fe80::2%eth0', undefined].map(from),
    [true, true, false, true, false, true, false],
  )
})

test('serverTiming rejects anything but addresses and networks', () => {
  const wrong = [
    1,
    'yes',
    [],
    [''],
    ['10.0.0.0/33'],
    ['10.0.0.0/8/8'],
    ['example.org'],
    [10],
    ['::1/129'],
    ['10.0.0.1/x'],
  ]
  for (const serverTiming of wrong) {
    assert.throws(() => protect(http.createServer(), { serverTiming } as ProtectOptions), /serverTiming/)
  }
})
