/** Logs LINES numbered lines, respects back-pressure as HOW says, and ends by itself. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Worker } from 'node:worker_threads'

const { LINES, HOW } = process.env
const out = process.stdout
const fill = 'x'.repeat(100)
const line = i => `line ${String(i).padStart(8, '0')} ${fill}\n`
const numbers = Array.from({ length: Number(LINES) }, (_, i) => i)
const hows = {
  pipe() {
    Readable.from(numbers.map(line), { objectMode: false }).pipe(out)
  },
  // Adds its listener long after write() returned false.
  async drain() {
    for (const i of numbers) {
      if (out.write(line(i))) continue
      await new Promise(setImmediate)
      // A reader may have read everything before this turn.
      if (out.writableNeedDrain) await once(out, 'drain')
    }
  },
  async consoleThenDrain() {
    for (const i of numbers) {
      console.log(line(i).trimEnd())
      if (out.writableNeedDrain) await once(out, 'drain')
    }
  },
  async callback() {
    for (const i of numbers) await new Promise(resolve => out.write(line(i), resolve))
  },
  async atOnce() {
    await pipeline(Readable.from([numbers.map(line).join('')]), out)
  },
  end() {
    out.end(numbers.map(line).join(''))
  },
  worker() {
    const code = `for (let i = 0; i < ${LINES}; i++) console.log('line ' + String(i).padStart(8, '0') + ' ${fill}')`
    new Worker(code, { eval: true })
  },
  // Nothing waits for these writes, so they do not keep the process alive.
  console() {
    for (const i of numbers) console.log(line(i).trimEnd())
  },
}
await hows[HOW]()
