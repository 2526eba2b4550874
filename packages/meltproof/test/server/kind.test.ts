/** The option `kind`: operations on one path share capacity like routes. */
import assert from 'node:assert/strict'
import http from 'node:http'
import http2 from 'node:http2'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { protect, type ProtectOptions } from '../../src/index.ts'
import { kindNames } from '../../src/server/gate/request-kinds.ts'
import { keepUploadEnd } from '../../src/server/gate/upload-ends.ts'
import { Exchange } from '../../src/server/request/exchange.ts'
import type { RequestPolicy } from '../../src/server/request/policy.ts'
import { type Asked, flooded, servedBeside, type Service } from './flood.ts'
import { eventually, Holding, listen, startGated } from './harness.ts'

const PATH = '/graphql'
const operation = (name: string): Asked => ({ path: PATH, headers: { 'x-operation': name } })
const operationOf = (request: http.IncomingMessage): string | undefined =>
  request.headers['x-operation'] as string | undefined
const kind = operationOf

/** Encodes a number as a word of letters. */
const word = (n: number): string => n.toString(16).replace(/\d/g, digit => 'qrstuvwxyz'[Number(digit)]!)
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`

/** A heavy operation holds one of two permits for 40 ms, so 50 a second are served. The flood sends 600. */
const pool: Service = { holdsMs: request => (operationOf(request) === 'Report' ? 40 : 4) }
const report = (): Asked => operation('Report')
const viewer = (): Asked => operation('Viewer')

describe('a cheap operation next to a heavy one on its path, sent at twelve times its capacity', () => {
  it('keeps 90 % of its goodput with the option kind, which is called once per request', async () => {
    let asked = 0
    const counting = (request: http.IncomingMessage): string | undefined => {
      asked++
      return operationOf(request)
    }
    const { share, statuses, stats } = await flooded(report, viewer, { kind: counting }, pool)
    assert.ok(share >= 0.9, percent(share))
    const served = statuses.filter(status => status === 200).length
    const shed = statuses.filter(status => status === 503).length
    assert.ok(shed > statuses.length / 2, `${shed} of ${statuses.length} are shed`)
    assert.deepEqual(
      { asked, admitted: stats.admitted, shed: Object.values(stats.shed).reduce((sum, each) => sum + each, 0) },
      { asked: statuses.length, admitted: served, shed: statuses.length - served },
    )
    assert.equal(served + shed, statuses.length)
  })

  it('loses over 40 % of its goodput without the option kind', async () => {
    const share = await servedBeside(report, viewer, {}, pool)
    assert.ok(share < 0.6, percent(share))
  })

  it('keeps 90 % on a separate path if the kind function throws, with one warning', async () => {
    const warnings: string[] = []
    const share = await servedBeside(
      () => ({ path: '/reports' }),
      () => ({ path: '/viewer' }),
      {
        kind: () => {
          throw new Error('no operation')
        },
        onWarning: warning => warnings.push(warning),
      },
      { holdsMs: ({ url }) => (url === '/reports' ? 40 : 4) },
    )
    assert.ok(share >= 0.9, percent(share))
    assert.deepEqual(warnings, ['the kind function threw Error: no operation; such requests are grouped by their path'])
  })
})

describe('over 80 % of an honest operation is served next to', () => {
  it('a flood of made-up names', async () => {
    const share = await servedBeside(n => operation(word(n * 7919)), viewer, { kind })
    assert.ok(share > 0.8, percent(share))
  })

  it('a flood of requests without a name', async () => {
    const share = await servedBeside(() => ({ path: PATH }), viewer, { kind })
    assert.ok(share > 0.8, percent(share))
  })
})

describe('the kind function', () => {
  it('is called with the head of each request before its handler and its body, and not for exempt ones', async () => {
    const seen: [string | undefined, boolean, number][] = []
    const holding = new Holding()
    const server = http.createServer(holding.handler)
    protect(server, {
      lanes: 1,
      exempt: ['/health'],
      kind: request => {
        seen.push([request.headers['x-operation'] as string, request.complete, holding.started.length])
        return 'any'
      },
    })
    const service = await listen(server)
    const client = await service.connect()
    client.send(`POST ${PATH} HTTP/1.1\r\nHost: test\r\nX-Operation: Viewer\r\nContent-Length: 2\r\n\r\n`)
    const { request, response } = await holding.take(PATH)
    client.send('{}')
    response.end(String(await once(request, 'data')))
    assert.equal((await client.answer()).body, '{}')
    client.get('/health')
    ;(await holding.take('/health')).response.end()
    await client.answer()
    assert.deepEqual(seen, [['Viewer', false, 0]])
  })

  it('is called for requests over HTTP/2', async () => {
    const seen: unknown[] = []
    const server = http2.createServer((_, response) => response.end())
    protect(server, {
      lanes: 1,
      kind: request => {
        seen.push(request.headers['x-operation'], request.url)
        return undefined
      },
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    await once(session.request({ ':path': PATH, 'x-operation': 'Viewer' }).resume(), 'end')
    assert.deepEqual(seen, ['Viewer', PATH])
    session.close()
    server.close()
  })

  it('is not called again for the end of an upload, even if the handler changed the request', async () => {
    const asked: (string | undefined)[] = []
    const policy: RequestPolicy = {
      kindName: request => {
        asked.push(request.url)
        return request.url
      },
    }
    const service = await startGated(
      (request, response) => {
        request.url = '/changed'
        request.resume().on('end', () => response.end('thanks'))
      },
      { policy },
    )
    const upload = await service.connect()
    upload.send('POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n1')
    await eventually('it works', () => service.requestPath.stats().admitted === 1)
    const other = (await service.connect()).get('/other')
    await eventually('it has given its permit back', () => service.requestPath.stats().admitted === 2)
    upload.send('2')
    assert.equal((await upload.answer('POST')).body, 'thanks')
    await other.answer()
    assert.deepEqual(asked, ['/upload', '/other'])
  })

  it('gives the end of an upload the kind of its beginning', () => {
    const request = { push: (_chunk: unknown) => true }
    const upload = new Exchange(request as never, undefined, true, 0, '/upload')
    upload.response = {} as never
    upload.kindKey = 7
    let end: Exchange | undefined
    keepUploadEnd(upload, exchange => {
      end = exchange
    })
    request.push(null)
    assert.equal(end?.kindKey, 7)
  })

  it('is reported once if it throws or returns a wrong type, and the path is used instead', () => {
    const request = { url: PATH } as http.IncomingMessage
    for (const [call, what] of [
      [
        () => {
          throw new Error('bad query')
        },
        /^the kind function threw Error: bad query; such requests are grouped by their path$/,
      ],
      [() => 7, /returned 7, not a string or undefined/],
      [() => null, /returned null/],
      [() => ['a'], /returned an array/],
      [async () => Promise.reject(new Error('late')), /returned a promise/],
    ] as const) {
      const warnings: string[] = []
      const nameOf = kindNames(call as never, warning => warnings.push(warning))
      assert.deepEqual([nameOf(request), nameOf(request)], [undefined, undefined])
      assert.equal(warnings.length, 1)
      assert.match(warnings[0]!, what)
    }
  })

  it('may return any string, or undefined', () => {
    const nameOf = kindNames(operationOf, () => assert.fail())
    for (const name of ['Viewer', '', undefined]) {
      assert.equal(nameOf({ headers: { 'x-operation': name } } as never), name)
    }
  })
})

describe('the option kind', () => {
  for (const [options, message] of [
    [{ kind: 'x-operation' }, /kind must be a function; got 'x-operation'/],
    [{ kind: { header: 'x-operation' } }, /kind must be a function; got an object/],
    [{ kind: null }, /kind must be a function; got null/],
    [{ kinds: operationOf }, /does not know 'kinds'\. Did you mean 'kind'\?/],
  ] as const) {
    it(`throws a message that says what is wrong: ${String(message)}`, () => {
      assert.throws(() => protect(http.createServer(), options as unknown as ProtectOptions), message)
    })
  }
})
