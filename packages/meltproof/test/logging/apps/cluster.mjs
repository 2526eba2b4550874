/** Two workers of a cluster log to their inherited stdout. */
import cluster from 'node:cluster'

if (cluster.isPrimary) {
  let left = 2
  for (let i = 0; i < 2; i++) cluster.fork({ NAME: 'ab'[i] }).on('exit', () => --left === 0 && process.exit(3))
} else {
  for (let i = 0; i < Number(process.env.LINES); i++) {
    console.log(`${process.env.NAME} ${i} ${'x'.repeat((i * 37) % 900)}.`)
    if (i % 50 === 0) await new Promise(setImmediate)
  }
  process.exit(0)
}
