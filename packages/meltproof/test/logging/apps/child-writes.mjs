/** Logs while a child that is not Node writes LINES lines to the inherited stdout. Sends how the child ended. */
import { spawn } from 'node:child_process'

let logged = 0
const log = () => console.log(`line ${String(logged++).padStart(8, '0')} ${'x'.repeat(100)}`)
log()
const child = spawn('seq', [process.env.LINES], { stdio: ['ignore', 'inherit', 'inherit'] })
const timer = setInterval(log, 1)
child.on('close', code => {
  clearInterval(timer)
  process.send({ code, logged })
})
