/** Apps may set `request.stream` and `response.stream` in HTTP/1. meltproof must not take them for streams of HTTP/2. */
import assert from 'node:assert/strict'
import { ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { afterEach, describe, it } from 'node:test'
import { eventually, Holding, startGated } from './harness.ts'

const VALUES: Readonly<Record<string, () => unknown>> = {
  true: () => true,
  null: () => null,
  'a method': () => () => undefined,
  'a PassThrough': () => new PassThrough(),
  'an empty object': () => ({}),
}

describe('request.stream', () => {
  for (const [name, make] of Object.entries(VALUES)) {
    it(`may be ${name}, also when the client disconnects`, async () => {
      const holding = new Holding()
      const service = await startGated((request, response) => {
        Object.assign(request, { stream: make() })
        holding.handler(request, response)
      })
      const client = (await service.connect()).get('/left')
      const { response } = await holding.take('/left')
      client.destroy()
      await eventually('its client has left', () => service.requestPath.stats().abandoned === 1)
      response.end()
      await eventually('the permit is back', () => service.requestPath.stats().inflight === 0)
      const next = (await service.connect()).get('/next')
      ;(await holding.take('/next')).response.end('served')
      assert.equal((await next.answer()).body, 'served')
    })

    it(`may be ${name} on a request that says it is HTTP/2.0`, async () => {
      const holding = new Holding()
      const service = await startGated((request, response) => {
        Object.assign(request, { stream: make() })
        holding.handler(request, response)
      })
      const client = (await service.connect()).send('GET /left HTTP/2.0\r\nHost: test\r\n\r\n')
      const { response } = await holding.take('/left')
      client.destroy()
      await eventually('its client has left', () => service.requestPath.stats().abandoned === 1)
      response.end()
      await eventually('the permit is back', () => service.requestPath.stats().inflight === 0)
    })
  }
})

describe('response.stream', () => {
  const prototype = ServerResponse.prototype as { stream?: unknown }
  afterEach(() => {
    delete prototype.stream
  })

  for (const [name, make] of Object.entries(VALUES)) {
    it(`may be ${name} on all responses`, async () => {
      prototype.stream = make()
      const holding = new Holding()
      const service = await startGated(holding.handler)
      const feed = (await service.connect()).get('/feed')
      const first = await holding.take('/feed')
      first.response.writeHead(200).write('begun')
      // Waiting requests make the gate check the response that has begun.
      const waits = (await service.connect()).get('/waits')
      const upgrade = (await service.connect()).get('/upgrade', 'Connection: Upgrade', 'Upgrade: x')
      const second = (await service.connect()).get('/second', 'Connection: Upgrade', 'Upgrade: x')
      await eventually('all wait', () => service.requestPath.stats().queued === 3)
      feed.destroy()
      await eventually('its client has left', () => service.requestPath.stats().abandoned === 1)
      first.response.end()
      for (const client of [waits, upgrade, second]) {
        const { request, response } = await holding.take()
        response.end(request.url)
        assert.equal((await client.answer()).status, 200)
      }
      await eventually('the permits are back', () => service.requestPath.stats().inflight === 0)
      assert.equal(service.requestPath.stats().admitted, 4)
    })
  }
})
