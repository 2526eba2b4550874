/**
 * Measures a server in a memory cgroup of 256 MiB under four loads that fill it: bodies held as Buffers, a heap that
 * grows with each request, slow readers of large answers, and pipelined POSTs. Bare and protected alternate, at 10x
 * what fits (900 MB of pipelined POSTs are 5x) and at half of it. Needs root and a memory cgroup (version 1 or 2).
 *
 *   node bench/memory-cgroup.ts [--rounds 20] [--seconds 10] [--only bodies,heap,answers,pipelined] [--times 10x,half]
 *     [--arms bare,protected] [--limit 256] [--fresh] [--dry]
 *
 * Runs of the same code, including stopped ones, add up to 20 rounds of each kind: five runs with --rounds 4, for
 * example. --fresh starts over. All 20 rounds take about two hours.
 *
 * Bars: at 10x, bare is killed in most runs, and protected is killed in none and continues to serve; at half, protected
 * sheds no request. Exit code 3 if a bar is missed. Writes bench/results/memory-cgroup.json and the table in
 * docs/memory.md.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { writeWhole } from '../packages/lab/src/write-whole.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { printMissedBars } from './lib/bars.ts'
import { conditions } from './lib/conditions.ts'
import {
  ARMS,
  type LoadName,
  type MemoryFigures,
  type MemoryRow,
  type MemoryRun,
  memoryTable,
  missedBars,
  ROUNDS,
  runsOf,
  TIMES,
  withRun,
} from './lib/memory-figures.ts'
import { MemoryGroup } from './lib/memory-group.ts'
import { KINDS, offer, ping } from './lib/memory-load.ts'
import { putTable } from './lib/page-table.ts'
import { extendable, readResult, resultFile, together } from './lib/parts.ts'

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: String(ROUNDS) },
  seconds: { type: 'string', default: '10' },
  limit: { type: 'string', default: '256' },
  only: { type: 'string' },
  times: { type: 'string', default: '10x,half' },
  arms: { type: 'string' },
  fresh: { type: 'boolean', default: false },
  dry: { type: 'boolean', default: false },
})
const rounds = options.whole('rounds')
const seconds = options.whole('seconds')
const limitBytes = options.whole('limit', 64) * 1024 * 1024
const kinds = options.chosen('only', KINDS)
const loads = options.chosen('times', Object.keys(TIMES) as LoadName[])
const arms = options.chosen('arms', ARMS)
const { fresh, dry } = options.values
const settings = { limitBytes, seconds }
const where = conditions()
const earlier = fresh || dry ? undefined : extendable(readResult<MemoryFigures>('memory-cgroup'), where, settings)
const script = join(import.meta.dirname, 'lib/memory-server.ts')
const meltproof = join(import.meta.dirname, '../packages/meltproof/src/index.ts')
const page = join(import.meta.dirname, '../docs/memory.md')
/** After the load, the server has to answer this number of small requests, which are sent every 50 ms. */
const AFTERWARDS = 20

/** Sheds that the server counted, by reason. */
type Shed = Readonly<Record<string, number>>

async function run(
  group: MemoryGroup,
  { kind, load, arm }: Pick<MemoryRun, 'kind' | 'load' | 'arm'>,
): Promise<MemoryRun & { readonly shed: Shed }> {
  await group.reset()
  const [command, args] = group.running([process.execPath, script, arm, kind, meltproof])
  const server = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  const said: string[] = []
  server.stderr!.on('data', chunk => void (said.length < 50 && said.push(String(chunk))))
  let died: string | undefined
  const exited = once(server, 'exit').then(([code, signal]) => {
    died = String(signal ?? code)
  })
  const first = await Promise.race([once(server, 'message'), exited])
  if (first === undefined) throw new Error(`the server ended before it listened: ${died}\n${said.join('')}`)
  const { port } = first[0] as { port: number }
  const offered = offer(kind, TIMES[load], port, seconds * 1000)
  const [requests, pings] = await Promise.all([offered, ping(port, offered)])
  const diedInLoad = died
  const afterwards = await ping(port, new Promise(resolve => setTimeout(resolve, AFTERWARDS * 50)))
  let shed: Shed = {}
  if (died === undefined) {
    server.send('figures')
    const figures = await Promise.race([once(server, 'message'), exited])
    if (figures !== undefined) shed = (figures[0] as { shed?: Shed }).shed ?? {}
    server.kill('SIGKILL')
  }
  await exited
  if (said.length > 0 && diedInLoad === undefined) console.log(said.join('').trim())
  const peakMb = Math.round((group.peakBytes() ?? 0) / 1024 / 1024)
  return {
    kind,
    load,
    arm,
    died: diedInLoad,
    serves: afterwards.good === afterwards.sent,
    peakMb,
    requests,
    pings,
    shed,
  }
}

function inWords(one: MemoryRun & { readonly shed: Shed }): string {
  const { kind, load, arm, died, serves, peakMb, requests, pings, shed } = one
  const { sent, good, shed: turnedAway, late, failed } = requests
  const reasons = Object.entries(shed).filter(([, count]) => count > 0)
  return (
    `${kind} ${load} ${arm}: ${died === undefined ? (serves ? 'survived' : 'survived, and does not serve') : `killed (${died})`}, ` +
    `peak ${peakMb} MB; of ${sent} good ${good} shed ${turnedAway} late ${late} failed ${failed}; ` +
    `small ones ${pings.good} of ${pings.sent} ${JSON.stringify(Object.fromEntries(reasons))}`
  )
}

const group = new MemoryGroup('meltproof-bench', limitBytes)
let rows: readonly MemoryRow[] = earlier?.rows ?? []
try {
  for (let round = 0; round < rounds; round++) {
    for (const of of loads.flatMap(load => kinds.flatMap(kind => arms.map(arm => ({ load, kind, arm }))))) {
      if (runsOf(rows, of) >= ROUNDS) continue
      const one = await run(group, of)
      rows = withRun(rows, one)
      console.log(`${runsOf(rows, of)}: ${inWords(one)}`)
      keep()
    }
  }
} finally {
  await group.remove()
}
console.table(
  rows.map(({ requests, pings, ...row }) => ({ ...row, ...requests, small: `${pings.good}/${pings.sent}` })),
)
printMissedBars(missedBars(rows))
if (!dry) putTable(page, 'memory-cgroup', memoryTable(readResult<MemoryFigures>('memory-cgroup')))

/** Writes the result file. It is called after each run, so that Ctrl-C loses at most one run. */
function keep(): void {
  const figures: MemoryFigures = { ...together(earlier, where), ...settings, rows, missed: missedBars(rows) }
  if (!dry) writeWhole(resultFile('memory-cgroup'), `${JSON.stringify(figures, null, 2)}\n`)
}
