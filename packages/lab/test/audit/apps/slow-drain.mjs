/** On SIGTERM it takes no more requests, gives the answers it owes, and has something to finish for a while. */
import http from 'node:http'

const server = http.createServer((_request, response) => setTimeout(() => response.end('done'), 500))
server.listen(Number(process.env['PORT']))
process.on('SIGTERM', () => {
  server.close()
  setTimeout(() => {}, 3000)
})
