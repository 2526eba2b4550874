/**
 * Answers `/slow` after 600 ms, `/slower` after 3 s, everything else at once.
 * ON_SIGTERM sets the app's own listener for the signal, added before or after it listens.
 * WORKERS starts a cluster of that size whose primary has no server and replaces workers that die.
 */
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { sayPort } from './report.cjs'

const TAKES_MS = { '/slow': 600, '/slower': 3000 }
const { ON_SIGTERM, WORKERS } = process.env
if (ON_SIGTERM === 'exit before') process.once('SIGTERM', () => process.exit(3))
if (WORKERS && cluster.isPrimary) {
  let listening = 0
  cluster.on('listening', (_, { port }) => ++listening === Number(WORKERS) && console.log(JSON.stringify({ port })))
  cluster.on('exit', ({ exitedAfterDisconnect }) => exitedAfterDisconnect || cluster.fork())
  for (let i = 0; i < Number(WORKERS); i++) cluster.fork()
} else {
  const server = createServer(({ url }, response) => {
    setTimeout(() => response.end('served'), TAKES_MS[url] ?? 0)
  })
  server.listen(0, '127.0.0.1', () => WORKERS || sayPort(server))
}
if (ON_SIGTERM === 'number') process.on('SIGTERM', (_, number) => process.exit(128 + number))
if (ON_SIGTERM === 'throw') {
  // Many apps log rejections and continue.
  process.on('unhandledRejection', () => {})
  process.on('SIGTERM', () => {
    throw new Error('thrown by the listener')
  })
}
if (ON_SIGTERM === 'exit' && cluster.isPrimary) process.on('SIGTERM', () => process.exit(3))
