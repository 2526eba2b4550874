/** 200/s, with TLS only and a certificate that signs itself; ends as it should on SIGTERM. */
import https from 'node:https'
import { SELF_SIGNED } from '../../load/certificates.ts'
import { poolOf } from './pool-of.mjs'

const server = https.createServer(SELF_SIGNED, poolOf({ connections: 10, holdMs: () => 50 }))
server.listen(process.env.PORT, '127.0.0.1')
process.on('SIGTERM', () => server.close())
