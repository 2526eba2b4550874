/**
 * An ordinary balancer: round robin over its members, and a health check a second. A member is out of rotation only
 * while its check fails or exceeds the timeout. The balancer cancels a call when the caller has disconnected.
 *
 * MEMBERS           origins
 * CHECK_TIMEOUT_MS  timeout of a health check
 * GET /lab/members  returns which members are in rotation, and how long the last check of each took
 */
import http from 'node:http'

const members = process.env.MEMBERS.split(',').map(origin => ({ origin, healthy: true, checkMs: 0, requests: 0 }))
const checkTimeoutMs = Number(process.env.CHECK_TIMEOUT_MS ?? 2000)
const checkEveryMs = 1000
const agent = new http.Agent({ keepAlive: true })
let turn = 0

function check(member) {
  const startedMs = performance.now()
  const request = http.get(`${member.origin}/health`, { timeout: checkTimeoutMs }, response => {
    response.resume()
    response.on('end', () => settle(response.statusCode === 200))
  })
  request.on('timeout', () => request.destroy(new Error('too slow')))
  request.on('error', () => settle(false))
  function settle(healthy) {
    member.healthy = healthy
    member.checkMs = Math.round(performance.now() - startedMs)
  }
}
for (const member of members) check(member)
setInterval(() => members.forEach(check), checkEveryMs)

const server = http.createServer((request, response) => {
  if (request.url === '/lab/members') {
    response.end(JSON.stringify(members))
    return
  }
  const inside = members.filter(member => member.healthy)
  if (inside.length === 0) {
    response.statusCode = 503
    response.end()
    return
  }
  const member = inside[turn++ % inside.length]
  member.requests++
  const onward = http.request(
    `${member.origin}${request.url}`,
    { agent, method: request.method, headers: request.headers },
    answer => {
      response.writeHead(answer.statusCode, answer.headers)
      answer.pipe(response)
    },
  )
  onward.on('error', () => {
    if (response.headersSent) response.destroy()
    else {
      response.statusCode = 502
      response.end()
    }
  })
  response.on('close', () => onward.destroy())
  request.pipe(onward)
})
server.keepAliveTimeout = 60_000
server.listen(Number(process.env.PORT), '127.0.0.1', 4096)
