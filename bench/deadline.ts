/**
 * Measures the cost of a time limit: CPU to begin and end one, and bytes that a pending one holds, compared with
 * AbortSignal.timeout, p-timeout and cockatiel. Also measures how late a true timeout is reported.
 *
 *   node bench/deadline.ts [--rounds 5]
 *
 * Every figure comes from its own process, the libraries alternate, and the results are medians of the rounds. Writes
 * bench/results/deadline.json and docs/costs.md. bench/outbound.ts measures false and missed timeouts of real clients.
 *
 * Bars: a fair timer (packages/meltproof/src/deadline/fair-timer.ts) costs at most 1 us and holds at most 200 bytes.
 * Every true timeout is reported within 20 ms after the limit and its extension by stalls of the event loop.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { WAYS } from './lib/deadline-ways.ts'
import { writeCosts } from './lib/write-costs.ts'

const options = scriptOptions(import.meta.filename, { rounds: { type: 'string', default: '5' } })
const rounds = options.whole('rounds')
const where = conditions()
const names = Object.keys(WAYS)

const cost: Record<string, number[]> = {}
const bytes: Record<string, number[]> = {}
for (let round = 0; round < rounds; round++) {
  for (const name of names) {
    const us = arm<number>('cost', name)
    const held = arm<number>('bytes', name)
    cost[name] = [...(cost[name] ?? []), us]
    bytes[name] = [...(bytes[name] ?? []), held]
    console.log(`${name}: ${us.toFixed(2)} us, ${held.toFixed(0)} bytes`)
  }
}
const late = arm<{ told: number; of: number; p50Ms: number; maxMs: number }>('late')
console.log({ late })

const result = { ...where, rounds, cost, bytes, late }
writeFileSync(join(import.meta.dirname, 'results/deadline.json'), `${JSON.stringify(result, null, 2)}\n`)
writeCosts()

function arm<T>(...args: readonly string[]): T {
  const file = join(import.meta.dirname, 'lib/deadline-arm.ts')
  return JSON.parse(execFileSync(process.execPath, ['--expose-gc', file, ...args], { encoding: 'utf8' })) as T
}
