/**
 * The lowest tier of the domino scenario: COUNT leaves, each on its own port, one of them wonky. The wonky leaf takes
 * WONKY_MS to answer, but passes its health check: it answers 200, after WONKY_HEALTH_MS. GET / on PORT lists the
 * origins.
 *
 * COUNT, ANSWER_MS, WONKY_MS, WONKY_HEALTH_MS
 */
import { once } from 'node:events'
import http from 'node:http'

const answerMs = Number(process.env.ANSWER_MS ?? 20)
const wonkyMs = Number(process.env.WONKY_MS ?? 30_000)
const wonkyHealthMs = Number(process.env.WONKY_HEALTH_MS ?? 800)

async function leaf(wonky) {
  const server = http.createServer((request, response) => {
    const health = request.url === '/health'
    const ms = wonky ? (health ? wonkyHealthMs : wonkyMs) : health ? 1 : answerMs
    const timer = setTimeout(() => response.end(health ? 'ok' : 'a leaf'), ms)
    response.on('close', () => clearTimeout(timer))
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', 4096)
  await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}`
}

const origins = []
for (let n = 0; n < Number(process.env.COUNT ?? 10); n++) origins.push(await leaf(n === 0))
http
  .createServer((_request, response) => response.end(JSON.stringify(origins)))
  .listen(Number(process.env.PORT), '127.0.0.1')
