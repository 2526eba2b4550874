/** Answers `/slow` after 600 ms, `/slower` after 3 s, all else at once. ON_SIGTERM: what the app does about the signal itself. */
import { createServer } from 'node:http'
import { sayPort } from './report.cjs'

const TAKES_MS = { '/slow': 600, '/slower': 3000 }
const server = createServer(({ url }, response) => {
  setTimeout(() => response.end('served'), TAKES_MS[url] ?? 0)
})
server.listen(0, '127.0.0.1', () => sayPort(server))
if (process.env.ON_SIGTERM === 'exit') process.on('SIGTERM', () => process.exit(3))
