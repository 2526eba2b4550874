/** Serves 200/s, with TLS only and a self-signed certificate. Ends on SIGTERM. */
import https from 'node:https'
import { SELF_SIGNED } from '../../load/certificates.ts'
import { poolOf } from './pool-of.mjs'

const server = https.createServer(SELF_SIGNED, poolOf({ connections: 10, holdMs: () => 50 }))
server.listen(process.env.PORT, '127.0.0.1')
process.on('SIGTERM', () => server.close())
