// Leaves /hold unanswered, and blocks its event loop at /block until the file RELEASE exists. With WAITS it listens
// only after a message.
import { existsSync, writeFileSync } from 'node:fs'
import http from 'node:http'

const { RELEASE, WAITS } = process.env
const server = http.createServer((request, response) => {
  if (request.url === '/hold') return
  writeFileSync(`${RELEASE}.blocks`, '')
  while (!existsSync(RELEASE)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
  response.end('released')
})
const listen = () => server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
if (WAITS) {
  process.once('message', listen)
  process.send('waits')
} else listen()
