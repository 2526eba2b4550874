/** Answers at once. Also listens on a second port that answers 404, like a metrics port. */
import http from 'node:http'

http.createServer((_request, response) => response.end('hello')).listen(0)
http
  .createServer((_request, response) => {
    response.statusCode = 404
    response.end()
  })
  .listen(0)
