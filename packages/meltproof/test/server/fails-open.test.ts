/** If meltproof fails internally, the app still answers, and the failure is reported once. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { GATE_TUNING } from '../../src/admission/gate.ts'
import { fixedLimit, type Limiter } from '../../src/admission/limiter/limiter.ts'
import { eventually, Holding, startGated } from './harness.ts'

const PARTS = ['limit', 'searching', 'admitted', 'completed', 'limitReached', 'tick', 'limitCleared'] as const

const INTERVAL_MS = 10

/** A limiter with a limit of one. Its member `part` throws once `armed` returns true. */
function brokenLimiter(part: keyof Limiter, armed: () => boolean): Limiter {
  return new Proxy(fixedLimit(1), {
    get(limiter, name) {
      if (name !== part || !armed()) return Reflect.get(limiter, name)
      if (typeof limiter[part] !== 'function') throw new Error(`broken: ${part}`)
      return () => {
        throw new Error(`broken: ${part}`)
      }
    },
  })
}

for (const part of PARTS) {
  it(`after a limiter throws in ${part}, every request is answered, and the failure is reported once`, async () => {
    const failures: unknown[] = []
    const holding = new Holding()
    // The first waiting request triggers limitReached. The other parts break while requests wait.
    let armed = part === 'limitReached'
    const service = await startGated(holding.handler, {
      limiter: brokenLimiter(part, () => armed),
      onFailure: error => failures.push(error),
      tuning: { maxWaitMs: GATE_TUNING.maxWaitMs, intervalMs: INTERVAL_MS },
    })
    const clients = await Promise.all(Array.from({ length: 12 }, () => service.connect()))
    const [first, second, ...others] = clients
    first!.get('/')
    const inService = await holding.take()
    second!.get('/').get('/behind').get('/upgrade', 'Connection: Upgrade', 'Upgrade: x')
    others[0]!.get('/upgrade', 'Connection: Upgrade', 'Upgrade: x')
    await eventually('a request waits', () => service.requestPath.stats().queued > 0 || failures.length > 0)
    armed = true
    for (const client of others.slice(1)) client.get('/').get('/behind')
    // The queue reads `searching` when an interval ends.
    if (part === 'searching') await sleep(3 * INTERVAL_MS)
    inService.response.end()
    const answering = (async () => {
      for (;;) (await holding.take()).response.end('answered')
    })()
    answering.catch(() => undefined)
    for (const client of clients) {
      const answer = await client.answer()
      assert.ok(answer.status === 200 || (answer.status === 503 && client === second), `${answer.status}`)
    }
    // Whether or not these twelve triggered it, the next hundred do.
    for (let i = 0; i < 100; i++) assert.equal((await first!.get('/').answer()).status, 200)
    assert.deepEqual(failures.map(String), [`Error: broken: ${part}`])
  })
}

describe('a failure inside meltproof', () => {
  it('at the end of a request does not reach the app', async () => {
    const failures: unknown[] = []
    const service = await startGated(
      (request, response) => {
        if (request.url === '/odd') {
          Object.defineProperty(response, 'writableEnded', {
            get() {
              throw new Error('odd')
            },
          })
        }
        response.end('answered')
      },
      { onFailure: error => failures.push(error) },
    )
    for (const path of ['/odd', '/next']) {
      assert.equal((await (await service.connect()).get(path).answer()).body, 'answered')
    }
    assert.deepEqual(failures.map(String), ['Error: odd'])
  })

  it('keeps the order of pipelined requests', async () => {
    const failures: unknown[] = []
    const holding = new Holding()
    let armed = false
    const service = await startGated(holding.handler, {
      limiter: brokenLimiter('admitted', () => armed),
      onFailure: error => failures.push(error),
    })
    ;(await service.connect()).get('/first')
    const first = await holding.take('/first')
    const client = (await service.connect()).get('/a').get('/b').get('/c').get('/d')
    await eventually('a waits', () => service.requestPath.stats().queued === 1)
    armed = true
    first.response.end()
    for (const path of ['/a', '/b', '/c', '/d']) {
      ;(await holding.take(path)).response.end(path)
      assert.equal((await client.answer()).body, path)
    }
    assert.equal(failures.length, 1)
  })
})
