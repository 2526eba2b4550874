/** The one module that touches Node's parser, on a real server without a gate. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { describe, it } from 'node:test'
import { Connection } from '../../../src/server/connection/connection.ts'
import { Holding, listen } from '../harness.ts'

describe('a request that the parser forgets', () => {
  it('leaves neither its body nor its trailers to the next request on the connection', async () => {
    const holding = new Holding()
    const server = http.createServer(holding.handler)
    server.on('connection', socket => {
      const attached = Connection.attach(socket, {
        onHead(connection, request, keepAlive) {
          if (request.url !== '/forget') return connection.handOn(request, keepAlive)
          connection.forget(request)
          socket.write('HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n')
          return 0
        },
        refuse: () => false,
      })
      assert.ok(attached, 'this Node has its parser where we look for it')
    })
    const service = await listen(server)
    const client = await service.connect()
    client.send('POST /forget HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n')
    assert.equal((await client.answer('POST')).status, 503)
    client.send('2\r\nhi\r\n0\r\nx-admin: yes\r\n\r\n')
    // Sent in two pieces, so that the parser collects these headers in the same place as trailers.
    client.send('GET /next HTTP/1.1\r\nHost: te')
    await new Promise(resolve => setTimeout(resolve, 50))
    client.send('st\r\n\r\n')
    const { request, response } = await holding.take('/next')
    assert.deepEqual(request.headers, { host: 'test' })
    response.end()
    assert.equal((await client.answer()).status, 200)
    assert.deepEqual(request.trailers, {})
  })
})
