/**
 * Like ticks.js, but with the pacer of the lab's load engine: every operation has a due time, so a late operation does
 * not delay the next ones.
 */
import { Pacer } from '../dist/load/pacer.js'
import { nowMs } from '../dist/load/clock.js'

const rate = Number(process.env.RATE)
const lengthMs = Number(process.env.LENGTH_MS)
const atMs = []
const origin = nowMs()
const dueOf = index => ((index + 1) * 1000) / rate
const pacer = new Pacer(new Int32Array(new SharedArrayBuffer(4)), turn)

function turn() {
  const now = pacer.turnBegins()
  while (dueOf(atMs.length) <= now && dueOf(atMs.length) <= lengthMs) {
    atMs.push(nowMs() - origin)
    pacer.did()
  }
  const due = dueOf(atMs.length)
  if (due > lengthMs) {
    pacer.stop()
    process.stdout.write(`${JSON.stringify({ atMs, elapsedMs: Math.max(lengthMs, nowMs() - origin) })}\n`)
    return
  }
  pacer.wait({ due, urgent: false, behind: false, busy: false, answerScaleMs: 0, ratePerMs: rate / 1000 })
}

pacer.start(origin)
turn()
