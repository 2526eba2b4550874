/** Redirects requests one after the other, 5 ms each, like an app that requires a login. */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

let before = Promise.resolve()
http
  .createServer((_request, response) => {
    before = before.then(() => sleep(5)).then(() => response.writeHead(302, { location: '/login' }).end())
  })
  .listen(process.env.PORT, '127.0.0.1')
