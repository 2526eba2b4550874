/**
 * A tier of the domino scenario: answers a request by asking the tier below, through a pool of connections as
 * operations set it up. GET /lab/waiting tells how many of its calls to the tier below wait.
 *
 * NEXT      URL of the tier below
 * POOL      most connections to it
 * and those of hop.js. With ARM=meltproof the server is protected with `deadlineMs`: a request has LIMIT_MS at most, or
 * what the tier above says is left, whichever is less; work ends when the caller has left.
 */
import http from 'node:http'
import { arm, get, limitMs, prepare, sendError } from './hop.js'

/** What Envoy calls the rest of a deadline, in milliseconds. */
const budgetHeader = 'x-envoy-expected-rq-timeout-ms'

const next = process.env.NEXT
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(process.env.POOL) })
let waiting = 0

await prepare()
const remaining = arm === 'meltproof' ? (await import('meltproof/deadline')).remaining : undefined

const server = http.createServer(async (request, response) => {
  if (request.url === '/lab/waiting') {
    response.end(JSON.stringify({ waiting }))
    return
  }
  waiting++
  try {
    response.end(await answer())
  } catch (error) {
    sendError(response, error)
  } finally {
    waiting--
  }
})

/** The tier below is told what is left, where something limits it. */
function answer() {
  if (remaining === undefined) return get(next, { agent })
  return get(next, { agent, headers: { [budgetHeader]: String(Math.floor(remaining())) } })
}

if (arm === 'meltproof') {
  const { protect } = await import('meltproof')
  protect(server, { deadlineMs: limitMs })
}
server.keepAliveTimeout = 60_000
server.listen(Number(process.env.PORT), '127.0.0.1', 4096)
