/** Answers 500 at once while all of its ten connections are busy, and works well otherwise: 200/s. */
import http from 'node:http'
import { poolOf } from './pool-of.mjs'

http.createServer(poolOf({ connections: 10, holdMs: () => 50, mostWaiting: 0 })).listen(process.env.PORT, '127.0.0.1')
