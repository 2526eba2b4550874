/**
 * A tier of the domino scenario: answers a request by calling the tier below, through a pool of connections. GET
 * /lab/waiting returns how many requests wait for the tier below.
 *
 * NEXT      URL of the tier below
 * POOL      maximum connections to it
 * and the variables of hop.js. With ARM=meltproof the server is protected with `deadlineMs`: a request has LIMIT_MS, or
 * the remaining time that the tier above sends if that is less. Its work ends when the caller has disconnected.
 */
import http from 'node:http'
import { arm, get, limitMs, prepare, sendError } from './hop.js'

/** Envoy's header for the remaining time of a request, milliseconds. */
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

/** Sends the remaining time to the tier below, if the request has a deadline. */
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
