/** Calls install() in the main thread and in a worker thread that logs LINES lines. Sends the results to its parent. */
import { once } from 'node:events'
import fs from 'node:fs'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { install } from 'meltproof/stdout'

if (isMainThread) {
  const { stats } = install()
  const worker = new Worker(new URL(import.meta.url))
  const [[found]] = await Promise.all([once(worker, 'message'), once(worker.stdout, 'end')])
  process.send({ ...found, main: stats().stdout })
} else {
  const { writeSync } = fs
  const { write } = process.stdout
  const uninstall = install()
  const same = install({ bufferBytes: 65_536 }) === uninstall
  const untouched = process.stdout.write === write && fs.writeSync === writeSync
  const fill = 'x'.repeat(100)
  for (let i = 0; i < Number(process.env.LINES); i++) {
    if (i === 1000) uninstall()
    console.log(`line ${String(i).padStart(8, '0')} ${fill}`)
  }
  parentPort.postMessage({ same, untouched, thread: uninstall.stats() })
}
