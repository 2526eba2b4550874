/**
 * Listens like Fastify on `localhost`: two addresses, one port, one handler.
 * SAME=no gives each server its own handler. UPGRADES=second lets only the second handle upgrades. APART=yes passes on
 * no upgrades, and closes each server separately. TAKEN=yes makes the second find its address in use, and listen on
 * another port.
 */
import { createServer } from 'node:http'
import { sayPort } from './report.cjs'

const handler = ({ url }, response) => {
  if (url === '/stop') first.close()
  setTimeout(() => response.end('served'), url === '/slow' ? 600 : 0)
}
const first = createServer(handler)
await new Promise(resolve => first.listen(0, '127.0.0.1', resolve))
const second = createServer(process.env.SAME === 'no' ? (...args) => handler(...args) : handler)
const { APART, UPGRADES } = process.env
if (UPGRADES === 'second') second.on('upgrade', (_, socket) => socket.end('HTTP/1.1 101 Hello\r\n\r\n'))
else if (APART !== 'yes') second.on('upgrade', first.emit.bind(first, 'upgrade'))
if (process.env.TAKEN === 'yes') {
  await new Promise(resolve => second.once('error', resolve).listen(first.address().port, '127.0.0.1'))
  await new Promise(resolve => second.listen(0, '127.0.0.1', resolve))
  sayPort(first)
  sayPort(second)
} else {
  if (APART !== 'yes') first.on('close', () => second.close(() => {}))
  await new Promise(resolve => second.listen({ port: first.address().port, host: '127.0.0.2' }, resolve))
  sayPort(first)
}
