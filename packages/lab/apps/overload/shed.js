/**
 * Measures the cost of a shed: a server that sheds nearly all requests while its loop is busy with other work, because
 * an overloaded server sheds in batches between slices of work. A request to CPU_PORT returns the CPU time used so far
 * without those slices, in microseconds.
 */
import http from 'node:http'
import { protect } from 'meltproof'
import { spin, spinPerMs } from '../busy.js'

const perMs = spinPerMs()
let workUs = 0

function cpuUs() {
  const { user, system } = process.cpuUsage()
  return user + system
}

function work() {
  const before = cpuUs()
  spin(perMs)
  workUs += cpuUs() - before
  setImmediate(work)
}

const server = http.createServer((_, response) => setTimeout(() => response.end('ok\n'), 20))
protect(server, { limit: 1 })
server.listen(Number(process.env.PORT), '127.0.0.1')
http
  .createServer((_, response) => response.end(String(cpuUs() - workUs)))
  .listen(Number(process.env.CPU_PORT), '127.0.0.1')
work()
