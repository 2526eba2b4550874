/**
 * Backend B of the timeouts experiment (2017): answers `Hello!` after a while; when it is faulty, every so manieth
 * request takes much longer. GET /lab/pending tells how many calls wait for an answer.
 *
 * ANSWER_MS    a good answer, milliseconds
 * FAULT_EVERY  every so manieth request is slow; 0 is never
 * FAULT_MS     a slow answer, milliseconds
 * DRIP_MS      a slow answer comes byte by byte, this far apart, its head at once
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
    // Nobody waits for an answer to a caller who has hung up, and its timer would only hold memory.
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
