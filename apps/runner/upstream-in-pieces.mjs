// A service that answers in pieces, with silences of 12 s, for apps that forward what they fetch.
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const types = { '/ndjson': 'application/x-ndjson', '/json': 'application/json', '/sse': 'text/event-stream' }

const server = http.createServer(async (request, response) => {
  const type = types[request.url]
  if (type === undefined) return response.writeHead(404).end()
  response.writeHead(200, { 'Content-Type': type })
  for (let n = 1; n <= 3; n++) {
    response.write(type === 'text/event-stream' ? `data: ${n}\n\n` : `{"n":${n}}\n`)
    await sleep(12_000)
  }
  response.end()
})
server.listen(Number(process.env.PORT), '127.0.0.1')
