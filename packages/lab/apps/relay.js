/**
 * Frontend A of the timeouts experiment (2017): one HTTP call to backend B per request, its text relayed.
 *
 * BACKENDS  URLs to call, in turn
 * WORK_MS   CPU to turn B's answer into a page, milliseconds
 * and those of hop.js.
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
// A backlog for a thousand users who all come at once.
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', 4096)
