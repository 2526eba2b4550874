/**
 * The page server alone: which clients may change the load, which requests are valid, and that viewers cost nothing.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { after, before, beforeEach, test } from 'node:test'
import { PageServer } from '../../src/live/page-server.ts'
import { loadOf, stopsFor } from '../../src/live/session.ts'

let page: PageServer
let address: string
let load = 0
let loads = 0
let ends = 0

before(async () => {
  const stops = stopsFor(100)
  page = new PageServer({
    about: () => ({ stops }),
    everything: () => ({ atS: 1 }),
    setLoad(given) {
      load = loadOf(given, stops)
      loads++
    },
    end: () => {
      ends++
    },
  })
  address = await page.listen()
})
after(() => page.close())
beforeEach(() => {
  load = loads = ends = 0
})

/** Sends a request with any Host and Origin, which `fetch` does not allow. */
function ask(
  path: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; text: string; headers: http.IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, address), { method, headers }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', (more: string) => {
        text += more
      })
      response.on('end', () => resolve({ status: response.statusCode!, text, headers: response.headers }))
    })
    request.on('error', reject)
    request.end(body)
  })
}
const setLoad = (body: string, headers: Record<string, string> = {}) => ask('/load', { method: 'POST', headers, body })

/** A viewer, and the events it has received. */
function watch(): Promise<{ told: () => string; response: http.IncomingMessage }> {
  return new Promise((resolve, reject) => {
    http
      .get(new URL('/events', address), { agent: false }, response => {
        let text = ''
        response.setEncoding('utf8').on('data', (more: string) => {
          text += more
        })
        response.on('error', () => {})
        resolve({ told: () => text, response })
      })
      .on('error', reject)
  })
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const from = Date.now(); !isSo(); await new Promise(resolve => setTimeout(resolve, 5))) {
    assert.ok(Date.now() - from < 30_000, `not within 30 s: ${what}`)
  }
}

test('the page server listens on 127.0.0.1 only, and the page loads nothing from elsewhere', async () => {
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/$/)
  const { status, text, headers } = await ask('/')
  assert.equal(status, 200)
  assert.match(headers['content-type']!, /^text\/html/)
  assert.match(String(headers['content-security-policy']), /default-src 'none'; script-src 'self'/)
  const files = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file]) => file!).filter(file => file !== 'data:,')
  assert.deepEqual(files, ['/page.css', '/live.css', '/live.js'])
  for (const file of [...files, '/dots.js', '/lines.js', '/surface.js', '/words.js']) {
    const { status: code, text: content } = await ask(file)
    assert.equal(code, 200, file)
    assert.doesNotMatch(content, /https?:\/\//, file)
  }
})

test('requests with a foreign Host, Origin or Sec-Fetch-Site get a 403, and change nothing', async () => {
  const own = address.slice(0, -1)
  const foreign: Record<string, string>[] = [
    { host: 'evil.example' },
    { host: `evil.example:${new URL(address).port}` },
    { host: '127.0.0.1:1' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: own.replace('127.0.0.1', 'localhost') },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]
  for (const headers of foreign) {
    assert.equal((await setLoad('{"load":20}', headers)).status, 403, JSON.stringify(headers))
    assert.equal((await ask('/', { headers })).status, 403, JSON.stringify(headers))
  }
  assert.equal(loads, 0)
  assert.equal((await setLoad('{"load":20}', { origin: own, 'sec-fetch-site': 'same-origin' })).status, 204)
  assert.equal(load, 20)
})

test('an invalid load is refused in one sentence, and changes nothing', async () => {
  for (const body of [
    '{"load":0}',
    '{"load":21}',
    '{"load":1e999}',
    '{"load":"5"}',
    '{}',
    '[]',
    'null',
    '',
    '{"load"',
  ]) {
    const { status, text } = await setLoad(body)
    assert.equal(status, 400, body)
    assert.match(text, /^(?:load must be a number from 0\.5 to 20, got |expected \{"load": 2\.5\}, got ).*\n$/, body)
  }
  assert.equal((await setLoad(`{"load":5,"more":"${'x'.repeat(100_000)}"}`)).status, 413)
  assert.equal((await ask('/load')).status, 405)
  assert.equal((await ask('/end')).status, 405)
  assert.equal((await ask('/../../etc/passwd')).status, 404)
  assert.equal((await ask('/report')).status, 404)
  assert.deepEqual([loads, ends], [0, 0])
})

test('a thousand messages over four connections are all answered, and the last one sent takes effect', async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })
  const statuses = await Promise.all(
    Array.from(
      { length: 1000 },
      (_, at) =>
        new Promise<number>((resolve, reject) => {
          const request = http.request(new URL('/load', address), { method: 'POST', agent }, response => {
            response.resume().on('end', () => resolve(response.statusCode!))
          })
          request.on('error', reject).end(`{"load":${1 + (at % 10)}}`)
        }),
    ),
  )
  agent.destroy()
  assert.deepEqual(new Set(statuses), new Set([204]))
  assert.equal(loads, 1000)
  await setLoad('{"load":7}')
  assert.equal(load, 7)
})

test('ten viewers get the same events, and their places are free again after they disconnect', async () => {
  const viewers = await Promise.all(Array.from({ length: 10 }, watch))
  for (const { told } of viewers) await until('the first message', () => told().includes('event: told'))
  page.tell({ atS: 2 })
  for (const { told } of viewers) await until('the second', () => told().includes('data: {"atS":2}\n\n'))
  for (const { response } of viewers) response.destroy()
  // Ten new viewers fit once the server has noticed that the others left.
  for (let isRoom = false; !isRoom; ) {
    const more = await Promise.all(Array.from({ length: 10 }, watch))
    isRoom = more.every(({ response }) => response.statusCode === 200)
    for (const { response } of more) response.destroy()
  }
})

test('a viewer that does not read is not waited for, and its events are not buffered without bound', async () => {
  const socket = net.connect(Number(new URL(address).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.pause()
  socket.write(`GET /events HTTP/1.1\r\nHost: ${new URL(address).host}\r\n\r\n`)
  const { told, response } = await watch()
  await until('the other watches', () => told().includes('event: told'))
  const large = 'x'.repeat(100_000)
  for (let each = 0; each < 1000; each++) {
    page.tell({ large })
    // Lets the kernel take bytes from the buffer.
    await new Promise(resolve => setImmediate(resolve))
  }
  let bytes = 0
  socket.on('data', more => {
    bytes += more.length
  })
  socket.resume()
  page.tell({ last: true })
  await until('the viewer who reads gets the message', () => {
    page.tell({ last: true })
    return told().includes('"last":true')
  })
  await until('the other viewer gets data, too', () => {
    page.tell({ last: true })
    return bytes > 0
  })
  assert.ok(bytes < 30_000_000, `${bytes} of 100,000,000 bytes had been kept`)
  socket.destroy()
  response.destroy()
})

test('viewers are sent to the report at the end', async () => {
  // Waits until the viewers of the other tests have left.
  await until('there is no viewer', () => page.viewers === 0)
  const { told } = await watch()
  await until('it watches', () => told().includes('event: told'))
  const shown = page.show('<!doctype html><title>report</title>')
  await until('the viewer gets the address of the report', () => told().includes('event: report\ndata: "/report"\n\n'))
  const { status, text, headers } = await ask('/report')
  assert.deepEqual([status, text], [200, '<!doctype html><title>report</title>'])
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; style-src 'unsafe-inline'/)
  await shown
})
