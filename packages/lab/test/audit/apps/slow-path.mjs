/** Requests 7 to 10 of one path take four seconds each: too long for five sequential requests. */
import http from 'node:http'

let asked = 0
const server = http.createServer(({ url }, response) => {
  const isSlow = url === '/slow' && ++asked > 6 && asked <= 10
  setTimeout(() => response.end('done'), isSlow ? 4000 : 5)
})
server.listen(Number(process.env['PORT']))
process.on('SIGTERM', () => server.close())
