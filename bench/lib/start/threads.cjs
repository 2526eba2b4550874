/** A pool of 16 worker threads, each of which answers once, like those of Piscina. */
const { isMainThread, parentPort, Worker } = require('node:worker_threads')
if (isMainThread) {
  const workers = Array.from({ length: 16 }, () => new Worker(__filename))
  let answered = 0
  for (const worker of workers) {
    worker.once('message', () => {
      if (++answered === workers.length) process.exit()
    })
  }
} else parentPort.postMessage('ready')
