/**
 * Runs RATE operations a second for LENGTH_MS with one setInterval of 1000 / RATE, as most programs do. Prints when
 * each operation ran, milliseconds since the start, as one line of JSON.
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
