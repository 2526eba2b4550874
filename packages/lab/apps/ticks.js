/**
 * Asks for RATE operations a second with an interval timer for LENGTH_MS and tells, as one line of JSON, when each ran:
 * milliseconds since the start. The way most programs do it: one setInterval of 1000 / RATE.
 */
const rate = Number(process.env.RATE)
const lengthMs = Number(process.env.LENGTH_MS)
const atMs = []
const started = performance.now()
const timer = setInterval(() => atMs.push(performance.now() - started), 1000 / rate)
setTimeout(() => {
  clearInterval(timer)
  process.stdout.write(`${JSON.stringify({ atMs, elapsedMs: performance.now() - started })}\n`)
}, lengthMs)
