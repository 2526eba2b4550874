/**
 * A server in a memory cgroup of 256 MiB under four loads that fill it: bodies held as Buffers, a heap that grows with each
 * request, slow readers of large answers, and 900 MB of pipelined POSTs. Bare and protected in turns; at 10x of what fits,
 * and at a load that takes about half of the memory. Needs root, and a memory cgroup (version 1 or 2).
 *
 *   node bench/memory-cgroup.ts [--rounds 20] [--seconds 10] [--only bodies,heap,answers,pipelined] [--times 10x,half]
 *     [--arms bare,protected] [--limit 256] [--dry]
 *
 * Bars: bare is killed in most runs at 10x, protected in none and it goes on serving; at half it sheds no request. Writes
 * bench/results/memory-cgroup.json, unless --dry.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { MemoryGroup } from './lib/memory-group.ts'
import { KINDS, type Kind, type LoadCounts, offer, ping } from './lib/memory-load.ts'

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '20' },
  seconds: { type: 'string', default: '10' },
  limit: { type: 'string', default: '256' },
  only: { type: 'string' },
  times: { type: 'string' },
  arms: { type: 'string' },
  dry: { type: 'boolean', default: false },
})
const rounds = options.whole('rounds')
const seconds = options.whole('seconds')
const limitBytes = options.whole('limit', 64) * 1024 * 1024
const kinds = options.chosen('only', KINDS)
const loads = options.chosen('times', ['10x', '1x', 'half'])
const arms = options.chosen('arms', ['bare', 'protected'])
const TIMES = { '10x': 10, '1x': 1, half: 0.35 } as const
const where = conditions()
const script = join(import.meta.dirname, 'lib/memory-server.ts')
const meltproof = join(import.meta.dirname, '../packages/meltproof/src/index.ts')
/** After the load the server has to answer as many small requests, one after another. */
const AFTERWARDS = 20

interface Run {
  readonly kind: Kind
  readonly load: (typeof loads)[number]
  readonly arm: (typeof arms)[number]
  /** What ended it: a signal, or an exit code; undefined while it served to the end. */
  readonly died: string | undefined
  readonly serves: boolean
  readonly peakMb: number
  readonly requests: LoadCounts
  readonly pings: LoadCounts
  /** As the server counts them, by reason. */
  readonly shed: Readonly<Record<string, number>>
}

async function run(group: MemoryGroup, kind: Kind, load: Run['load'], arm: Run['arm']): Promise<Run> {
  group.reset()
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
  let shed: Run['shed'] = {}
  if (died === undefined) {
    server.send('figures')
    const figures = await Promise.race([once(server, 'message'), exited])
    if (figures !== undefined) shed = (figures[0] as { shed?: Run['shed'] }).shed ?? {}
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

function told({ kind, load, arm, died, serves, peakMb, requests, pings, shed }: Run): string {
  const { sent, good, shed: turnedAway, late, failed } = requests
  const reasons = Object.entries(shed).filter(([, count]) => count > 0)
  return (
    `${kind} ${load} ${arm}: ${died === undefined ? (serves ? 'survived' : 'survived, and does not serve') : `killed (${died})`}, ` +
    `peak ${peakMb} MB; of ${sent} good ${good} shed ${turnedAway} late ${late} failed ${failed}; ` +
    `small ones ${pings.good} of ${pings.sent} ${JSON.stringify(Object.fromEntries(reasons))}`
  )
}

const group = new MemoryGroup('meltproof-bench', limitBytes)
const runs: Run[] = []
try {
  for (let round = 0; round < rounds; round++) {
    for (const load of loads) {
      for (const kind of kinds) {
        for (const arm of arms) {
          const each = await run(group, kind, load, arm)
          runs.push(each)
          console.log(`${round + 1}: ${told(each)}`)
        }
      }
    }
  }
} finally {
  await group.remove()
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const rows = loads.flatMap(load =>
  kinds.flatMap(kind =>
    arms.map(arm => {
      const all = runs.filter(each => each.kind === kind && each.load === load && each.arm === arm)
      const total = (of: 'requests' | 'pings', count: keyof LoadCounts): number => sum(all.map(each => each[of][count]))
      return {
        ...{ load, kind, arm, runs: all.length },
        killed: all.filter(each => each.died !== undefined).length,
        serves: all.filter(each => each.died === undefined && each.serves).length,
        peakMb: Math.max(...all.map(each => each.peakMb)),
        good: total('requests', 'good'),
        shed: total('requests', 'shed'),
        sent: total('requests', 'sent'),
        small: `${total('pings', 'good')}/${total('pings', 'sent')}`,
      }
    }),
  ),
)
console.table(rows)
if (!options.values.dry) {
  const file = join(import.meta.dirname, 'results/memory-cgroup.json')
  writeFileSync(file, `${JSON.stringify({ ...where, limitBytes, seconds, rows }, null, 2)}\n`)
}
