/**
 * Frontend A of the timeouts experiment (2017): calls backend B once per request over HTTP, and relays the text.
 *
 * BACKENDS  URLs to call, round robin
 * WORK_MS   CPU time for turning B's answer into a page, milliseconds
 * and the variables of hop.js.
 */
import http from 'node:http'
import { spin, spinPerMs } from './busy.js'
import { get, prepare, sendError } from './hop.js'

const backends = process.env.BACKENDS.split(',')
const work = Math.round(Number(process.env.WORK_MS ?? 0) * spinPerMs())
let next = 0

await prepare()
const server = http.createServer(async (_request, response) => {
  try {
    const text = await get(backends[next++ % backends.length])
    spin(work)
    response.setHeader('content-type', 'text/plain')
    response.end(text)
  } catch (error) {
    sendError(response, error)
  }
})
// The backlog has room for a thousand users who connect at once.
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', 4096)
