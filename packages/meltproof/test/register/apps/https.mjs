import https from 'node:https'
import { CERTIFICATE } from '../../server/tls.fixture.ts'
import { listener, sayPort } from './report.cjs'
const server = new https.Server(CERTIFICATE, listener)
server.listen({ port: 0, host: '127.0.0.1' }).once('listening', () => sayPort(server))
