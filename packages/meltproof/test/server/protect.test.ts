/** protect() itself: what it rejects, what it returns, and that close() undoes it. */
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { describe, it } from 'node:test'
import { isMeltproofError } from '../../src/errors.ts'
import { guardOf } from '../../src/server/guard.ts'
import { protect } from '../../src/server/protect.ts'
import type { ProtectOptions } from '../../src/server/protect-options.ts'
import { eventually, Holding, listen } from './harness.ts'
import { CERTIFICATE } from './tls.fixture.ts'

function thrown(act: () => unknown): { code: string; message: string } {
  try {
    act()
  } catch (error) {
    assert.ok(isMeltproofError(error), String(error))
    return error
  }
  assert.fail('nothing was thrown')
}

describe('protect() refuses', () => {
  for (const [what, value, shown] of [
    ['undefined', undefined, /got undefined/],
    ['a framework’s app', () => undefined, /got a function.*http\.createServer\(app\)/],
    ['a plain object', {}, /got an object/],
    ['a net.Server', net.createServer(), /got an object/],
  ] as const) {
    it(`${what} as a server, and says what it expects`, () => {
      const { code, message } = thrown(() => protect(value as unknown as http.Server))
      assert.equal(code, 'MELTPROOF_SERVER_INVALID')
      assert.match(message, shown)
    })
  }

  it('a server that already listens', async () => {
    const { server } = await listen(http.createServer())
    const { code, message } = thrown(() => protect(server))
    assert.equal(code, 'MELTPROOF_SERVER_LISTENING')
    assert.match(message, /before listen\(\)/)
    assert.equal(guardOf(server), undefined)
  })

  it('options for a server that is already protected', () => {
    const server = http.createServer()
    protect(server)
    assert.equal(thrown(() => protect(server, { lanes: 1 })).code, 'MELTPROOF_SERVER_PROTECTED')
  })

  for (const [given, expected] of [
    [{ lane: 4 }, /'lane'.*Did you mean 'lanes'\?/],
    [{ retryafterS: 4 }, /Did you mean 'retryAfterS'\?/],
    [{ shedbody: 4 }, /Did you mean 'shedBody'\?/],
    [{ zzz: 4 }, /'zzz'\. Known: lanes, /],
  ] as [object, RegExp][]) {
    it(`the unknown option ${Object.keys(given)[0]}`, () => {
      const { code, message } = thrown(() => protect(http.createServer(), given as ProtectOptions))
      assert.equal(code, 'MELTPROOF_OPTION_UNKNOWN')
      assert.match(message, expected)
    })
  }

  for (const [given, name, range, shown] of [
    [{ lanes: 0 }, 'lanes', 'from 1 to 128', '0'],
    [{ lanes: 129 }, 'lanes', 'from 1 to 128', '129'],
    [{ lanes: 2.5 }, 'lanes', 'a whole number', '2.5'],
    [{ lanes: '4' }, 'lanes', 'a whole number', "'4'"],
    [{ lanes: Number.NaN }, 'lanes', 'a whole number', 'NaN'],
    [{ retryAfterS: 0 }, 'retryAfterS', 'from 1 to 86400', '0'],
    [{ retryAfterS: 1.5 }, 'retryAfterS', 'a whole number of seconds', '1.5'],
    [{ retryAfterS: [5, 1] }, 'retryAfterS[1]', 'from 5 to 86400', '1'],
    [{ retryAfterS: [1] }, 'retryAfterS', 'a range [least, most]', 'an array'],
    [{ shedBody: 'busy' }, 'shedBody', '{ type, text }', "'busy'"],
    [{ shedBody: null }, 'shedBody', '{ type, text }', 'null'],
    [{ shedBody: { type: 'a/b\r\nX: y', text: '' } }, 'shedBody.type', 'printable ASCII', 'a/b'],
    [{ shedBody: { type: 'a/b', text: 'x'.repeat(2 << 20) } }, 'shedBody.text', 'at most 1048576 bytes', 'xxx'],
    [{ shedPage: 5 }, 'shedPage', 'a string of HTML', '5'],
    [{ onWarning: 'console' }, 'onWarning', 'a function', "'console'"],
  ] as const) {
    it(`${JSON.stringify(given).slice(0, 40)}, naming option, range and value`, () => {
      const server = http.createServer()
      const { code, message } = thrown(() => protect(server, given as ProtectOptions))
      assert.equal(code, 'MELTPROOF_OPTION_INVALID')
      for (const part of [name, range, shown]) assert.ok(message.includes(part), `${message} should say ${part}`)
      assert.equal(guardOf(server), undefined)
      assert.equal(Object.hasOwn(server, 'emit'), false, 'the server is untouched')
    })
  }

  for (const options of [null, 5, 'on']) {
    it(`${JSON.stringify(options)} as options`, () => {
      assert.equal(
        thrown(() => protect(http.createServer(), options as unknown as ProtectOptions)).code,
        'MELTPROOF_OPTION_INVALID',
      )
    })
  }
})

describe('the guard', () => {
  it('is the same for every call without options', () => {
    const server = http.createServer()
    const guard = protect(server, { lanes: 2 })
    assert.equal(protect(server), guard)
    assert.ok(guardOf(server))
  })

  it('is shared with another installed copy of meltproof, which adds no second gate', async () => {
    const copy = (await import(`${new URL('../../src/server/protect.ts', import.meta.url).href}?copy`)) as {
      protect: typeof protect
    }
    assert.notEqual(copy.protect, protect)
    const server = http.createServer((_, response) => response.end())
    const guard = protect(server)
    const { emit } = server
    assert.equal(copy.protect(server), guard)
    assert.equal(server.emit, emit)
  })

  it('counts requests in service and admitted', async () => {
    const holding = new Holding()
    const server = http.createServer(holding.handler)
    const guard = protect(server)
    assert.equal(guard.stats().lanes, 0)
    const service = await listen(server)
    assert.ok(guard.stats().lanes >= 1)
    const client = (await service.connect()).get('/')
    const { response } = await holding.take()
    const { inflight, queued, admitted, limit, pressure, shed } = guard.stats()
    assert.deepEqual({ inflight, queued, admitted, pressure }, { inflight: 1, queued: 0, admitted: 1, pressure: 0 })
    assert.ok(Number.isInteger(limit) && limit >= 1)
    assert.ok(Object.values(shed).every(count => count === 0))
    assert.equal(guard.pressure(), 0)
    response.end()
    await client.answer()
    await eventually('it has left', () => guard.stats().inflight === 0)
  })

  it('reports load and demand to balancers from held permits and sheds', async () => {
    const holding = new Holding()
    const server = http.createServer(holding.handler)
    const guard = protect(server, { limit: 2 })
    const service = await listen(server)
    assert.deepEqual([guard.stats().limitKnown, guard.stats().demand], [true, 1])
    const first = (await service.connect()).get('/')
    const second = (await service.connect()).get('/')
    const held = [await holding.take(), await holding.take()]
    await eventually('both permits are held', () => guard.stats().utilisation > 0.9)
    const others = [1, 2, 3].map(async () => (await service.connect()).get('/').answer())
    await Promise.all(others)
    assert.equal(guard.stats().demand, 3)
    assert.ok(guard.stats().load > 2.7, `${guard.stats().load}`)
    for (const { response } of held) response.end()
    await Promise.all([first.answer(), second.answer()])
  })

  it('reports limitKnown: false while the limit was never reached', () => {
    assert.equal(protect(http.createServer()).stats().limitKnown, false)
  })

  it('restores the server on close(), after which it can be protected again', async () => {
    const server = http.createServer((_, response) => response.end('ok'))
    const before = Reflect.ownKeys(server)
    for (let i = 0; i < 3; i++) {
      const guard = protect(server)
      assert.notDeepEqual(Reflect.ownKeys(server), before)
      guard.close()
      guard.close()
      assert.deepEqual(Reflect.ownKeys(server), before)
      assert.equal(guardOf(server), undefined)
    }
    const first = protect(server)
    first.close()
    const second = protect(server)
    first.close()
    assert.ok(guardOf(server), 'closing an old guard again takes nothing from the new one')
    const service = await listen(server)
    assert.equal((await (await service.connect()).get('/').answer()).body, 'ok')
    assert.equal(second.stats().admitted, 1)
  })

  it('keeps serving connections that were open when it was closed', async () => {
    const server = http.createServer((_, response) => response.end('ok'))
    const guard = protect(server)
    const service = await listen(server)
    const client = await service.connect()
    assert.equal((await client.get('/').answer()).body, 'ok')
    guard.close()
    assert.equal((await client.get('/').answer()).body, 'ok')
    assert.equal((await (await service.connect()).get('/').answer()).body, 'ok')
    assert.equal(guard.stats().admitted, 1)
  })

  it('stays on a server that listens, closes and listens again', async () => {
    const server = http.createServer((_, response) => response.end('ok'))
    const guard = protect(server)
    for (let i = 1; i <= 3; i++) {
      const service = await listen(server)
      const client = await service.connect()
      assert.equal((await client.get('/').answer()).body, 'ok')
      assert.equal(guard.stats().admitted, i)
      client.destroy()
      const closed = once(server, 'close')
      server.close()
      await closed
    }
  })

  it('gates an https server', async () => {
    const server = https.createServer(CERTIFICATE, (_, response) => response.end('secret'))
    const guard = protect(server)
    const service = await listen(server)
    assert.equal((await (await service.connect()).get('/').answer()).body, 'secret')
    assert.equal(guard.stats().admitted, 1)
  })
})

describe('a rejected promise of the request listener', () => {
  it('gets a 500 from Node if the server captures rejections', async () => {
    EventEmitter.captureRejections = true
    const server = http.createServer(async () => {
      throw new Error('the app’s own')
    })
    EventEmitter.captureRejections = false
    protect(server)
    const service = await listen(server)
    const answer = await (await service.connect()).get('/').answer()
    assert.equal(answer.status, 500)
    assert.equal(answer.body, 'Internal Server Error')
  })
})
