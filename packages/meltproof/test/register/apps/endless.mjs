/**
 * Serves upgrades, and an event stream that ends after 2 s at `/answer`, elsewhere never. With FAREWELL its listener
 * for SIGTERM ends both, and the process exits with 3 once all clients have left.
 */
import { createServer } from 'node:http'
import { sayPort } from './report.cjs'

const clients = []
const server = createServer(({ url }, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: hello\n\n')
  clients.push(response)
  if (url === '/answer') setTimeout(() => response.end('the end'), 2000)
})
server.on('upgrade', (_, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n')
  clients.push(socket)
})
if (process.env.FAREWELL) {
  process.on('SIGTERM', () => {
    for (const client of clients) client.end('farewell')
    server.close(() => process.exit(3))
  })
}
server.listen(0, '127.0.0.1', () => sayPort(server))
