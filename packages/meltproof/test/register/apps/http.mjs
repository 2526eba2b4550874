import { createServer } from 'node:http'
import { listener, sayPort } from './report.cjs'
const server = createServer(listener)
server.listen(0, '127.0.0.1', () => sayPort(server))
