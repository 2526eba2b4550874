/** Copies of undici that load after Node's own has become the global dispatcher, and bound() alone. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { createRequire } from 'node:module'
import net, { type AddressInfo } from 'node:net'
import { dirname, sep } from 'node:path'
import { afterEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { Budget } from '../../src/deadline/budget.ts'
import { runWithBudget } from '../../src/deadline/context.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { MeltproofError } from '../../src/errors.ts'
import { bound, install } from '../../src/outbound/install.ts'
import type { OutboundLimits } from '../../src/outbound/limits.ts'
import type { OutboundRecord } from '../../src/record.ts'
import { watchCalls } from '../../src/timing/tracker.ts'
import { block } from '../block.ts'
import { eventually, listen } from '../server/harness.ts'
import { codesOf, exceeded } from './clients.ts'
import { startDependency } from './dependency.ts'

// Loads Node's own undici before the other copies.
assert.ok(Response)
const dependency = await startDependency()
const copies = { 'undici 7': await import('undici'), 'undici 8': await import('undici8') }

let uninstall: (() => void) | undefined
const withLimits = (limits: OutboundLimits): void => {
  uninstall = install(limits)
}
afterEach(async () => {
  for (let i = 0; i < 200 && pendingFairTimers() > 0; i++) await sleep(10)
  assert.equal(pendingFairTimers(), 0)
  uninstall?.()
  uninstall = undefined
})

const ask = async (own: Dispatcher, path: string): Promise<string> => {
  const { body } = await own.request({ origin: dependency.url, path, method: 'GET' })
  return await body.text()
}

for (const [name, copy] of Object.entries(copies)) {
  // The types of the two copies differ only in parts that this test does not use.
  const undici = copy as (typeof copies)['undici 7']
  const make = {
    Agent: () => new undici.Agent(),
    Pool: () => new undici.Pool(dependency.url, { connections: 2 }),
    Client: () => new undici.Client(dependency.url),
  }
  for (const [kind, dispatcher] of Object.entries(make)) {
    describe(`${kind} of ${name}`, () => {
      const get = async (path: string): Promise<string> => {
        const own = dispatcher()
        try {
          const { body } = await own.request({ origin: dependency.url, path, method: 'GET' })
          return await body.text()
        } finally {
          void own.destroy().catch(() => undefined)
        }
      }

      test('is limited from its first request on', async () => {
        withLimits({ firstByteMs: 400, idleMs: 100 })
        assert.equal((await exceeded(get('/silent'))).phase, 'first-byte')
        assert.equal((await exceeded(get('/stuck'))).phase, 'idle')
        assert.equal(await get('/hello'), 'hello')
      })

      test('does not time out for a response that arrived while the event loop of this process stalled', async () => {
        const limitMs = 600
        withLimits({ totalMs: limitMs })
        const [came, written] = [dependency.came(), dependency.written()]
        const call = get('/hello?ms=50')
        await eventually('the request is there', () => dependency.came() > came)
        // The response is in the socket when the limit has passed.
        dependency.blockUntilWritten(written + 1)
        block(limitMs + 100)
        assert.equal(await call, 'hello')
      })

      test('is refused beyond maxInFlight', async () => {
        withLimits({ maxInFlight: 1, firstByteMs: 200 })
        const held = get('/silent')
        await assert.rejects(get('/hello'), error => codesOf(error).includes('MELTPROOF_OUTBOUND_FULL'))
        await exceeded(held)
        assert.equal(await get('/hello'), 'hello')
      })
    })
  }

  describe(`bound() of an Agent of ${name}`, () => {
    test('limits this Agent and no other', async () => {
      const agent = new undici.Agent()
      const own = new undici.Agent()
      assert.equal(bound(own, { firstByteMs: 100, maxInFlight: 2 }), own)
      const silent = { origin: dependency.url, path: '/silent', method: 'GET' } as const
      assert.equal((await exceeded(own.request(silent))).phase, 'first-byte')
      const bare = new AbortController()
      const call = agent.request({ ...silent, signal: bare.signal })
      assert.equal(await Promise.race([call.catch(String), sleep(300, 'still waiting')]), 'still waiting')
      bare.abort()
      await assert.rejects(call)
      for (const each of [agent, own]) void each.destroy().catch(() => undefined)
    })

    test('keeps its first limits when it is bound again', async () => {
      const own = bound(bound(new undici.Agent(), { firstByteMs: 100 }), { firstByteMs: 5_000 })
      const error = await exceeded(own.request({ origin: dependency.url, path: '/silent', method: 'GET' }))
      assert.equal(error.limitMs, 100)
      void own.destroy().catch(() => undefined)
    })

    test('keeps its own limits while the process has others', async () => {
      withLimits({ firstByteMs: 50 })
      const own = bound(new undici.Agent(), { firstByteMs: 200 })
      const error = await exceeded(own.request({ origin: dependency.url, path: '/silent', method: 'GET' }))
      assert.equal(error.limitMs, 200)
      void own.destroy().catch(() => undefined)
    })

    test('limits a Pool, whose origin is its own', async () => {
      const own = bound(new undici.Pool(dependency.url), { firstByteMs: 100 })
      const error = await exceeded(own.request({ path: '/silent', method: 'GET' }))
      assert.match(error.message, new RegExp(`the call to ${dependency.url} took`))
      void own.destroy().catch(() => undefined)
    })

    test('does not count the wait for a free connection of a Pool towards connectMs', async () => {
      const own = bound(new undici.Pool(dependency.url, { connections: 1 }), { connectMs: 50, totalMs: 5_000 })
      const texts = await Promise.all(
        [300, 0].map(async ms => (await own.request({ path: `/hello?ms=${ms}`, method: 'GET' })).body.text()),
      )
      assert.deepEqual(texts, ['hello', 'hello'])
      void own.destroy().catch(() => undefined)
    })

    const behindOthers: Readonly<Record<string, () => Dispatcher>> = {
      'a Client': () => new undici.Client(dependency.url),
      'an Agent with one connection': () => new undici.Agent({ connections: 1 }),
    }
    for (const [kind, create] of Object.entries(behindOthers)) {
      test(`does not count the wait in the queue of ${kind} towards connectMs`, async () => {
        const own = bound(create(), { connectMs: 100, totalMs: 5_000 })
        const texts = await Promise.all([150, 150, 0].map(ms => ask(own, `/hello?ms=${ms}`)))
        assert.deepEqual(texts, ['hello', 'hello', 'hello'])
        void own.destroy().catch(() => undefined)
      })
    }

    test('limits the time to connect', async () => {
      const deaf = net.createServer(socket => socket.on('error', () => undefined))
      await new Promise<void>(resolve => deaf.listen(0, '127.0.0.1', resolve))
      const { port } = deaf.address() as AddressInfo
      const own = bound(new undici.Agent(), { connectMs: 100, totalMs: 3_000 })
      const error = await exceeded(own.request({ origin: `https://127.0.0.1:${port}`, path: '/', method: 'GET' }))
      assert.equal(error.phase, 'connect')
      void own.destroy().catch(() => undefined)
      deaf.close()
    })

    test('records one call per request, also for those that waited in a Pool', async () => {
      const seen: number[] = []
      const stop = watchCalls(({ status }) => seen.push(status!))
      const own = bound(new undici.Pool(dependency.url, { connections: 1 }))
      for (const answer of await Promise.all([1, 2, 3].map(() => own.request({ path: '/hello', method: 'GET' })))) {
        await answer.body.text()
      }
      assert.deepEqual(seen, [200, 200, 200])
      stop()
      void own.destroy().catch(() => undefined)
    })

    test('keeps one total limit over the attempts of a RetryAgent, and records each attempt', async () => {
      const seen: OutboundRecord[] = []
      const stop = watchCalls(record => seen.push(record))
      let attempts = 0
      // The third attempt gets no response.
      const { port } = await listen(
        http.createServer((_, response) => {
          if (++attempts < 3) setTimeout(() => response.writeHead(503).end(), 100)
        }),
      )
      const agent = new undici.Agent()
      const own = bound(new undici.RetryAgent(agent, { minTimeout: 1 }), { totalMs: 1_500 })
      const origin = `http://127.0.0.1:${port}`
      const { phase, waitedMs } = await exceeded(own.request({ origin, path: '/', method: 'GET' }))
      assert.equal(phase, 'total')
      assert.deepEqual(
        seen.map(({ status }) => status),
        [503, 503, undefined],
      )
      // One limit covers all attempts: it already counted before the second attempt.
      const [, second, third] = seen
      assert.ok(waitedMs > third!.endedAtMs - second!.startedAtMs, `${waitedMs} ms: ${JSON.stringify(seen)}`)
      stop()
      void agent.destroy().catch(() => undefined)
    })
  })
}

const require = createRequire(import.meta.url)

/** Loads a copy of undici that was never the global one, and that has not connected yet. */
function newCopy(id: string): typeof import('undici') {
  const folder = `${dirname(require.resolve(id))}${sep}`
  for (const file of Object.keys(require.cache)) if (file.startsWith(folder)) delete require.cache[file]
  return require(id) as typeof import('undici')
}

/** Two ways to make a call. The handler of request() keeps the async context of its caller, the other one does not. */
const ways: Readonly<Record<string, typeof ask>> = {
  request: ask,
  dispatch: (own, path) =>
    new Promise((resolve, reject) => {
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: () => undefined,
        onResponseEnd: () => resolve('hello'),
        onResponseError: (_, error) => reject(error),
      }
      own.dispatch({ origin: dependency.url, path, method: 'GET' }, handler)
    }),
}

for (const [name, id] of Object.entries({ 'undici 7': 'undici', 'undici 8': 'undici8' })) {
  describe(`a copy of ${name} that was never global`, () => {
    const makePool = (): Dispatcher => {
      const { Pool } = newCopy(id)
      return new Pool(dependency.url, { connections: 1 })
    }

    test('the wait in the queue of a Client does not count towards connectMs', async () => {
      withLimits({ connectMs: 100 })
      const { Client } = newCopy(id)
      const client = new Client(dependency.url)
      const texts = await Promise.all([150, 150, 0].map(ms => ask(client, `/hello?ms=${ms}`)))
      assert.deepEqual(texts, ['hello', 'hello', 'hello'])
      void client.destroy().catch(() => undefined)
    })

    test('connectMs limits the first call', async () => {
      withLimits({ connectMs: 100, totalMs: 3_000 })
      const deaf = net.createServer(socket => socket.on('error', () => undefined))
      await new Promise<void>(resolve => deaf.listen(0, '127.0.0.1', resolve))
      const { port } = deaf.address() as AddressInfo
      const { Client } = newCopy(id)
      const client = new Client(`https://127.0.0.1:${port}`)
      assert.equal((await exceeded(client.request({ path: '/', method: 'GET' }))).phase, 'connect')
      void client.destroy().catch(() => undefined)
      deaf.close()
    })

    for (const [way, call] of Object.entries(ways)) {
      test(`a call of ${way}() that waited in a Pool does not end with the budget of the call before it`, async () => {
        withLimits({})
        const pool = makePool()
        const [before, own] = [new Budget(10_000), new Budget(10_000)]
        const came = dependency.came()
        const first = runWithBudget(before, () => ask(pool, '/hello?ms=50'))
        const second = runWithBudget(own, () => call(pool, '/hello?ms=300'))
        assert.equal(await first, 'hello')
        await eventually('the second call is sent', () => dependency.came() === came + 2)
        before.cancel(new MeltproofError('MELTPROOF_CANCELLED', 'the client of the first call has left'))
        assert.equal(await second, 'hello')
        for (const budget of [before, own]) budget.settle()
        void pool.destroy().catch(() => undefined)
      })

      test(`a call of ${way}() that waited in a Pool has the limits of its origin`, async () => {
        withLimits({ firstByteMs: 200 })
        const pool = makePool()
        const first = ask(pool, '/hello?ms=50')
        const second = exceeded(call(pool, '/silent'))
        assert.equal(await first, 'hello')
        assert.equal((await second).phase, 'first-byte')
        void pool.destroy().catch(() => undefined)
      })
    }

    test('once it has connected, a call that waits in a Pool ends with its own budget', async () => {
      withLimits({})
      const pool = makePool()
      assert.equal(await ask(pool, '/hello'), 'hello')
      let isHeld = true
      const holder = ask(pool, '/hello?ms=1000').finally(() => {
        isHeld = false
      })
      const budget = new Budget(100)
      await exceeded(runWithBudget(budget, () => ask(pool, '/hello')))
      assert.ok(isHeld, 'it ended before the connection was free')
      assert.equal(await holder, 'hello')
      budget.settle()
      void pool.destroy().catch(() => undefined)
    })
  })
}

test('bound() rejects anything but a dispatcher', () => {
  for (const other of [{}, null, 'http://prices'] as object[]) {
    assert.throws(() => bound(other), {
      code: 'MELTPROOF_CLIENT_INVALID',
      message: /needs a dispatcher of undici; got/,
    })
  }
})
