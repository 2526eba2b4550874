/**
 * A cluster of WORKERS, each of which prints its port. The test sends a process id to kill that worker, which is then
 * replaced. `/hang` is never answered, and `/out` makes an outbound call. PRIMARY=on gives the primary a server too,
 * before it forks workers, like prom-client's cluster example.
 */
import cluster from 'node:cluster'
import { once } from 'node:events'
import http from 'node:http'
if (cluster.isPrimary) {
  if (process.env.PRIMARY)
    await once(http.createServer((_, response) => response.end()).listen(0, '127.0.0.1'), 'listening')
  let listening = 0
  cluster.on('listening', (worker, { port }) => {
    console.log(JSON.stringify({ port, pid: worker.process.pid, listening: ++listening }))
  })
  process.on('message', pid => process.kill(pid, 'SIGKILL'))
  cluster.on('exit', () => cluster.fork())
  for (let i = 0; i < Number(process.env.WORKERS); i++) cluster.fork()
} else {
  http
    .createServer(({ url }, response) => {
      if (url === '/out') http.get('http://127.0.0.1:1').on('error', () => undefined)
      if (url !== '/hang') response.setHeader('connection', 'close').end(String(process.pid))
    })
    .listen(0, '127.0.0.1')
}
