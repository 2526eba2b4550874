/** The main thread logs lines, and a worker thread chunks of ten lines, to one stdout. */
import fs from 'node:fs'
import { isMainThread, Worker } from 'node:worker_threads'

const line = (name, number) => `${name} ${number} ${'x'.repeat((number * 37) % 900)}.\n`

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  let ended = false
  worker.on('exit', () => {
    ended = true
  })
  for (let i = 0; !ended; i++) {
    process.stdout.write(line('a', i))
    if (i % 20 === 0) await new Promise(setImmediate)
  }
  process.exit(3)
} else {
  for (let i = 0; i < 10_000; i += 10) {
    fs.writeSync(1, Array.from({ length: 10 }, (_, j) => line('b', i + j)).join(''))
    if (i % 100 === 0) await new Promise(resolve => setTimeout(resolve, 1))
  }
}
