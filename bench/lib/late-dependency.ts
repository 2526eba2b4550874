/**
 * The dependency of bench/outbound.ts, in its own process: an HTTP server that answers in 50 ms, or never. Given the
 * port of a Redis, it also has two proxies to it: one delivers the answers 50 ms later, one never does. Prints its
 * ports.
 */
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net'

const ANSWER_MS = 50
const redisPort = Number(process.argv[2])

const http = createServer((request, response) => {
  if (request.url === '/late') setTimeout(() => response.end('late'), ANSWER_MS)
  else if (request.url === '/now') response.end('now')
})
http.keepAliveTimeout = 60_000

/** A proxy to Redis. `bring` forwards its answers to the client, or does not. */
function wayToRedis(bring: (client: Socket, answer: Buffer) => void): Server {
  return createTcpServer(client => {
    const redis = connect(redisPort, '127.0.0.1')
    client.pipe(redis)
    redis.on('data', answer => bring(client, answer))
    for (const [socket, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      socket.on('error', () => other.destroy()).on('close', () => other.destroy())
    }
  })
}

const late = wayToRedis((client, answer) => setTimeout(() => client.write(answer), ANSWER_MS))
const never = wayToRedis(() => undefined)
const ports: number[] = []
for (const server of [http, late, never]) {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  ports.push((server.address() as AddressInfo).port)
}
console.log(JSON.stringify(ports))
process.once('disconnect', () => process.exit())
