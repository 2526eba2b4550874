/** Answers five simultaneous requests while the global timers do nothing, as in a test that fakes them. */
import { createServer, get } from 'node:http'

const server = createServer((_, response) => response.end('served'))
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address()
const nothing = () => ({ ref() {}, unref() {}, hasRef() {}, refresh() {} })
Object.assign(globalThis, { setTimeout: nothing, setImmediate: nothing, setInterval: nothing })
const served = await Promise.all(
  Array.from(
    { length: 5 },
    () => new Promise(resolve => get({ port, agent: false }, response => resolve(response.resume().statusCode))),
  ),
)
console.log(served.join())
process.exit()
