/**
 * The operator's functions that throw, return late, or return values that throw when they are read. An unhandled
 * rejection fails the running test.
 */
import assert from 'node:assert/strict'
import http from 'node:http'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ProtectOptions, protect } from '../../src/index.ts'
import type { Guard } from '../../src/server/guard.ts'
import { Holding, eventually, type Service, listen } from './harness.ts'

interface Protected extends Service {
  readonly guard: Guard
  readonly holding: Holding
  readonly warnings: string[]
}

async function openProtected(options: ProtectOptions): Promise<Protected> {
  const holding = new Holding()
  const server = http.createServer(holding.handler)
  const warnings: string[] = []
  const guard = protect(server, { lanes: 1, limit: 1, onWarning: warning => warnings.push(warning), ...options })
  return { ...(await listen(server)), guard, holding, warnings }
}

/** Serves one request while another waits, and then the other. */
async function serveTwo(service: Protected): Promise<void> {
  const first = (await service.connect()).get('/first')
  const { response } = await service.holding.take('/first')
  const second = (await service.connect()).get('/second')
  await eventually('the second one waits', () => service.guard.stats().queued === 1)
  response.end()
  assert.equal((await first.answer()).status, 200)
  ;(await service.holding.take('/second')).response.end()
  assert.equal((await second.answer()).status, 200)
  await nextTurn()
}

const boom = (): never => {
  throw new Error('boom')
}
const later = async (): Promise<never> => boom()
const withGetter = (name: string): object => Object.defineProperty({}, name, { get: boom })
/** Throws on every access. */
const hostile = new Proxy({}, { get: boom, has: boom, getPrototypeOf: boom, ownKeys: boom }) as never

describe('onWarning', () => {
  for (const [what, onWarning, how] of [
    ['rejects', later, 'rejected with Error: boom'],
    ['throws', boom, 'threw Error: boom'],
  ] as const) {
    it(`hands its warnings to process.emitWarning if it ${what}`, async test => {
      const emitWarning = test.mock.method(process, 'emitWarning', () => undefined)
      const service = await openProtected({ onWarning, exempt: boom })
      await serveTwo(service)
      const texts = emitWarning.mock.calls.map(call => String(call.arguments[0]))
      assert.equal(texts.length, 1)
      assert.match(texts[0]!, /^the exempt function threw Error: boom/)
      assert.ok(texts[0]!.includes(`because onWarning ${how}`), texts[0])
    })
  }
})

describe('criticality that returns a value which throws when it is read', () => {
  for (const [what, answer] of [
    [
      'a key',
      {
        get key(): string {
          return boom()
        },
      },
    ],
    ['a criticality', withGetter('criticality')],
    ['a then', withGetter('then')],
    ['every property', hostile],
    ['a promise that rejects', later],
    [
      'an exception that throws when it is read',
      () => {
        throw hostile
      },
    ],
  ] as const) {
    it(`counts the request as critical, with one warning: ${what}`, async () => {
      const criticality = (): never => (typeof answer === 'function' ? answer() : answer) as never
      const service = await openProtected({ criticality })
      await serveTwo(service)
      assert.equal(service.warnings.length, 1)
      assert.match(service.warnings[0]!, /^the criticality function .*such requests count as 'critical'$/)
      // The guard still works.
      await serveTwo(service)
      assert.equal(service.guard.stats().admitted, 4)
    })
  }
})

describe('exempt that returns a value which throws when it is read', () => {
  for (const [what, exempt] of [
    ['a then', () => withGetter('then')],
    ['every property', () => hostile],
    ['a thenable that throws', () => Object.fromEntries([['then', boom]])],
    [
      'an exception that throws when it is read',
      () => {
        throw hostile
      },
    ],
  ] as const) {
    it(`exempts no request: ${what}`, async () => {
      const service = await openProtected({ exempt: exempt as never })
      await serveTwo(service)
      assert.equal(service.guard.stats().exempt, 0)
      assert.equal(service.guard.stats().admitted, 2)
    })
  }
})
