/** A protected server that holds each body for a second: sends its port, then why it shed in answer to a message. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { protect } from '../../src/index.ts'

const server = http.createServer((request, response) => {
  void buffer(request)
    .then(async body => {
      await sleep(1000)
      response.end(String(body.length))
    })
    .catch(() => response.destroy())
})
const guard = protect(server)
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('message', () => process.send!({ shed: guard.stats().shed.memory, explain: guard.explain() }))
process.on('disconnect', () => process.exit())
