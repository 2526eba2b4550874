/** The app's own logging middleware sees what is shed: the real morgan, and some that misbehave. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { createRequire } from 'node:module'
import { describe, it, test } from 'node:test'
import { sheds } from '../../src/channels.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { type LoggingMiddleware, logSheds } from '../../src/logging/access-log.ts'
import { protect } from '../../src/server/protect.ts'
import { eventually, listen } from '../server/harness.ts'

const morgan = createRequire(import.meta.url)('morgan') as (
  format: string,
  options: { stream: { write(line: string): void } },
) => LoggingMiddleware

/** What has been published of one shed. */
function record(over: object = {}) {
  return { atMs: 0, reason: 'full', method: 'GET', waitedMs: 0, bytes: 7, count: 1, ...over }
}

describe('morgan', () => {
  it('logs sheds, the first 20 of a second one by one and the others as a count, and clients that left', async () => {
    const lines: string[] = []
    const log = morgan('combined', { stream: { write: line => void lines.push(line) } })
    const server = http.createServer((request, response) => log(request, response, () => undefined))
    const guard = protect(server, { limit: 1 })
    const end = logSheds(guard, log)
    const { connect } = await listen(server)
    const clients = await Promise.all(Array.from({ length: 60 }, () => connect()))
    for (const client of clients) client.get('/', 'User-Agent: me')
    await eventually('they wait', () => guard.stats().queued === 59)
    for (const client of clients.slice(50)) client.destroy()
    const alone = / - - \[.*\] "GET \/ HTTP\/1\.1" 503 \d{3} "-" "me"\n$/
    const together = /^- - - \[.*\] "GET meltproof:(\d+)-such-requests HTTP\/1\.1" (?:503|-) - "-" "-"\n$/
    const left = / "GET \/ HTTP\/1\.1" - - "-" "me"\n$/
    const count = (shape: RegExp): number => lines.filter(line => shape.test(line)).length
    const others = (): number => lines.reduce((sum, line) => sum + Number(together.exec(line)?.[1] ?? 0), 0)
    await eventually('all are logged', () => count(alone) + count(left) + others() === 59)
    assert.equal(count(left), 10)
    assert.ok(count(alone) >= 10 && others() > 0, lines.join(''))
    assert.ok(
      lines.some(line => line.startsWith('127.0.0.1 - - ')),
      'of whom',
    )
    end()
  })
})

test('the middleware of logSheds() sees a response that has finished and closed', async () => {
  const server = http.createServer()
  const guard = protect(server)
  const seen: unknown[] = []
  const end = logSheds(guard, (request, response, next) => {
    response.on('finish', () => seen.push('finish', response.statusCode, response.headersSent))
    response.on('close', () => seen.push('close', response.writableFinished))
    next()
    seen.push(request.url)
  })
  sheds.publish({ record: record(), guard, server, request: undefined })
  sheds.publish({ record: record(), guard: {}, server, request: undefined })
  await eventually('closed', () => seen.includes('close'))
  assert.deepEqual(seen, ['meltproof:1-such-requests', 'finish', 503, true, 'close', true])
  end()
  sheds.publish({ record: record(), guard, server, request: undefined })
  assert.equal(seen.length, 6)
})

test('a middleware of logSheds() that throws, synchronously or later, is reported once', async () => {
  const server = http.createServer()
  const guard = protect(server)
  const warnings: Error[] = []
  const onWarning = (warning: Error): number => warnings.push(warning)
  process.on('warning', onWarning)
  let called = 0
  const end = logSheds(guard, (_, response) => {
    called++
    if (called === 3) throw new Error('at once')
    response.on('finish', () => {
      throw new Error('later')
    })
    response.on('close', () => {
      throw new Error('at last')
    })
  })
  for (let i = 0; i < 3; i++)
    sheds.publish({ record: record(i === 1 ? { reason: 'left' } : {}), guard, server, request: undefined })
  await eventually('it is told', () => warnings.length > 0)
  await new Promise(setImmediate)
  assert.deepEqual([called, warnings.length], [3, 1])
  assert.match(String(warnings[0]), /middleware of logSheds\(\) failed/)
  process.off('warning', onWarning)
  end()
})

for (const [how, misbehave] of Object.entries<LoggingMiddleware>({
  'is async and rejects': () => Promise.reject(new Error('its own')),
  'destroys its response': (_, response) => void response.destroy(new Error('its own')),
  'destroys its socket': (_, response) => void response.socket!.destroy(new Error('its own')),
  'answers too late': (_, response) => void setImmediate(() => response.end('its own')),
})) {
  test(`a middleware of logSheds() that ${how} is reported, and the process lives`, async () => {
    const server = http.createServer()
    const guard = protect(server)
    const told = once(process, 'warning')
    const end = logSheds(guard, misbehave)
    for (const reason of ['full', 'left']) {
      sheds.publish({ record: record({ reason }), guard, server, request: undefined })
    }
    assert.match(
      String(await told),
      /middleware of logSheds\(\) failed; the service goes on\. .*(?:its own|write after end)/,
    )
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
    end()
  })
}

test('logSheds() requires a guard and a function', () => {
  const invalid = (error: unknown): boolean => isMeltproofError(error) && error.code === 'MELTPROOF_OPTION_INVALID'
  assert.throws(() => logSheds(undefined as never, () => undefined), invalid)
  assert.throws(() => logSheds({ pressure: () => 0 }, undefined as never), invalid)
  assert.throws(() => logSheds({ pressure: () => 0 }, {} as never), invalid)
})
