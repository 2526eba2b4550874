/** Starts two servers and prints both ports. */
import { createServer } from 'node:http'
import { sayPort } from './report.cjs'

for (let i = 0; i < 2; i++) {
  const server = createServer((_, response) => response.end('served'))
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  sayPort(server)
}
