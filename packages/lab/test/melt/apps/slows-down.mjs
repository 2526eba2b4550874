/** Takes twice as long after every 300 answers, as an app that searches a list which only grows: at first 200/s. */
import http from 'node:http'
import { poolOf } from './pool-of.mjs'

http
  .createServer(poolOf({ connections: 2, holdMs: answered => 10 * 2 ** (answered / 300) }))
  .listen(process.env.PORT, '127.0.0.1')
