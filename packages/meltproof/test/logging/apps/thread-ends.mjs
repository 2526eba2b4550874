/** A worker thread writes LINES lines to the descriptor and ends at once; the process lives on for a while. */
import fs from 'node:fs'
import { isMainThread, Worker } from 'node:worker_threads'

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  worker.on('exit', () => setTimeout(() => process.exit(3), 200))
} else {
  const fill = 'x'.repeat(100)
  for (let i = 0; i < Number(process.env.LINES); i++) {
    fs.writeSync(1, `line ${String(i).padStart(8, '0')} ${fill}\n`)
  }
}
