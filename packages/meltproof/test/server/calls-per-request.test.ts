/**
 * Limits how many functions of meltproof run for each request that does not wait. The time of a request differs between
 * machines, so its growth went unnoticed for months, but V8 counts calls exactly (precise coverage). Calls less
 * frequent than one per request, such as a judgement every few milliseconds, are not counted, because their number
 * depends on the machine.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import { type AddressInfo, connect } from 'node:net'
import { after, test } from 'node:test'
import { protect } from '../../src/index.ts'

const REQUESTS = 2000
const SOURCES = new URL('../../src/', import.meta.url).href
const HEAD = 'GET /hello HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n'
/** Lower it when fewer calls are needed. A rise needs a reason. */
const MOST_CALLS = 120

const server = createServer((_request, response) => response.end('hello'))
protect(server)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const socket = connect(port, '127.0.0.1')
await once(socket, 'connect')
const session = new Session()
session.connect()

after(() => {
  session.disconnect()
  socket.destroy()
  server.close()
})

async function ask(): Promise<void> {
  for (let i = 0; i < REQUESTS; i++) {
    socket.write(HEAD)
    await once(socket, 'data')
  }
}

/** Calls since this function last ran, by file and function. */
async function callsByFunction(): Promise<Map<string, number>> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const calls = new Map<string, number>()
  for (const { url, functions } of result) {
    if (!url.startsWith(SOURCES)) continue
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges
      if (whole === undefined || whole.count === 0) continue
      const name = `${url.slice(SOURCES.length)} ${functionName}`
      calls.set(name, (calls.get(name) ?? 0) + whole.count)
    }
  }
  return calls
}

test(`a request that does not wait calls at most ${MOST_CALLS} functions of meltproof`, async () => {
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await ask()
  await callsByFunction()
  await ask()
  const calls = [...(await callsByFunction())].map(([name, count]) => ({
    name,
    perRequest: Math.floor(count / REQUESTS),
  }))
  const sum = calls.reduce((all, { perRequest }) => all + perRequest, 0)
  const listed = calls
    .filter(({ perRequest }) => perRequest > 0)
    .toSorted((one, other) => other.perRequest - one.perRequest)
    .map(({ name, perRequest }) => `${perRequest} ${name}`)
  assert.ok(sum >= 20, `only ${sum} calls were counted`)
  assert.ok(sum <= MOST_CALLS, `${sum} calls per request:\n${listed.join('\n')}`)
})
