/** Answers HTTP without an HTTP server of Node. */
import net from 'node:net'

net
  .createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  })
  .listen(0)
