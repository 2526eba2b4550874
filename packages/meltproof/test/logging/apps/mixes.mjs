/** The main thread and a worker thread log to one stdout. The process ends by itself. */
import { once } from 'node:events'
import { isMainThread, Worker } from 'node:worker_threads'

const line = (name, number) => `${name} ${number} ${'x'.repeat((number * 37) % 900)}.`

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  let ended = false
  worker.on('exit', () => {
    ended = true
  })
  for (let i = 0; !ended; i++) {
    if (!process.stdout.write(`${line('a', i)}\n`)) await once(process.stdout, 'drain')
    if (i % 20 === 0) await new Promise(setImmediate)
  }
} else {
  for (let i = 0; i < 10_000; i++) {
    console.log(line('b', i))
    if (i % 100 === 0) await new Promise(resolve => setTimeout(resolve, 1))
  }
}
