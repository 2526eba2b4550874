/** Logs LINES lines with pino, to its default or to a descriptor. */
import { createRequire } from 'node:module'

const pino = createRequire(import.meta.url)('pino')
const logger = {
  default: () => pino(),
  destination: () => pino(pino.destination(1)),
}[process.env.HOW]()

const fill = 'x'.repeat(100)
const from = performance.now()
for (let i = 0; i < Number(process.env.LINES); i++) {
  logger.info(`line ${String(i).padStart(8, '0')} ${fill}`)
  if (i % 200 === 0) await new Promise(setImmediate)
}
process.send({ stalledMs: performance.now() - from, rss: process.memoryUsage().rss })
await new Promise(resolve => setTimeout(resolve, 300))
process.exit(3)
