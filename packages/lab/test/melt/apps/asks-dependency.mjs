/** Every request sends a line to the dependency in DB, on one connection, and is answered when a line comes back. */
import http from 'node:http'
import net from 'node:net'

const { hostname, port } = new URL(process.env.DB)
const dependency = net.connect(Number(port), hostname)
const waiting = []
dependency.on('data', chunk => {
  for (const byte of chunk) if (byte === 10) waiting.shift()?.end('row')
})
http
  .createServer((_request, response) => {
    waiting.push(response)
    dependency.write('?\n')
  })
  .listen(process.env.PORT, '127.0.0.1')
