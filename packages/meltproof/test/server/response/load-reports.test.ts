/** Which clients get load reports, on which responses, and that the app's own fields and objects stay unchanged. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2, { type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import grpc from '@grpc/grpc-js'
import { now } from '../../../src/clock.ts'
import { type LoadFigures, limiterOf } from '../../../src/process-gate.ts'
import { protect, type ProtectOptions } from '../../../src/index.ts'
import { checkPeers } from '../../../src/server/request/peers.ts'
import { withField } from '../../../src/server/response/before-head.ts'
import { LoadReports } from '../../../src/server/response/load-reports.ts'
import { pathOn, eventually, listen, memoryThat } from '../harness.ts'

const FIELD = 'endpoint-load-metrics'
const BINARY = 'endpoint-load-metrics-bin'
const FIGURES: LoadFigures = {
  loop: 0.3,
  utilisation: 0.5,
  demand: 3,
  offeredPerS: 90,
  shedPerS: 60,
  failedPerS: 0,
}
const TEXT = 'TEXT cpu_utilization:0.3,application_utilization:1.5,rps_fractional:90,eps:60'
const LOCAL = ['127.0.0.0/8']
const STRANGERS = ['10.0.0.0/8', '::2']

const closing: (() => void)[] = []
after(() => {
  for (const close of closing) close()
})

function reportsTo(peers: readonly string[], figures: () => LoadFigures | undefined = () => FIGURES): LoadReports {
  return new LoadReports(checkPeers('reportLoadTo', peers)!, figures)
}

/** Puts a gate on a server that reports to `peers`, and that sheds while `isShort` is true. */
function doorThatTells(server: http.Server, peers: readonly string[] = LOCAL, figures = () => FIGURES as LoadFigures) {
  const reports = reportsTo(peers, figures)
  return pathOn(server, {
    answer: { reports },
    policy: {
      reportsLoad: (request, response) => reports.onto(request, response),
      memory: memoryThat(() => isShort),
    },
  })
}
let isShort = false

/** Returns the report in two responses: one of the app, one of a shed. */
async function answers(peers: readonly string[], path = '/', method = 'GET'): Promise<(string | null)[]> {
  const server = http.createServer((_, response) => void response.end('ok'))
  doorThatTells(server, peers)
  const { port } = await listen(server)
  const told: (string | null)[] = []
  for (isShort of [false, true]) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method })
    await answer.text()
    assert.equal(answer.status, isShort ? 503 : 200)
    assert.equal(answer.headers.get(BINARY), null)
    told.push(answer.headers.get(FIELD))
  }
  isShort = false
  return told
}

describe('load reports over HTTP/1', () => {
  it('are sent to peers, with responses of the app and with sheds', async () => {
    assert.deepEqual(await answers(LOCAL), [TEXT, TEXT])
    assert.deepEqual(await answers(LOCAL, '/', 'POST'), [TEXT, TEXT], 'which is shed another way')
  })

  it('are not sent to other clients', async () => {
    assert.deepEqual(await answers(STRANGERS), [null, null])
    assert.deepEqual(await answers(STRANGERS, '/', 'POST'), [null, null])
  })

  it('are not left in a shed for another client', () => {
    const reports = reportsTo(LOCAL)
    const from = (remoteAddress: string): string => reports.line({ socket: { remoteAddress } as never }, 0)
    assert.deepEqual(
      [from('127.0.0.1'), from('11.0.0.1'), from('127.0.0.1')],
      [`${FIELD}: ${TEXT}\r\n`, '', `${FIELD}: ${TEXT}\r\n`],
    )
  })

  it('are added however the app writes its head, unless it sets the field itself', async () => {
    const ways: Readonly<Record<string, http.RequestListener>> = {
      '/implicit': (_, response) => void response.write('x'),
      '/object': (_, response) => void response.writeHead(200, { 'x-more': '1' }),
      '/list': (_, response) => void response.writeHead(200, 'fine', ['x-more', '1', 'x-more', '2']),
      '/cleared': (_, response) => {
        for (const name of response.getHeaderNames()) response.removeHeader(name)
      },
      '/set': (_, response) => void response.setHeader(FIELD, 'own'),
      '/own': (_, response) => void response.writeHead(200, { 'Endpoint-Load-Metrics': 'own' }),
      '/own-list': (_, response) => void response.writeHead(200, ['Endpoint-Load-Metrics', 'own']),
    }
    const server = http.createServer((request, response) => {
      ways[request.url!]!(request, response)
      response.end()
    })
    doorThatTells(server)
    const { port } = await listen(server)
    for (const path of Object.keys(ways)) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      await answer.text()
      assert.equal(answer.headers.get(FIELD), /set|own/.test(path) ? 'own' : TEXT, path)
    }
  })

  it('leave the rest of the head as it is', async () => {
    const heads = [
      [
        ['x-a', '1'],
        ['x-a', '2'],
        ['x-b', '3'],
      ],
      [
        ['x-a', '1'],
        ['x-a', '2'],
      ],
      ['x-a', '1', 'x-b', '2', 'x-a', '3'],
      { 'x-a': '1', 'X-A': '2' },
    ] as unknown as string[][]
    const server = http.createServer((request, response) => {
      response.writeHead(200, heads[Number(request.url!.slice(1))])
      response.end(JSON.stringify(response.getHeaders()))
    })
    const told = http.createServer(server.listeners('request')[0] as http.RequestListener)
    doorThatTells(told)
    for (const index of heads.keys()) {
      const [bare, other] = await Promise.all(
        [server, told].map(async each => {
          if (!each.listening) await listen(each)
          const { port } = each.address() as AddressInfo
          const request = http.get({ port, path: `/${index}`, host: '127.0.0.1', agent: false })
          const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
          const body = Buffer.concat(await answer.toArray()).toString()
          const at = answer.rawHeaders.indexOf(FIELD)
          const own = answer.rawHeaders.filter((_, i) => at === -1 || (i !== at && i !== at + 1))
          return {
            status: answer.statusCode,
            told: at !== -1,
            own: own.filter((_, i) => own[i - (i % 2)] !== 'Date'),
            body,
          }
        }),
      )
      assert.deepEqual(other, { ...bare, told: true }, `${index}`)
    }
  })

  it('show the load at the moment the response is sent', async () => {
    let answered!: () => void
    const server = http.createServer((_, response) => {
      answered = () => response.end()
    })
    let offeredPerS = 90
    doorThatTells(server, LOCAL, () => ({ ...FIGURES, offeredPerS: ++offeredPerS, shedPerS: 0 }))
    const { port } = await listen(server)
    const answer = fetch(`http://127.0.0.1:${port}/`)
    await eventually('it has started', () => answered !== undefined)
    offeredPerS = 900
    answered()
    assert.match((await answer).headers.get(FIELD) ?? '', /rps_fractional:901,/)
  })
})

it('figures are computed at most ten times a second, and some of a thousand responses carry them', () => {
  let asked = 0
  const reports = reportsTo(LOCAL, () => {
    asked++
    return FIGURES
  })
  const peer = { socket: { remoteAddress: '127.0.0.1' } as never }
  for (let atMs = 1000; atMs < 2000; atMs++) reports.line(peer, atMs)
  assert.equal(asked, 10)
  const request = { ...peer, httpVersionMajor: 1 } as unknown as http.IncomingMessage
  const responses = Array.from({ length: 1000 }, () => new http.ServerResponse(request))
  const from = performance.now()
  for (const response of responses) reports.onto(request, response)
  const tenths = 1 + Math.ceil((performance.now() - from) / 100)
  const told = responses.filter(response => Object.hasOwn(response, 'writeHead')).length
  assert.ok(told >= 100 && told <= Math.min(999, 100 * tenths), `${told} in ${tenths} tenths of a second`)
})

describe('load reports over HTTP/2', () => {
  /** @param answer responds on the raw stream */
  async function head(
    peers: readonly string[],
    answer: (stream: ServerHttp2Stream) => void,
    short: boolean,
  ): Promise<IncomingHttpHeaders> {
    const server = http2.createServer()
    server.on('stream', answer)
    doorThatTells(server as unknown as http.Server, peers)
    return ask(server, short)
  }

  async function ask(server: http2.Http2Server, short: boolean): Promise<IncomingHttpHeaders> {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    closing.push(() => {
      session.destroy()
      server.close()
    })
    isShort = short
    const stream = session.request({ ':path': '/' }).resume()
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    isShort = false
    return headers
  }

  it('are sent on raw streams to peers only, unless the app sets the field itself', async () => {
    const shared = Object.freeze({ ':status': 200, 'x-more': '1' })
    const plain = (stream: ServerHttp2Stream): void => {
      stream.respond(shared)
      stream.end('ok')
    }
    for (const short of [false, true]) {
      assert.equal((await head(LOCAL, plain, short))[FIELD], TEXT)
      assert.equal((await head(STRANGERS, plain, short))[FIELD], undefined)
    }
    const bare = (stream: ServerHttp2Stream): void => stream.respond(undefined, { endStream: true })
    assert.equal((await head(LOCAL, bare, false))[FIELD], TEXT)
    const own = (stream: ServerHttp2Stream): void => stream.respond({ [FIELD]: 'own' }, { endStream: true })
    assert.equal((await head(LOCAL, own, false))[FIELD], 'own')
  })

  it('keep the http2.sensitiveHeaders of a list of headers', () => {
    const list = Object.assign(['x-a', '1'], { [http2.sensitiveHeaders]: ['x-a'] })
    const told = withField(list, FIELD, TEXT)
    assert.deepEqual([...told], ['x-a', '1', FIELD, TEXT])
    assert.deepEqual((told as typeof list)[http2.sensitiveHeaders], ['x-a'])
  })

  it('are sent by the compatibility API to peers only', async () => {
    for (const peers of [LOCAL, STRANGERS]) {
      for (const short of [false, true]) {
        const server = http2.createServer((_, response) => void response.end('ok'))
        doorThatTells(server as unknown as http.Server, peers)
        assert.equal((await ask(server, short))[FIELD], peers === LOCAL ? TEXT : undefined)
      }
    }
  })
})

describe('load reports over gRPC', () => {
  const asIs = (message: Buffer): Buffer => message
  const SERVICE = {
    unary: {
      path: '/test.Test/Unary',
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
  }

  /** Returns the report in a call's trailers. Its head never has one. */
  async function trailers(peers: readonly string[], text: string, short: boolean): Promise<unknown> {
    const server = new grpc.Server()
    server.addService(SERVICE, {
      unary: ({ request }: { request: Buffer }, done: grpc.sendUnaryData<Buffer>) =>
        String(request) === 'fail' ? done({ code: grpc.status.NOT_FOUND }) : done(null, request),
    })
    const { createServer } = http2
    http2.createServer = ((...args: []) => {
      const made = createServer(...args)
      doorThatTells(made as unknown as http.Server, peers)
      return made
    }) as typeof createServer
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    ).finally(() => {
      http2.createServer = createServer
    })
    const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    })
    closing.push(() => {
      client.close()
      server.forceShutdown()
    })
    isShort = short
    const call = client.makeUnaryRequest('/test.Test/Unary', asIs, asIs, Buffer.from(text), () => {})
    call.on('metadata', metadata => assert.deepEqual(metadata.get(BINARY), []))
    const [{ code, metadata }] = (await once(call, 'status')) as [grpc.StatusObject]
    isShort = false
    assert.equal(code, short ? grpc.status.UNAVAILABLE : text === 'fail' ? grpc.status.NOT_FOUND : grpc.status.OK)
    assert.deepEqual(metadata.get(FIELD), [])
    const [report] = metadata.get(BINARY) as Buffer[]
    return report && Array.from({ length: report.length / 9 }, (_, i) => report.readDoubleLE(9 * i + 1))
  }

  it('are sent to peers only, in the trailers, also of failed and shed calls', async () => {
    for (const [text, short] of [
      ['fine', false],
      ['fail', false],
      ['fine', true],
    ] as const) {
      assert.deepEqual(await trailers(LOCAL, text, short), [0.3, 1.5, 90, 60], `${text} ${short}`)
      assert.equal(await trailers(STRANGERS, text, short), undefined)
    }
  })
})

it('utilisation counts requests in service before a limit is known', async () => {
  let came = 0
  const server = http.createServer(() => void came++)
  const limiter = limiterOf(undefined)
  const { processGate } = pathOn(server, { limiter })
  const { port } = await listen(server)
  const agent = new http.Agent({ keepAlive: true })
  closing.push(() => agent.destroy())
  const few = 8
  for (let i = 0; i < few; i++) http.get({ port, host: '127.0.0.1', agent }).on('error', () => {})
  await eventually('they are in service', () => came === few)
  // Reads the figures as of 1.9 s later, as if the loop had been idle meanwhile.
  const { utilisation, loop } = processGate.loadFigures(now() + 1900)!
  assert.equal(limiter.known, false)
  assert.ok(utilisation > 0.3 && utilisation <= 0.5, `${utilisation} with a loop that was busy for ${loop}`)
})

describe('protect() with reportLoadTo', () => {
  async function asking(options: ProtectOptions): Promise<(path: string) => Promise<string | null>> {
    const server = http.createServer((request, response) => {
      if (!request.url!.startsWith('/late')) response.end('ok')
    })
    protect(server, { lanes: 1, ...options })
    const { port } = await listen(server)
    return async path => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      await answer.text()
      assert.equal(answer.status, path === '/' ? 200 : 504)
      return answer.headers.get(FIELD)
    }
  }

  it('sends peers the figures of their server, and nothing to other clients or by default', async () => {
    const peer = await asking({ reportLoadTo: true, limit: 8 })
    const others = [await asking({}), await asking({ reportLoadTo: STRANGERS })]
    // Repeats until the loop of this test is busy enough for a report.
    let told: string | null = null
    while (told === null) {
      for (const other of others) assert.equal(await other('/'), null)
      told = await peer('/')
    }
    const figures = Object.fromEntries(
      told
        .slice('TEXT '.length)
        .split(',')
        .map(field => field.split(':')),
    )
    assert.ok(Number(figures.rps_fractional) > 1 && Number(figures.eps) === 0, told)
  })

  it('sends peers a report with a 504', async () => {
    const peer = await asking({ reportLoadTo: true, limit: 1000, deadlineMs: 20 })
    for (let i = 0; (await peer(`/late${i}`)) === null; i++) while ((await peer('/')) === null);
  })

  it('rejects shedHeaders that contain the field of the report', () => {
    const shedHeaders = { 'endpoint-load-metrics': 'x' }
    assert.throws(() => protect(http.createServer(), { shedHeaders }), /not a field that meltproof or Node writes/)
  })
})
