/** Logs to a terminal, and writes how long that took to the file REPORT. */
import { writeFileSync } from 'node:fs'

const from = performance.now()
for (let i = 0; i < Number(process.env.LINES); i++) console.log(`line ${i} ${'x'.repeat(100)}`)
writeFileSync(process.env.REPORT, JSON.stringify({ stalledMs: performance.now() - from }))
setInterval(() => undefined, 1000)
