/** A bare server and servers with a gate answer the same bytes with the same bytes. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { pathOn, type Service, listen } from './harness.ts'

/** Echoes the request. Some paths select particular kinds of responses. */
function echo(request: http.IncomingMessage, response: http.ServerResponse): void {
  if (request.url === '/no-content') return void response.writeHead(204).end()
  if (request.url === '/early') return void response.end('early')
  if (request.url === '/close') return void response.writeHead(200, { connection: 'close' }).end('bye')
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const { method, url, headers, rawTrailers, httpVersion } = request
    const body = Buffer.concat(chunks)
    const text = JSON.stringify({ method, url, httpVersion, headers, rawTrailers, bytes: body.length })
    if (request.url === '/chunked') {
      response.writeHead(200, { trailer: 'x-sum' })
      response.write(text)
      response.addTrailers({ 'x-sum': '1' })
      response.end('!')
    } else if (request.url === '/later') setTimeout(() => response.end(text), 2)
    else response.end(text)
  })
}

const host = 'Host: test\r\n'
const end = `GET /end HTTP/1.1\r\n${host}Connection: close\r\n\r\n`
const chunks = '5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n'
const upgrade = `Connection: Upgrade\r\nUpgrade: x\r\n`

/** Each ends with something that makes the server close, at once or after its idle timeout. */
const CONVERSATIONS: Record<string, string> = {
  'one request': end,
  'keep-alive': `GET /1 HTTP/1.1\r\n${host}X-Twice: a\r\nX-Twice: b\r\n\r\nGET /2 HTTP/1.1\r\n${host}\r\n${end}`,
  'pipelined, slow among fast':
    `GET /1 HTTP/1.1\r\n${host}\r\nGET /later HTTP/1.1\r\n${host}\r\nGET /2 HTTP/1.1\r\n${host}\r\n` +
    `GET /later HTTP/1.1\r\n${host}\r\n${end}`,
  'HEAD between GETs': `GET /1 HTTP/1.1\r\n${host}\r\nHEAD /1 HTTP/1.1\r\n${host}\r\n${end}`,
  'a body': `POST /1 HTTP/1.1\r\n${host}Content-Length: 11\r\n\r\nhello world${end}`,
  'a large body': `POST /1 HTTP/1.1\r\n${host}Content-Length: 300000\r\n\r\n${'x'.repeat(300_000)}${end}`,
  'a chunked body': `POST /1 HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${chunks}\r\n${end}`,
  trailers: `POST /1 HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${chunks}X-Sum: 1\r\n\r\n${end}`,
  'a body the app ignores': `POST /early HTTP/1.1\r\n${host}Content-Length: 5\r\n\r\nhello${end}`,
  'a chunked answer': `GET /chunked HTTP/1.1\r\n${host}\r\n${end}`,
  'no content': `GET /no-content HTTP/1.1\r\n${host}\r\n${end}`,
  'an app that closes': `GET /close HTTP/1.1\r\n${host}\r\n`,
  'Expect: 100-continue': `POST /1 HTTP/1.1\r\n${host}Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi${end}`,
  'an unknown Expect': `GET /1 HTTP/1.1\r\n${host}Expect: miracles\r\n\r\n${end}`,
  'HTTP/1.0': 'GET /1 HTTP/1.0\r\n\r\n',
  'HTTP/1.0 kept alive': `GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n`,
  'no Host': 'GET /1 HTTP/1.1\r\n\r\n',
  'an upgrade without a listener': `GET /1 HTTP/1.1\r\n${host}${upgrade}\r\n${end}`,
  'CONNECT without a listener': `CONNECT a:1 HTTP/1.1\r\n${host}\r\n`,
  'not HTTP': 'HELO mail.example\r\n\r\n',
  'a bad header': `GET /1 HTTP/1.1\r\n${host}Bad Name: 1\r\n\r\n`,
  'two lengths': `POST /1 HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nhi`,
  'length and chunks': `POST /1 HTTP/1.1\r\n${host}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a bad chunk size': `POST /1 HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`,
  'headers too large': `GET /1 HTTP/1.1\r\n${host}X-Long: ${'x'.repeat(40_000)}\r\n\r\n`,
  'says it is HTTP/2.0': `GET /1 HTTP/2.0\r\n${host}\r\nGET /2 HTTP/2.0\r\n${host}\r\n`,
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'more than maxRequestsPerSocket': `GET /1 HTTP/1.1\r\n${host}\r\n`.repeat(40),
}

function server(): http.Server {
  // Some of these conversations end only with the server's idle timeout. Which ones depends on Node.
  const made = http.createServer({ keepAliveTimeout: 200, keepAliveTimeoutBuffer: 0 } as http.ServerOptions, echo)
  made.maxRequestsPerSocket = 8
  return made
}

/** Everything the server sends, without its Date. */
async function talk(service: Service, bytes: string, piece: number): Promise<string> {
  const client = await service.connect()
  for (let at = 0; at < bytes.length && !client.isClosed; at += piece) {
    client.send(bytes.slice(at, at + piece))
    if (piece < bytes.length) await turn()
  }
  const said = await client.rest()
  client.destroy()
  return said.replaceAll(/^Date: .*$/gm, 'Date: then')
}

const ARMS = {
  'with a limit of 1000': (made: http.Server) => pathOn(made, { limit: 1000 }),
  'with a limit of one': (made: http.Server) => pathOn(made, { limit: 1 }),
}

for (const [arm, protect] of Object.entries(ARMS)) {
  describe(`a server with a gate ${arm} answers like a bare one`, () => {
    let bare: Service
    let guarded: Service
    before(async () => {
      const guardedServer = server()
      protect(guardedServer)
      bare = await listen(server())
      guarded = await listen(guardedServer)
    })
    after(() => {
      bare.server.close()
      guarded.server.close()
    })

    for (const [name, bytes] of Object.entries(CONVERSATIONS)) {
      it(name, async () => {
        const pieces = bytes.length > 10_000 ? [bytes.length, 4096] : [bytes.length, 13]
        for (const piece of pieces) {
          const [expected, got] = await Promise.all([talk(bare, bytes, piece), talk(guarded, bytes, piece)])
          assert.equal(got, expected, `in pieces of ${piece}`)
        }
      })
    }
  })
}
