/** How a response of the app announces that it is the last one, tested without a connection. */
import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { CONNECTION, type HttpSocket } from '../../../src/server/connection/http-socket.ts'
import { makeLast } from '../../../src/server/response/last-answer.ts'

function open({ isLast = true, uploading = false } = {}) {
  const socket: HttpSocket = new Socket()
  const connection = { closing: false, path: { refuse: () => false } }
  socket[CONNECTION] = connection
  const request = new IncomingMessage(socket)
  request.httpVersionMajor = 1
  request.httpVersionMinor = 1
  request.method = 'POST'
  request.rawHeaders = uploading ? ['content-length', '10'] : []
  request.complete = !uploading
  const response = new ServerResponse(request) as ServerResponse & { readonly _header: string }
  response.shouldKeepAlive = true
  makeLast(request, response, () => isLast)
  const said = (): string[] => [...response._header.matchAll(/^connection: (.*?)\r$/gim)].map(([, value]) => value!)
  return { response, connection, said }
}

describe('the last response of a connection', () => {
  for (const [how, write] of [
    ['sets no Connection header', r => r.writeHead(200, { 'x-a': 'b' })],
    ['calls setHeader() with keep-alive', r => r.setHeader('Connection', 'keep-alive').writeHead(200)],
    ['passes keep-alive in an object', r => r.writeHead(200, { CONNECTION: 'keep-alive', 'x-a': 'b' })],
    ['passes keep-alive in a list', r => r.writeHead(200, 'OK', ['connection', 'keep-alive', 'x-a', 'b'])],
    ['passes keep-alive in a list of pairs', r => r.writeHead(200, [['Connection', 'keep-alive']] as never)],
  ] as [string, (response: ServerResponse) => void][]) {
    it(`has Connection: close if the app ${how}`, () => {
      const { response, connection, said } = open()
      write(response)
      assert.deepEqual(said(), ['close'])
      assert.equal(connection.closing, true)
    })
  }

  it('keeps the header of the app while other responses must follow it', () => {
    const { response, connection, said } = open({ isLast: false })
    response.writeHead(200, { connection: 'keep-alive' })
    assert.deepEqual(said(), ['keep-alive'])
    assert.equal(connection.closing, false)
  })

  it('leaves closing to the client while it uploads', () => {
    const { response, connection, said } = open({ uploading: true })
    response.writeHead(200)
    assert.deepEqual(said(), ['close'])
    assert.deepEqual([connection.closing, response.shouldKeepAlive], [true, true])
  })

  it('keeps the header of the app while its client uploads', () => {
    const { response, connection, said } = open({ uploading: true })
    response.writeHead(200, { connection: 'keep-alive' })
    assert.deepEqual(said(), ['keep-alive'])
    assert.equal(connection.closing, false)
  })
})
