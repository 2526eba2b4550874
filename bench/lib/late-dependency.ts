/**
 * The dependency of bench/outbound.ts, a process of its own: an HTTP server that answers in 50 ms, or never.
 * Prints its port.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const ANSWER_MS = 50

const server = createServer((request, response) => {
  if (request.url === '/late') setTimeout(() => response.end('late'), ANSWER_MS)
  else if (request.url === '/now') response.end('now')
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
