/** Terminates a worker thread that writes all the time, and ends by itself. */
import fs from 'node:fs'
import { isMainThread, Worker } from 'node:worker_threads'

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  worker.on('online', () => setTimeout(() => worker.terminate(), 200))
} else {
  for (;;) fs.writeSync(1, 'line\n')
}
