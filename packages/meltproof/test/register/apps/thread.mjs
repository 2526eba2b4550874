/** A worker thread that sends its loaded modules and the answer to one request. The main thread prints both. */
import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  const [said] = await once(worker, 'message')
  console.log(JSON.stringify(said))
} else {
  const loaded = [...process.moduleLoadList]
  const { default: http } = await import('node:http')
  const { guardOf } = await import('../../../src/server/guard.ts')
  const server = http.createServer((_, response) => response.end(guardOf(server) === undefined ? 'bare' : 'protected'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const answer = await (await fetch(`http://127.0.0.1:${server.address().port}`)).text()
  parentPort.postMessage({ loaded, answer })
  server.closeAllConnections()
  server.close()
}
