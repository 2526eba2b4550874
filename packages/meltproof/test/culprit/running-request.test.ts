/** runningRequest() returns the request for which code is running, while stalls are being named. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { followRequests, runningRequest } from '../../src/culprit/running-request.ts'
import { protect } from '../../src/server/protect.ts'
import { listen } from '../server/harness.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const FOLLOWS_AWAIT = Number(process.versions.node.split('.')[0]) >= 24
const nothing = (): void => {}

async function served(t: TestContext, handler: http.RequestListener): Promise<number> {
  t.after(followRequests())
  const server = http.createServer(handler)
  const guard = protect(server)
  t.after(() => guard.close())
  return (await listen(server)).port
}

async function get(port: number): Promise<void> {
  const [response] = await once(http.get({ port, host: '127.0.0.1', agent: false }), 'response')
  await once(response.resume(), 'close')
}

describe('the running request', () => {
  it('is known until its response has closed', async t => {
    const known: boolean[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const port = await served(t, async (request, response) => {
      known.push(runningRequest() === request)
      await sleep(1)
      known.push(runningRequest() === request)
      response.end()
      await once(response, 'close')
      known.push(runningRequest() === undefined)
      resolve()
    })
    await get(port)
    await promise
    assert.deepEqual(known, [true, FOLLOWS_AWAIT, true])
  })

  it('is not kept in memory by the timers that its handler has started', async t => {
    const REQUESTS = 50
    const MOST_KEPT = 5
    let collected = 0
    const registry = new FinalizationRegistry(() => collected++)
    const timers: NodeJS.Timeout[] = []
    t.after(() => {
      for (const timer of timers) clearTimeout(timer)
    })
    const port = await served(t, (request, response) => {
      registry.register(request, undefined)
      timers.push(setTimeout(nothing, 3_600_000))
      response.end()
    })
    for (let i = 0; i < REQUESTS; i++) await get(port)
    // Finalisers run in later turns.
    for (const untilMs = Date.now() + 30_000; collected < REQUESTS - MOST_KEPT && Date.now() < untilMs; ) {
      await sleep(50)
      collectGarbage()
    }
    assert.ok(collected >= REQUESTS - MOST_KEPT, `${REQUESTS - collected} of ${REQUESTS} are in memory`)
  })
})
