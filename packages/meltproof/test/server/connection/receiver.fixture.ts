/** A child process that receives sockets from its parent and answers on each, like a worker of a sticky cluster. */
import type { Socket } from 'node:net'

process.on('message', (_message, socket) => {
  ;(socket as Socket).end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nchild')
})
process.on('disconnect', () => process.exit())
process.send!('ready')
