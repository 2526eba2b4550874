/** Answers 500 to everything. */
import http from 'node:http'

http
  .createServer((_request, response) => {
    console.error('Error: relation "walkers" does not exist')
    response.statusCode = 500
    response.end()
  })
  .listen(process.env.PORT)
