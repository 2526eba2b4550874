/**
 * Backend B of the timeouts experiment (2017): answers `Hello!` after ANSWER_MS. If it is faulty, one request in
 * FAULT_EVERY takes much longer. GET /lab/pending returns how many calls wait for an answer.
 *
 * ANSWER_MS    duration of a good answer, milliseconds
 * FAULT_EVERY  one request in this number is slow; 0: none
 * FAULT_MS     duration of a slow answer, milliseconds
 * DRIP_MS      a slow answer sends its head at once, then a byte at this interval; 0: nothing until the end
 */
import http from 'node:http'

const answerMs = Number(process.env.ANSWER_MS ?? 100)
const faultEvery = Number(process.env.FAULT_EVERY ?? 0)
const faultMs = Number(process.env.FAULT_MS ?? 10_000)
const dripMs = Number(process.env.DRIP_MS ?? 0)
let seen = 0
let pending = 0

const server = http.createServer((request, response) => {
  if (request.url === '/lab/pending') {
    response.end(JSON.stringify({ pending }))
    return
  }
  pending++
  response.on('close', () => pending--)
  const slow = faultEvery > 0 && ++seen % faultEvery === 0
  response.setHeader('content-type', 'text/plain')
  if (slow && dripMs > 0) drip(response)
  else {
    // The timer ends with the connection, because it would only occupy memory after the caller has disconnected.
    const timer = setTimeout(() => response.end('Hello!'), slow ? faultMs : answerMs)
    response.on('close', () => clearTimeout(timer))
  }
})

function drip(response) {
  const until = Date.now() + faultMs
  response.flushHeaders()
  const timer = setInterval(() => {
    if (Date.now() < until) response.write('.')
    else response.end('Hello!')
  }, dripMs)
  response.on('close', () => clearInterval(timer))
}

server.keepAliveTimeout = 60_000
server.listen(Number(process.env.PORT ?? 3001), '127.0.0.1', 4096)
