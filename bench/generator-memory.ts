/**
 * Is the generator's memory flat? Sends 10,000 requests a second for ten minutes, and reads the resident memory of the
 * sending process every ten seconds.
 *
 *   node bench/generator-memory.ts [minutes]
 *
 * In the first fifth of the run the heap grows to the size it needs. The exit code is 1 if the median of the last fifth
 * exceeds that of the second fifth by more than 8 MiB.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { pinned } from '../packages/lab/src/launch/core-pinning.ts'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { median, pinning } from './lib/measured-server.ts'

const RATE = 10_000
const EVERY_MS = 10_000
const MOST_GROWTH_MIB = 8
const SELF = fileURLToPath(import.meta.url)
const SERVER = `require('node:http').createServer((_, res) => res.end('ok')).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

const generator = async (url: string, durationMs: number): Promise<void> => {
  const sample = (): void => console.log(JSON.stringify(process.memoryUsage()))
  const timer = setInterval(sample, EVERY_MS)
  const outcome = await runLoad(planOf({ url, rate: RATE, durationMs, timeoutMs: 10_000 }))
  clearInterval(timer)
  console.error(`answered ${JSON.stringify(outcome.answered)}, certificate ${outcome.certificate.code}`)
}

const main = async (minutes: number): Promise<void> => {
  const start = (core: number | undefined, ...args: string[]) => {
    const [command, ...rest] = pinned([process.execPath, ...args], core)
    return spawn(command!, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  }
  const server = start(pinning?.server, '-e', SERVER)
  const [port] = (await once(server.stdout, 'data')) as [Buffer]
  const child = start(pinning?.lab, SELF, 'child', `http://127.0.0.1:${Number(port)}/`, String(minutes * 60_000))
  const rss: number[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.trim().split('\n')) {
      const memory = JSON.parse(line) as NodeJS.MemoryUsage
      rss.push(memory.rss / 2 ** 20)
      const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
      console.log(`${rss.length * 10} s  rss ${mib(memory.rss)}  array buffers ${mib(memory.arrayBuffers)} MiB`)
    }
  })
  await once(child, 'close')
  server.kill()
  const fifth = Math.floor(rss.length / 5)
  const before = median(rss.slice(fifth, 2 * fifth))
  const after = median(rss.slice(-fifth))
  console.log(`second fifth ${before.toFixed(1)} MiB, last fifth ${after.toFixed(1)} MiB`)
  process.exitCode = after - before <= MOST_GROWTH_MIB ? 0 : 1
}

const [, , first, url, durationMs] = process.argv
if (first === 'child') await generator(url!, Number(durationMs))
else await main(Number(first ?? 10))
