/** Answers hello, sends its port, and answers each message with the CPU that its process has used, us. */
import http from 'node:http'

const server = http.createServer((_, response) => response.end('hello\n'))
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send(user + system)
})
process.on('disconnect', () => process.exit())
