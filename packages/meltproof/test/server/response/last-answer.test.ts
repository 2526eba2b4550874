/** How the app's own answer says that it is the last one, on responses without a connection. */
import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { HEAD_LISTENER, type HttpSocket } from '../../../src/server/connection/http-socket.ts'
import { makeLast } from '../../../src/server/response/last-answer.ts'

function open({ isLast = true, uploading = false } = {}) {
  const socket: HttpSocket = new Socket()
  const connection = { closing: false, refuseAtHead: () => false }
  socket[HEAD_LISTENER] = connection
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

describe('an answer that is made the last', () => {
  for (const [how, write] of [
    ['says nothing of its connection', r => r.writeHead(200, { 'x-a': 'b' })],
    ['has set the field', r => r.setHeader('Connection', 'keep-alive').writeHead(200)],
    ['names it in an object', r => r.writeHead(200, { CONNECTION: 'keep-alive', 'x-a': 'b' })],
    ['names it in a list', r => r.writeHead(200, 'OK', ['connection', 'keep-alive', 'x-a', 'b'])],
    ['names it in a list of pairs', r => r.writeHead(200, [['Connection', 'keep-alive']] as never)],
  ] as [string, (response: ServerResponse) => void][]) {
    it(`says close where the app ${how}`, () => {
      const { response, connection, said } = open()
      write(response)
      assert.deepEqual(said(), ['close'])
      assert.equal(connection.closing, true)
    })
  }

  it('says what it would have said where others have to be answered behind it', () => {
    const { response, connection, said } = open({ isLast: false })
    response.writeHead(200, { connection: 'keep-alive' })
    assert.deepEqual(said(), ['keep-alive'])
    assert.equal(connection.closing, false)
  })

  it('leaves it to the client to close while it uploads', () => {
    const { response, connection, said } = open({ uploading: true })
    response.writeHead(200)
    assert.deepEqual(said(), ['close'])
    assert.deepEqual([connection.closing, response.shouldKeepAlive], [true, true])
  })

  it('is as the app says while its client uploads', () => {
    const { response, connection, said } = open({ uploading: true })
    response.writeHead(200, { connection: 'keep-alive' })
    assert.deepEqual(said(), ['keep-alive'])
    assert.equal(connection.closing, false)
  })
})
