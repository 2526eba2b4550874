/** Writes 300 kB to the descriptor of stdout, which never opens `process.stdout`, while its reader reads nothing. */
import { writeSync } from 'node:fs'
import http from 'node:http'

http.createServer((_, response) => response.end()).listen(0)
setTimeout(() => {
  for (let line = 0; line < 300; line++) writeSync(1, `${'x'.repeat(999)}\n`)
  process.exit()
}, 1000)
