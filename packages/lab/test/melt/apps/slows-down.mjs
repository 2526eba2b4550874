/** Takes twice as long after every 300 answers, like an app that searches a growing list. Serves 200/s at first. */
import http from 'node:http'
import { poolOf } from './pool-of.mjs'

http
  .createServer(poolOf({ connections: 2, holdMs: answered => 10 * 2 ** (answered / 300) }))
  .listen(process.env.PORT, '127.0.0.1')
