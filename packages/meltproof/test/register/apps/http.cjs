const { createServer } = require('node:http')
const { listener, sayPort } = require('./report.cjs')
const server = createServer(listener)
server.listen(0, '127.0.0.1', () => sayPort(server))
