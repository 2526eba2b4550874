/** Logs from a worker thread with console.log. The main thread ends WAIT ms later. */
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  worker.on('message', () => {
    process.send({ rss: process.memoryUsage().rss })
    setTimeout(() => process.exit(3), Number(process.env.WAIT ?? 0))
  })
} else {
  const fill = 'x'.repeat(100)
  for (let i = 0; i < Number(process.env.LINES); i++) {
    console.log(`line ${String(i).padStart(8, '0')} ${fill}`)
    if (i % 100 === 0) await new Promise(setImmediate)
  }
  parentPort.postMessage('logged')
}
