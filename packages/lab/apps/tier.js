/**
 * A tier of the domino scenario: answers a request by asking the tier below, through a pool of connections as
 * operations set it up. GET /lab/waiting tells how many of its calls to the tier below wait.
 *
 * NEXT      URL of the tier below
 * POOL      most connections to it
 * and those of hop.js. With ARM=meltproof a request has LIMIT_MS at most, or what the tier above says is left, whichever
 * is less; and work ends when whoever asked has left.
 */
import http from 'node:http'
import { arm, get, limitMs, prepare, sendError } from './hop.js'

/** What Envoy calls the rest of a deadline, in milliseconds. */
const budgetHeader = 'x-envoy-expected-rq-timeout-ms'

const next = process.env.NEXT
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(process.env.POOL) })
let waiting = 0

await prepare()
const deadline = arm === 'meltproof' ? await import('meltproof/deadline') : undefined

const server = http.createServer(async (request, response) => {
  if (request.url === '/lab/waiting') {
    response.end(JSON.stringify({ waiting }))
    return
  }
  waiting++
  try {
    response.end(await answer(request, response))
  } catch (error) {
    sendError(response, error)
  } finally {
    waiting--
  }
})

function answer(request, response) {
  if (deadline === undefined) return get(next, { agent })
  const left = new AbortController()
  response.on('close', () => left.abort(new Error('whoever asked has left')))
  const told = Number(request.headers[budgetHeader] ?? Number.POSITIVE_INFINITY)
  const ask = signal =>
    get(next, { agent, signal, headers: { [budgetHeader]: String(Math.floor(deadline.remaining())) } })
  return deadline.within(Math.min(limitMs, told), ask, { signal: left.signal })
}

server.keepAliveTimeout = 60_000
server.listen(Number(process.env.PORT), '127.0.0.1', 4096)
