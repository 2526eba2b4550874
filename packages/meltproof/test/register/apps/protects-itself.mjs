/** Calls protect() itself, before or after listen(), and register also protects the server. */
import http from 'node:http'
import { protect } from 'meltproof'
import { listener, sayPort } from './report.cjs'
const server = http.createServer(listener)
const early = process.env['WHEN'] === 'before' ? protect(server, { lanes: 2 }) : undefined
server.listen(0, '127.0.0.1', () => {
  const guard = protect(server)
  if (early !== undefined && guard !== early) throw new Error('a second guard')
  if (guard.stats().lanes < 1) throw new Error('a guard that knows of no listener')
  sayPort(server)
})
