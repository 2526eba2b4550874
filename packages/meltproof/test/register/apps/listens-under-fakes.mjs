/**
 * Listens for the first time while a test's fakes replace the timers, also those of node:timers. Then answers five
 * requests that arrive in one turn. Each blocks the loop for longer than a turn may start handlers, so the others wait.
 */
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const CLIENTS = 5
const BLOCK_MS = 30
const GIVE_UP_MS = 20_000

let connected = 0
const server = createServer((_, response) => {
  const until = performance.now() + BLOCK_MS
  while (performance.now() < until) Math.random()
  response.end('served')
}).on('connection', () => connected++)

mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate'] })
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
mock.timers.reset()

const { port } = server.address()
const sockets = Array.from({ length: CLIENTS }, () => connect(port, '127.0.0.1').setEncoding('utf8'))
while (connected < CLIENTS) await sleep(1)
const answers = sockets.map(
  socket =>
    new Promise(resolve => {
      let text = ''
      socket.on('data', chunk => {
        text += chunk
      })
      socket.on('close', () => resolve(text.split(' ', 2)[1]))
    }),
)
for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n')
const served = await Promise.race([Promise.all(answers), sleep(GIVE_UP_MS, ['some still wait'])])
console.log(served.join())
process.exit()
