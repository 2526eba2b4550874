import cluster from 'node:cluster'
import http from 'node:http'
import { listener } from './report.cjs'
if (cluster.isPrimary) {
  let listening = 0
  cluster.on('listening', (_worker, { port }) => {
    if (++listening === 2) console.log(JSON.stringify({ port }))
  })
  process.once('message', () => {
    cluster.disconnect()
    process.disconnect()
  })
  cluster.fork()
  cluster.fork()
} else http.createServer(listener).listen(0, '127.0.0.1')
