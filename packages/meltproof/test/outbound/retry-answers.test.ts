/** retry() with real calls in its attempts: their methods, their responses, and stalls of this process. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, afterEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { request as undiciRequest } from 'undici'
import { now } from '../../src/clock.ts'
import { within } from '../../src/deadline/within.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { install } from '../../src/outbound/install.ts'
import { retry, type RetryOptions } from '../../src/outbound/retry.ts'
import { RetryBudget } from '../../src/outbound/retry-budget.ts'
import { block } from '../block.ts'
import { listen } from '../server/harness.ts'

/** The arrival time and the method of each request. */
const came: { readonly atMs: number; readonly method: string }[] = []
let answer: (response: http.ServerResponse) => void
const server = http.createServer((request, response) => {
  came.push({ atMs: now(), method: request.method! })
  request.resume().on('end', () => answer(response))
})
const { port } = await listen(server)
const url = `http://127.0.0.1:${port}/`
after(() => {
  server.close()
  server.closeAllConnections()
})

type Ask = (method?: string) => Promise<unknown>
const failUnless200 = (status: number): void => {
  if (status !== 200) throw new Error(`answered ${status}`)
}
const CLIENTS: Readonly<Record<string, Ask>> = {
  fetch: async (method = 'GET') => {
    const response = await fetch(url, { method })
    await response.text()
    failUnless200(response.status)
  },
  undici: async (method = 'GET') => {
    const { statusCode, body } = await undiciRequest(url, { method })
    await body.text()
    failUnless200(statusCode)
  },
  'node:http': (method = 'GET') =>
    new Promise((resolve, reject) => {
      const request = http.request(url, { method }, response => {
        response.resume().on('end', () => {
          try {
            resolve(failUnless200(response.statusCode!))
          } catch (error) {
            reject(error as Error)
          }
        })
      })
      request.on('error', reject).end()
    }),
}

const QUICK: RetryOptions = { baseMs: 0 }
const refuse =
  (headers: http.OutgoingHttpHeaders = {}, status = 503) =>
  (response: http.ServerResponse): void =>
    void response.writeHead(status, headers).end()

let uninstall: (() => void) | undefined
afterEach(() => {
  uninstall?.()
  uninstall = undefined
  came.length = 0
})

for (const [name, ask] of Object.entries(CLIENTS)) {
  for (const bounded of [false, true]) {
    describe(`${name}${bounded ? ', bounded' : ''}`, () => {
      const start = (): void => {
        if (bounded) uninstall = install({})
      }

      test('waits at least as long as Retry-After says', async () => {
        start()
        answer = refuse({ 'retry-after': '1' })
        await assert.rejects(
          retry(() => ask(), new RetryBudget(), { ...QUICK, attempts: 2 }),
          /answered 503/,
        )
        assert.equal(came.length, 2)
        assert.ok(came[1]!.atMs - came[0]!.atMs >= 990, `${came[1]!.atMs - came[0]!.atMs} ms between`)
      })

      test('gives up at once if Retry-After exceeds the deadline, without spending a retry', async () => {
        start()
        answer = refuse({ 'retry-after': '20' }, 429)
        const budget = new RetryBudget({ minPerSecond: 0, burst: 1 })
        const beganAt = now()
        await within(10_000, () =>
          assert.rejects(
            retry(() => ask(), budget, QUICK),
            /answered 429/,
          ),
        )
        assert.ok(now() - beganAt < 9_000)
        assert.equal(came.length, 1)
        assert.equal(budget.take(0), true)
      })

      test('gives up at once if Retry-After exceeds maxRetryAfterMs', async () => {
        start()
        for (const huge of ['31', '99999999999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT']) {
          came.length = 0
          answer = refuse({ 'retry-after': huge })
          await assert.rejects(
            retry(() => ask(), new RetryBudget(), QUICK),
            /answered 503/,
          )
          assert.equal(came.length, 1, huge)
        }
        came.length = 0
        answer = refuse({ 'retry-after': '1' })
        await assert.rejects(retry(() => ask(), new RetryBudget(), { ...QUICK, maxRetryAfterMs: 900 }))
        assert.equal(came.length, 1)
      })

      test('ignores an invalid Retry-After', async () => {
        start()
        for (const bad of ['soon', '-5', '', '1h', 'Infinity', '0x10', 'Sun, 99 Nov 1994 08:49:37 GMT', '1, 2']) {
          came.length = 0
          answer = refuse({ 'retry-after': bad })
          await assert.rejects(
            retry(() => ask(), new RetryBudget(), QUICK),
            /answered 503/,
          )
          assert.equal(came.length, 3, bad)
        }
      })

      for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
        test(`${method} is retried`, async () => {
          start()
          answer = refuse()
          await assert.rejects(retry(() => ask(method), new RetryBudget(), QUICK))
          assert.equal(came.length, 3)
        })
      }

      for (const method of ['POST', 'PATCH']) {
        test(`${method} is not retried unless listed in methods`, async () => {
          start()
          for (const trouble of [refuse(), (response: http.ServerResponse) => void response.destroy()]) {
            came.length = 0
            answer = trouble
            await assert.rejects(retry(() => ask(method), new RetryBudget(), QUICK))
            assert.equal(came.length, 1)
            await assert.rejects(retry(() => ask(method), new RetryBudget(), { ...QUICK, methods: [method] }))
            assert.equal(came.length, 4)
          }
        })
      }

      test('a POST in an attempt, also in a nested retry(), is not sent again', async () => {
        start()
        let posts = 0
        answer = response => {
          if (came.at(-1)!.method === 'POST') posts++
          refuse()(response)
        }
        const budget = new RetryBudget()
        const both = async (): Promise<unknown> => {
          await ask().catch(() => undefined)
          return await retry(() => ask('POST'), budget, QUICK)
        }
        await assert.rejects(retry(both, budget, QUICK))
        assert.equal(posts, 1)
      })

      test('a response with x-envoy-ratelimited is not retried', async () => {
        start()
        answer = refuse({ 'x-envoy-ratelimited': 'true' })
        await assert.rejects(retry(() => ask(), new RetryBudget(), QUICK))
        assert.equal(came.length, 1)
      })
    })
  }
}

test('a date in Retry-After is measured by the Date field of the same response', async () => {
  const date = Date.parse('Sun, 06 Nov 1994 08:49:37 GMT')
  answer = refuse({ date: new Date(date).toUTCString(), 'retry-after': new Date(date + 1000).toUTCString() })
  await assert.rejects(
    retry(() => CLIENTS['fetch']!(), new RetryBudget(), { ...QUICK, attempts: 2 }),
    /answered 503/,
  )
  assert.equal(came.length, 2)
  assert.ok(came[1]!.atMs - came[0]!.atMs >= 990, `${came[1]!.atMs - came[0]!.atMs} ms between`)
})

test('aborting the deadline ends the wait before a retry', async () => {
  answer = refuse({ 'retry-after': '25' })
  const leaving = new AbortController()
  const beganAt = now()
  setTimeout(() => leaving.abort(), 200)
  const call = within(60_000, () => retry(() => CLIENTS['fetch']!(), new RetryBudget(), QUICK), {
    signal: leaving.signal,
  })
  await assert.rejects(call)
  assert.ok(now() - beganAt < 20_000, `${now() - beganAt} ms`)
  assert.equal(came.length, 1)
})

test('calls outside an attempt do not affect retry()', async () => {
  answer = refuse({ 'retry-after': '20' })
  const post = CLIENTS['fetch']!('POST').catch(() => undefined)
  let attempts = 0
  const failing = async (): Promise<never> => {
    attempts++
    await post
    throw new Error('failed')
  }
  await assert.rejects(retry(failing, new RetryBudget(), QUICK), /failed/)
  assert.equal(attempts, 3)
})

test('retry() rejects invalid options', async () => {
  const budget = new RetryBudget()
  await assert.rejects(
    retry(() => 1, budget, { methods: 'POST' as never }),
    isMeltproofError,
  )
  await assert.rejects(
    retry(() => 1, budget, { methods: ['PO ST'] }),
    /methods\[0\] must be/,
  )
  await assert.rejects(
    retry(() => 1, budget, { maxRetryAfterMs: -1 }),
    /maxRetryAfterMs must be/,
  )
})

test('while the loop stalls, retries of 503 answers stay within a tenth of the calls plus the burst', async () => {
  answer = refuse()
  const ratio = 0.1
  const burst = 1
  const budget = new RetryBudget({ ratio, minPerSecond: 0, burst })
  const calls = 100
  const all = Array.from({ length: calls }, () =>
    retry(() => CLIENTS['fetch']!(), budget, QUICK).catch(() => undefined),
  )
  const stalls = setInterval(() => block(30), 1)
  await Promise.all(all).finally(() => clearInterval(stalls))
  assert.ok(came.length <= calls * (1 + ratio) + burst, `${came.length} attempts of ${calls} calls`)
})

test('property: attempts never exceed 1.1 times the calls plus the minimum, however the loop stalls', async () => {
  const outcome = fc.constantFrom('ok', '503', '503 with Retry-After', 'destroyed', 'thrown')
  const step = fc.record({
    calls: fc.integer({ min: 1, max: 12 }),
    stallMs: fc.constantFrom(0, 0, 0, 12, 40),
    outcomes: fc.array(outcome, { minLength: 1, maxLength: 5 }),
    nested: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async steps => {
      const budget = new RetryBudget({ ratio: 0.1, minPerSecond: 1, burst: 2 })
      const beganAt = now()
      let attempts = 0
      let calls = 0
      const all: Promise<unknown>[] = []
      for (const { calls: count, stallMs, outcomes, nested } of steps) {
        let next = 0
        answer = response => {
          const how = outcomes[next++ % outcomes.length]
          if (how === 'ok') response.end()
          else if (how === 'destroyed') response.destroy()
          else refuse(how === '503 with Retry-After' ? { 'retry-after': '0' } : {})(response)
        }
        const attempt = async (): Promise<unknown> => {
          attempts++
          if (outcomes[next % outcomes.length] === 'thrown') {
            next++
            if (stallMs > 0) block(stallMs)
            throw new Error('thrown')
          }
          return await CLIENTS['fetch']!()
        }
        const inner = nested ? () => retry(attempt, budget, QUICK) : attempt
        for (let i = 0; i < count; i++, calls++) all.push(retry(inner, budget, QUICK).catch(() => undefined))
        await new Promise(resolve => setTimeout(resolve, 1))
        if (stallMs > 0) block(stallMs)
      }
      await Promise.all(all)
      const minimum = 2 + (now() - beganAt) / 1000
      assert.ok(attempts <= 1.1 * calls + minimum, `${attempts} attempts of ${calls} calls`)
    }),
    { numRuns: 40 },
  )
})
