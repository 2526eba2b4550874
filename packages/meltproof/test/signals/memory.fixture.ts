/** A protected server that holds each body for three seconds: sends its port, then why it shed in answer to a message. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { protect } from '../../src/index.ts'

const server = http.createServer((request, response) => {
  void request
    .toArray()
    .then(async (chunks: Buffer[]) => {
      await sleep(3000)
      response.end(String(chunks.length))
    })
    .catch(() => response.destroy())
})
// Only memory is to shed here, as far as that can be had: the machine may be busy.
const guard = protect(server, { limit: 10_000 })
/** What the last shed of another reason would hide. */
let memoryText = ''
setInterval(() => {
  const text = guard.explain()
  if (text.includes('memory')) memoryText = text
}, 10).unref()
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('message', () => process.send!({ shed: guard.stats().shed.memory, explain: memoryText }))
process.on('disconnect', () => process.exit())
