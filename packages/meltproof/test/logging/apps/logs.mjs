/** Logs LINES numbered lines, PER_TURN in each turn of the event loop, with HOW, and then ends as END says. */
import { writeSync } from 'node:fs'

const {
  LINES = '1000',
  PER_TURN = '1000',
  HOW = 'console',
  END = 'exit',
  WIDTH = '100',
  STREAM = 'stdout',
} = process.env
const out = process[STREAM]
const log = {
  console: line => (STREAM === 'stdout' ? console.log(line) : console.error(line)),
  write: line => out.write(`${line}\n`),
  descriptor: line => writeSync(STREAM === 'stdout' ? 1 : 2, `${line}\n`),
  pieces: line => {
    out.write(line.slice(0, 20))
    out.write(line.slice(20))
    out.write('\n')
  },
}[HOW]

let stalledMs = 0
let logged = 0
const fill = 'x'.repeat(Number(WIDTH))
while (logged < Number(LINES)) {
  const before = performance.now()
  for (let i = 0; i < Number(PER_TURN) && logged < Number(LINES); i++)
    log(`line ${String(logged++).padStart(8, '0')} ${fill}`)
  stalledMs += performance.now() - before
  await new Promise(setImmediate)
}
process.send?.({ stalledMs, rss: process.memoryUsage().rss })
if (END === 'exit') process.exit(3)
if (END === 'throw') throw new Error('as asked')
if (END === 'signal') setInterval(() => undefined, 1000)
if (END === 'kill-self') process.kill(process.pid)
if (END === 'kill-hard') process.kill(process.pid, 'SIGKILL')
if (END === 'really-exit') process.reallyExit(3)
if (END === 'nested-exit') {
  process.on('exit', () => process.exit(3))
  process.exit(0)
}
if (END === 'signal-again') {
  process.once('SIGTERM', () => process.kill(process.pid, 'SIGTERM'))
  setInterval(() => undefined, 1000)
}
if (END === 'restart') setInterval(() => undefined, 1000)
