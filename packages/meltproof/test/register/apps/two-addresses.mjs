/** As Fastify does on `localhost`: two addresses, one port, one handler. SAME=no: a handler for each. */
import { createServer } from 'node:http'
import { sayPort } from './report.cjs'

const handler = ({ url }, response) => {
  if (url === '/stop') first.close()
  setTimeout(() => response.end('served'), url === '/slow' ? 600 : 0)
}
const first = createServer(handler)
await new Promise(resolve => first.listen(0, '127.0.0.1', resolve))
const second = createServer(process.env.SAME === 'no' ? (...args) => handler(...args) : handler)
first.on('close', () => second.close(() => {}))
await new Promise(resolve => second.listen({ port: first.address().port, host: '127.0.0.2' }, resolve))
sayPort(first)
