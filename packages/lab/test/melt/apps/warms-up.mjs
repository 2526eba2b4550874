/**
 * Becomes ten times faster after its warm-up: 20/s, then 200/s. `answers 200` warms up in 200 answers, like an app that
 * fills a cache. `ms 4000` warms up in this time, like an app that loads its data.
 */
import http from 'node:http'
import { poolOf } from './pool-of.mjs'

const [unit, until] = [process.argv[2], Number(process.argv[3])]
const startedMs = performance.now()
const timesSlower = {
  answers: answered => Math.max(1, 10 - (9 * answered) / until),
  ms: () => (performance.now() - startedMs < until ? 10 : 1),
}
http
  .createServer(poolOf({ connections: 10, holdMs: answered => 50 * timesSlower[unit](answered) }))
  .listen(process.env.PORT, '127.0.0.1')
