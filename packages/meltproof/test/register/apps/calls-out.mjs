/**
 * Calls its own server three times with CLIENT, and prints the results. With INSTALL, the app installs that limit, ms,
 * itself, after it listens or, with EARLY, before. It then makes one call, which gets no answer.
 */
import { createServer, get } from 'node:http'

const { CLIENT, EARLY, INSTALL } = process.env
async function installOwn() {
  const { install } = await import('meltproof/outbound')
  install({ firstByteMs: Number(INSTALL) })
}
if (EARLY) await installOwn()
const server = createServer((request, response) => {
  if (request.url === '/hello') response.end('hello')
})
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}`
const clients = {
  fetch: async path => (await fetch(url + path)).text(),
  http: path =>
    new Promise((resolve, reject) => {
      get(url + path, response => response.setEncoding('utf8').on('data', resolve)).on('error', reject)
    }),
  undici: async path => {
    const { request } = await import('undici')
    return (await request(url + path)).body.text()
  },
}
const call = clients[CLIENT]
if (INSTALL !== undefined) {
  if (!EARLY) await installOwn()
  console.log(await call('/silent').catch(error => error.cause?.phase ?? error.phase))
} else {
  for (let i = 0; i < 3; i++) console.log(await call('/hello'))
}
server.closeAllConnections()
server.close()
