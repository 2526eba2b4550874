/**
 * A server whose service time is its own CPU: 0.2 ms per request, and 3 ms for every 25th. Prints its port. `GET /own`
 * answers with `{ p50, p90, p99 }`, ms, of the time from request to answer since the last `GET /own`, which is not
 * counted itself.
 */
import { createServer } from 'node:http'

const QUICK_MS = 0.2
const SLOW_MS = 3
const EVERY = 25
let own = []
let requests = 0

createServer((request, response) => {
  if (request.url === '/own') {
    own.sort((a, b) => a - b)
    const at = share => own[Math.min(own.length - 1, Math.ceil(share * own.length) - 1)]
    response.end(JSON.stringify({ p50: at(0.5), p90: at(0.9), p99: at(0.99) }))
    own = []
    return
  }
  const began = performance.now()
  const endAt = began + (++requests % EVERY === 0 ? SLOW_MS : QUICK_MS)
  while (performance.now() < endAt);
  response.end('hello world\n')
  own.push(performance.now() - began)
}).listen(0, '127.0.0.1', function () {
  console.log(this.address().port)
})
