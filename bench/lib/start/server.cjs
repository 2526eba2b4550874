/** A server that listens and closes; PROTECT is the package that protects it. */
const http = require('node:http')
const server = http.createServer((_, response) => response.end())
if (process.env.PROTECT) require(process.env.PROTECT).protect(server)
server.listen(0, '127.0.0.1', () => server.close())
