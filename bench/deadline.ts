/**
 * What a time limit costs: CPU to begin and end one, bytes that a pending one holds, against AbortSignal.timeout,
 * p-timeout and cockatiel; how late a true timeout is told.
 *
 *   node bench/deadline.ts [--rounds 5]
 *
 * Every figure comes from a process of its own, the ways in turn, median of the rounds. Writes
 * bench/results/deadline.json and docs/benchmarks-deadline.md. False and missed timeouts of real clients:
 * bench/outbound.ts.
 *
 * Bars: a fair deadline costs at most 1 us and holds at most 200 bytes; every true timeout told within 20 ms plus what
 * was given back.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { WAYS } from './lib/deadline-ways.ts'
import { median } from './lib/measured-server.ts'

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
const rows = names.map(
  name => `| ${name} | ${median(cost[name]!).toFixed(2)} us | ${median(bytes[name]!).toFixed(0)} |`,
)
writeFileSync(
  join(import.meta.dirname, '../docs/benchmarks-deadline.md'),
  `# What a deadline costs

Written by \`node bench/deadline.ts\` from \`bench/results/deadline.json\`; not by hand. ${where.date}, Node ${where.node},
${where.cores} cores of ${where.cpu}, Linux ${where.kernel}; load average before: ${where.loadBefore}. Medians of ${rounds} rounds, each figure from a process
of its own, the ways in turn.

| one limit | begun and ended: CPU | pending: bytes held |
| --- | ---: | ---: |
${rows.join('\n')}

Twenty limits in every turn of the loop, less the same turns without. The last three make a promise besides, \`within\`
an \`AbortSignal\` and the budget that nested calls see as well; that is most of what they cost. \`AbortSignal.timeout\` can
not be ended: what it holds, it holds until it fires.

**True timeouts.** ${late.told} of ${late.of} limits of 200 ms that did pass were told; beyond the limit and the stalls given back
(every second round the loop is blocked for 100 ms) half of them within ${late.p50Ms.toFixed(1)} ms, all within ${late.maxMs.toFixed(1)} ms.

False and missed timeouts of real clients: [outbound](benchmarks-outbound.md). What the heartbeat of the stall ledger costs:
[observed](benchmarks-observed.md).
`,
)

function arm<T>(...args: readonly string[]): T {
  const file = join(import.meta.dirname, 'lib/deadline-arm.ts')
  return JSON.parse(execFileSync(process.execPath, ['--expose-gc', file, ...args], { encoding: 'utf8' })) as T
}
