/**
 * An error of meltproof does not end a process that would otherwise continue. No app has a listener for the error. Each
 * runs in a child process, once bare and once with each set of limits.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, describe, test } from 'node:test'
import http from 'node:http'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { listen } from '../server/harness.ts'

/** A server that is silent, stops after the start of a body, or responds. It accepts upgrades. */
const server = http.createServer((request, response) => {
  if (request.url === '/begins') response.write('some')
  if (request.url === '/quick') response.end('whole')
})
const upgraded: Duplex[] = []
server.on('upgrade', (_request, socket: Duplex) => {
  upgraded.push(socket)
  socket.on('error', () => undefined)
  socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
})
const { port } = await listen(server)
after(() => {
  server.close()
  server.closeAllConnections()
  for (const socket of upgraded) socket.destroy()
})

const source = (file: string): string => JSON.stringify(new URL(`../../src/${file}.ts`, import.meta.url).href)
const PRELUDE = `
import http from 'node:http'
import { Readable } from 'node:stream'
import { Agent, Client, request as undiciRequest, setGlobalDispatcher } from 'undici'
import { WebSocket as WsClient } from 'ws'
import { install } from ${source('outbound/install')}
import { within } from ${source('deadline/within')}
const url = 'http://127.0.0.1:${port}/'
const neverLookedUp = { lookup: () => {} }
setGlobalDispatcher(new Agent())
`
/** The code of each app. The limits expire within 400 ms. */
const APPS: Readonly<Record<string, string>> = {
  'a request that gets no connection': `http.get('http://localhost:${port}', neverLookedUp)`,
  'a request that gets no answer': `http.get(url)`,
  'a request that waits in its agent': `
    const agent = new http.Agent({ maxSockets: 1 })
    http.get(url, { agent }).on('error', () => {})
    http.get(url, { agent })`,
  'a body that stops': `http.get(url + 'begins', response => response.resume())`,
  'a body that is not read': `http.get(url + 'begins', () => {})`,
  'an error that is passed on to an emitter without a listener': `
    const { EventEmitter } = await import('node:events')
    const own = new EventEmitter()
    http.get(url).on('error', error => own.emit('error', error))
    http.get(url + 'begins', response => response.resume().on('error', error => own.emit('error', error))).on('error', () => {})`,
  'a WebSocket of ws that gets no connection': `new WsClient('ws://localhost:${port}', neverLookedUp)`,
  'a call whose deadline passes': `
    within(50, () => new Promise(() => void http.get(url))).catch(() => {})
    within(50, () => new Promise(() => void http.get(url + 'begins', response => response.resume()))).catch(() => {})`,
  'a call that is refused': `
    http.get(url)
    http.get(url)
    http.get(url)`,
  'a body of undici that is not read': `await undiciRequest(url + 'begins')`,
  'a call of undici that is refused, with a body': `
    undiciRequest(url).catch(() => {})
    for (let i = 0; i < 3; i++) {
      const client = new Client(url)
      client.dispatch({ path: '/', method: 'POST', body: new Readable({ read() {} }) }, {
        onRequestStart() {}, onResponseStart() {}, onResponseData() {}, onResponseEnd() {}, onResponseError() {},
        onConnect() {}, onHeaders() {}, onData() {}, onComplete() {}, onError() {},
      })
    }`,
  'a request that Node cannot make': `
    try { http.get({ host: '127.0.0.1', port: 99_999_999 }) } catch {}`,
}
const LIMITS = {
  plain: '{ connectMs: 100, firstByteMs: 100, idleMs: 100, totalMs: 400 }',
  refusing: '{ connectMs: 100, firstByteMs: 100, idleMs: 100, totalMs: 400, maxInFlight: 1 }',
  adaptive: '{ connectMs: 100, firstByteMs: 100, idleMs: 100, totalMs: 400, adaptive: true }',
}

/** Resolves if the process reaches its end, and rejects if it ends earlier. */
async function run(app: string, limits: string | undefined): Promise<{ stdout: string; stderr: string }> {
  const script = `${PRELUDE}
    ${limits === undefined ? '' : `install(${limits})`}
    ${app}
    setTimeout(() => { console.log('went on'); process.exit() }, 1000)`
  return await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script],
    {
      cwd: import.meta.dirname,
    },
  )
}

for (const [what, app] of Object.entries(APPS)) {
  describe(`${what}, without an error listener`, { concurrency: true }, () => {
    for (const [name, limits] of [['bare', undefined], ...Object.entries(LIMITS)] as const) {
      test(`${name}: the process does not end`, async () => {
        const { stdout } = await run(app, limits)
        assert.equal(stdout, 'went on\n')
      })
    }
  })
}

test('an error without a listener is reported once', async () => {
  const { stderr } = await run('http.get(url); http.get(url); http.get(url)', LIMITS.plain)
  assert.equal(stderr.split('MeltproofWarning').length - 1, 1, stderr)
  assert.match(stderr, /took more than 100 ms/)
})

test('an error listener gets the error, and what it throws ends the process', async () => {
  const { stdout, stderr } = await run(`http.get(url).on('error', error => console.log(error.code))`, LIMITS.plain)
  assert.equal(stdout, 'MELTPROOF_DEADLINE_EXCEEDED\nwent on\n')
  assert.equal(stderr, '')
  const other = `http.get(url).on('error', () => { throw new Error('of the app') })`
  await assert.rejects(run(other, LIMITS.plain), /of the app/)
})

test('a connection error of Node still ends the process', async () => {
  await assert.rejects(run(`http.get('http://127.0.0.1:1')`, LIMITS.plain), /ECONNREFUSED/)
  await assert.rejects(run(`http.get('http://127.0.0.1:1')`, undefined), /ECONNREFUSED/)
})
