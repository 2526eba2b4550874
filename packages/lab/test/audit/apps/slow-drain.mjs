/** On SIGTERM, the app accepts no more connections, sends its pending answers, and runs for at least 3 s more. */
import http from 'node:http'

const server = http.createServer((_request, response) => setTimeout(() => response.end('done'), 500))
server.listen(Number(process.env['PORT']))
process.on('SIGTERM', () => {
  server.close()
  setTimeout(() => {}, 3000)
})
