/** Sends one request after the other elsewhere, 5 ms each, as an app does that wants a login first. */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

let before = Promise.resolve()
http
  .createServer((_request, response) => {
    before = before.then(() => sleep(5)).then(() => response.writeHead(302, { location: '/login' }).end())
  })
  .listen(process.env.PORT, '127.0.0.1')
