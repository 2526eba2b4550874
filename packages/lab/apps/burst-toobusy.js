/**
 * The burst app guarded by toobusy-js, as its README shows: the handler calls `toobusy()` first, and answers 503 if
 * that returns true. toobusy-js is not a dependency of the lab; install it beside the lab to run this arm.
 */
import http from 'node:http'
import toobusy from 'toobusy-js'
import { burn } from './burst-work.js'

const server = http.createServer(async (_request, response) => {
  if (toobusy()) {
    response.statusCode = 503
    response.end("I'm busy right now, sorry.")
    return
  }
  await burn()
  response.setHeader('content-type', 'text/plain')
  response.end('That was five milliseconds of work.\n')
})

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
