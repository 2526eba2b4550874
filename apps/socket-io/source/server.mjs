// A socket.io server that checks a password at every handshake, which is its most expensive route.
import { scryptSync } from 'node:crypto'
import http from 'node:http'
import { Server } from 'socket.io'

const server = http.createServer((request, response) => {
  if (request.url === '/') return response.end('socket.io stands behind this page\n')
  response.writeHead(404, { 'Content-Type': 'text/plain' }).end('nothing here\n')
})
const io = new Server(server, {
  allowRequest(request, decide) {
    scryptSync(request.headers.authorization ?? 'anonymous', 'salt', 32, { N: 2048 })
    decide(null, true)
  },
})
io.on('connection', socket => {
  socket.on('echo', text => socket.emit('echo', text))
  socket.on('size', text => socket.emit('size', text.length))
  socket.on('later', ms => setTimeout(() => socket.emit('done'), ms))
})
process.on('SIGTERM', () => io.close(() => process.exit(0)))
server.listen(Number(process.env.PORT), '127.0.0.1')
