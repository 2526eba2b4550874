/** install({ adaptive: true }) and refusals, which do not count as service. Uses real clients and servers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, afterEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request as undiciRequest } from 'undici'
import { install } from '../../src/outbound/install.ts'
import { eventually, listen } from '../server/harness.ts'
import { CERTIFICATE } from '../server/tls.fixture.ts'
import { CLIENTS, codesOf } from './clients.ts'

let uninstall: (() => void) | undefined
afterEach(() => uninstall?.())

const came: string[] = []
let answer: (path: string, response: http.ServerResponse) => void
const server = http.createServer((request, response) => {
  came.push(request.url!)
  answer(request.url!, response)
})
const { port } = await listen(server)
const url = `http://127.0.0.1:${port}`
after(() => {
  server.close()
  server.closeAllConnections()
})
const refuse = (response: http.ServerResponse, status = 503): void => {
  response.statusCode = status
  response.end()
}

const isHeldBack = (error: unknown): boolean => codesOf(error).includes('MELTPROOF_OUTBOUND_FULL')

for (const name of ['fetch', 'undici 8', 'node:http'] as const) {
  const client = CLIENTS[name]!
  describe(name, () => {
    test('an origin that refuses everything gets less than half of the calls, and all after it recovers', async () => {
      uninstall = install({ adaptive: true })
      answer = (_path, response) => refuse(response)
      came.length = 0
      let heldBack = 0
      for (let i = 0; i < 400; i++) {
        await client(`${url}/work`).catch(error => {
          assert.ok(isHeldBack(error), String(error))
          heldBack++
        })
      }
      assert.equal(heldBack + came.length, 400)
      assert.ok(heldBack > 200, `${heldBack} of 400 held back`)
      answer = (_path, response) => void response.end('served')
      let servedInARow = 0
      await eventually('all are served', async () => {
        const text = await client(`${url}/work`).catch(() => undefined)
        servedInARow = text === 'served' ? servedInARow + 1 : 0
        return servedInARow >= 30
      })
    })

    test('without meltproof, every call to an origin that refuses goes out', async () => {
      answer = (_path, response) => refuse(response)
      came.length = 0
      for (let i = 0; i < 50; i++) await client(`${url}/work`)
      assert.equal(came.length, 50)
    })

    test('only the refused route of an origin is held back', async () => {
      uninstall = install({ adaptive: true })
      answer = (path, response) => (path.startsWith('/quota') ? refuse(response, 429) : void response.end('served'))
      came.length = 0
      let heldBack = 0
      for (let i = 0; i < 200; i++) {
        assert.equal(await client(`${url}/work/${i}`), 'served')
        await client(`${url}/quota/${i}`).catch(error => {
          assert.ok(isHeldBack(error), String(error))
          heldBack++
        })
      }
      assert.ok(heldBack > 100, `${heldBack} of 200 held back`)
    })
  })
}

test('refused calls do not count towards learning the limit', async () => {
  uninstall = install({ adaptive: true, totalMs: false })
  let inFlight = 0
  let peak = 0
  const most = 4
  answer = (_path, response) => {
    peak = Math.max(peak, ++inFlight)
    const end = (status: number): void => {
      inFlight--
      refuse(response, status)
    }
    if (inFlight > most) setImmediate(end, 503)
    else setTimeout(end, 20, 200)
  }
  came.length = 0
  let served = 0
  const call = async (): Promise<void> => {
    const { statusCode, body } = await undiciRequest(`${url}/work`)
    await body.text()
    if (statusCode === 200) served++
  }
  const all: Promise<unknown>[] = []
  for (let i = 0; i < 200; i++) {
    for (let each = 0; each < 4; each++) all.push(call().catch(() => undefined))
    await sleep(5)
  }
  await Promise.all(all)
  assert.ok(peak > most, 'it is called more often than it can answer')
  const refusedThere = came.length - served
  assert.ok(refusedThere < served / 2, `${refusedThere} refused there, ${served} served`)
})

describe('gRPC over HTTP/2', () => {
  for (const [where, respond] of Object.entries({
    'in the head': (stream: http2.ServerHttp2Stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14' }, { endStream: true })
    },
    'in trailers': (stream: http2.ServerHttp2Stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '8' }))
      stream.end('message')
    },
  })) {
    test(`a refusing grpc-status counts as a refusal ${where}`, async () => {
      const grpc = http2.createSecureServer({ key: CERTIFICATE.key, cert: CERTIFICATE.cert })
      let streams = 0
      grpc.on('stream', stream => {
        streams++
        respond(stream)
      })
      await once(grpc.listen(0, '127.0.0.1'), 'listening')
      const { port: grpcPort } = grpc.address() as AddressInfo
      const dispatcher = new Agent({ allowH2: true, connect: { rejectUnauthorized: false } })
      uninstall = install({ adaptive: true })
      try {
        let heldBack = 0
        for (let i = 0; i < 200; i++) {
          try {
            const { body } = await undiciRequest(`https://127.0.0.1:${grpcPort}/service/method`, {
              method: 'POST',
              dispatcher,
            })
            await body.text()
          } catch (error) {
            assert.ok(isHeldBack(error), String(error))
            heldBack++
          }
        }
        assert.equal(streams + heldBack, 200)
        assert.ok(heldBack > 100, `${heldBack} of 200 held back`)
      } finally {
        await dispatcher.destroy()
        grpc.close()
      }
    })
  }
})
