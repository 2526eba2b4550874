/** A server over HTTP/2 whose second request needs a value from the first answer. */
import { once } from 'node:events'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'

export async function startHttp2Shop(): Promise<{ readonly origin: string; close(): void }> {
  const sessions = new Set<http2.ServerHttp2Session>()
  const server = http2.createServer((request, response) => {
    if (request.url === '/') {
      response.setHeader('Set-Cookie', ['other=1', 'sid=s1; Path=/'])
      response.setHeader('X-Tag', 'blue')
      response.end(JSON.stringify({ id: 7 }))
      return
    }
    response.statusCode = request.url === '/7/blue' && request.headers.cookie === 'sid=s1' ? 200 : 404
    response.end()
  })
  server.on('session', session => sessions.add(session))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      for (const session of sessions) session.destroy()
    },
  }
}
