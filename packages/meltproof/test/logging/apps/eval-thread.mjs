/** A worker thread made of a text writes LINES lines to the descriptor; then the process ends. */
import { Worker } from 'node:worker_threads'

const text = `
  const fs = require('node:fs')
  for (let i = 0; i < ${process.env.LINES}; i++) {
    fs.writeSync(1, 'line ' + String(i).padStart(8, '0') + ' ' + 'x'.repeat(100) + '\\n')
  }
`
new Worker(text, { eval: true }).on('exit', code => process.exit(code === 0 ? 3 : 1))
