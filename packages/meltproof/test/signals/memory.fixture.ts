/**
 * A protected server that holds each body for three seconds. Sends its port, and answers a message with its memory
 * sheds.
 */
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
// The limit is so high that requests are shed only for lack of memory, as far as a busy machine allows.
const guard = protect(server, { limit: 10_000 })
/** Kept, because later sheds for other reasons would replace this text. */
let memoryText = ''
setInterval(() => {
  const text = guard.explain()
  if (text.includes('memory')) memoryText = text
}, 10).unref()
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('message', () => process.send!({ shed: guard.stats().shed.memory, explain: memoryText }))
process.on('disconnect', () => process.exit())
