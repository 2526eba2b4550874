/** Ends after a number of requests. */
import http from 'node:http'

let left = Number(process.argv[2])
http
  .createServer((_request, response) => {
    if (left-- === 0) {
      console.error('FATAL ERROR: out of something')
      process.exit(7)
    }
    response.end('hello')
  })
  .listen(process.env.PORT)
