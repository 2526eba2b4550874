/** Logs to a terminal, and creates the file REPORT afterwards. */
import { writeFileSync } from 'node:fs'

for (let i = 0; i < Number(process.env.LINES); i++) console.log(`line ${i} ${'x'.repeat(100)}`)
writeFileSync(process.env.REPORT, 'past')
setInterval(() => undefined, 1000)
