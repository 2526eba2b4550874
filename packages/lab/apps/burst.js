/**
 * The app of the burst experiment (2013): every request burns 5 ms of CPU over five asynchronous calls, so one process
 * can serve at most 200 requests a second. Nothing protects the app.
 */
import http from 'node:http'
import { burn } from './burst-work.js'

const server = http.createServer(async (_request, response) => {
  await burn()
  response.setHeader('content-type', 'text/plain')
  response.end('That was five milliseconds of work.\n')
})

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
