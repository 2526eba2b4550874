/** Serves an event stream and upgrades. On SIGTERM it says farewell to each client, and exits with 3 once all have left. */
import { createServer } from 'node:http'
import { sayPort } from './report.cjs'

const clients = []
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: hello\n\n')
  clients.push(response)
})
server.on('upgrade', (_, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n')
  clients.push(socket)
})
process.on('SIGTERM', () => {
  for (const client of clients) client.end('farewell')
  server.close(() => process.exit(3))
})
server.listen(0, '127.0.0.1', () => sayPort(server))
