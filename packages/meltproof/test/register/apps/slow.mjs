/** Answers `/slow` after 600 ms, all else at once. ON_SIGTERM: what the app does about the signal itself. */
import { createServer } from 'node:http'
import { sayPort } from './report.cjs'

const server = createServer(({ url }, response) => {
  setTimeout(() => response.end('served'), url === '/slow' ? 600 : 0)
})
server.listen(0, '127.0.0.1', () => sayPort(server))
if (process.env.ON_SIGTERM === 'exit') process.on('SIGTERM', () => process.exit(3))
