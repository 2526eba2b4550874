/** On SIGTERM, it accepts no more requests, sends its pending answers, and works for a while longer. */
import http from 'node:http'

const server = http.createServer((_request, response) => setTimeout(() => response.end('done'), 500))
server.listen(Number(process.env['PORT']))
process.on('SIGTERM', () => {
  server.close()
  setTimeout(() => {}, 3000)
})
