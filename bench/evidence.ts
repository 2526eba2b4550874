/**
 * Sends each workload of lib/evidence-workloads.ts to a bare and a protected server, alternating: requests of many
 * costs on one path, bursts, and misleading clients. About twelve minutes a round; the machine should be quiet.
 *
 *   node bench/evidence.ts [--only strangled,flooded] [--rounds 3] [--quick] [--json FILE] [--write]
 *                          [--meltproof packages/meltproof/src/index.ts] [--arms bare,protected]
 *
 * For each arm: requests offered; in time (2xx within 1 s of the time they were due); in their own time (answered
 * within 1 s; if their work takes over 1 s alone, within that time plus 1 s); late, including those never answered;
 * shed (503); failed; the maximum number of handlers at work at the same time; the slowest answer. All are sums of the
 * rounds, except for the last two, which are maxima. A bar is not judged if the bare server shows that the
 * machine was too busy, or if the bar was missed while the load generator itself was late.
 *
 * --quick   one round unless --rounds is given, and shorter rounds (about six minutes each)
 * --json    writes every round to FILE
 * --write   writes every round to bench/results/evidence.json
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { load, type LoadResult, type OutcomeCounts } from './lib/evidence-load.ts'
import type { EvidenceAsk, EvidenceFigures, EvidenceServer } from './lib/evidence-server.ts'
import { EVIDENCE, type EvidenceWorkload, type Outcome } from './lib/evidence-workloads.ts'

const ARMS = ['bare', 'protected'] as const
type Arm = (typeof ARMS)[number]
/** A missed bar is not judged if the load generator itself was later than this, ms. */
const CLIENT_LATE_MS = 500
const SECONDS: readonly [full: number, quick: number] = [15, 6]

const options = scriptOptions(import.meta.filename, {
  only: { type: 'string' },
  arms: { type: 'string' },
  rounds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
  write: { type: 'boolean', default: false },
  meltproof: { type: 'string', default: join(import.meta.dirname, '../packages/meltproof/src/index.ts') },
})
const { values } = options
const rounds = values.rounds !== undefined ? options.whole('rounds') : values.quick ? 1 : 3
const arms = options.chosen('arms', ARMS)

interface Round extends LoadResult, EvidenceFigures {}
interface Evidence {
  readonly name: string
  readonly what: string
  readonly bar: string
  /** Null when the machine was too busy to judge, or only one arm ran. */
  readonly met: boolean | null
  readonly arms: Partial<Record<Arm, readonly Round[]>>
}

const evidence: Evidence[] = []
const rows: string[][] = []
for (const name of options.chosen('only', Object.keys(EVIDENCE))) {
  const each = EVIDENCE[name]!
  const seconds = (each.seconds ?? SECONDS)[values.quick ? 1 : 0]
  const ran: Record<Arm, Round[]> = { bare: [], protected: [] }
  for (let round = 0; round < rounds; round++) {
    const hashRounds = each.threadsPerSecond === undefined ? 0 : await calibrated(each, each.threadsPerSecond)
    for (const arm of round % 2 === 0 ? arms : [...arms].reverse())
      ran[arm].push(await run(each, arm, seconds, hashRounds))
  }
  const outcome = (arm: Arm): Outcome => together(ran[arm], seconds)
  const clientLateMs = Math.max(...ARMS.flatMap(arm => ran[arm]).map(round => round.clientLateMs))
  const judged = arms.length === 2 ? (each.met(outcome('protected'), outcome('bare')) ?? null) : null
  const met = judged === false && clientLateMs > CLIENT_LATE_MS ? null : judged
  evidence.push({
    name,
    what: each.what,
    bar: each.bar,
    met,
    arms: Object.fromEntries(arms.map(arm => [arm, ran[arm]])),
  })
  console.log(`\n${name}: ${each.what}`)
  const mine = arms.flatMap(arm => rowsOf(name, arm, ran[arm], outcome(arm)))
  rows.push(...mine)
  console.log(markdownTable(columns(), mine))
  console.log(`bar: ${each.bar}: ${met === null ? 'not judged' : met ? 'met' : 'NOT MET'}`)
}
const missed = evidence.filter(({ met }) => met === false).map(({ name }) => name)
console.log(`\nnot met: ${missed.length === 0 ? 'none' : missed.join(', ')}`)
const json = `${JSON.stringify({ ...conditions(), rounds, quick: values.quick, evidence }, rounded, 1)}\n`
if (values.json !== undefined) writeFileSync(values.json, json)
if (values.write) writeFileSync(join(import.meta.dirname, 'results/evidence.json'), json)
process.exit()

async function run(each: EvidenceWorkload, arm: Arm, seconds: number, hashRounds: number): Promise<Round> {
  const busy = Array.from({ length: each.busyNeighbours ?? 0 }, () =>
    spawn('taskset', ['-c', serverCore(), process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  const server = await start(each, arm)
  try {
    const loaded = await load(server.port, each.over ?? 'http1', each.asked(seconds, hashRounds))
    return { ...loaded, ...(await ask<EvidenceFigures>(server.child, 'figures')) }
  } finally {
    server.child.kill('SIGKILL')
    for (const neighbour of busy) neighbour.kill('SIGKILL')
  }
}

/** The number of rounds of PBKDF2 at which the thread pool does `perSecond` hashes per second. */
async function calibrated(each: EvidenceWorkload, perSecond: number): Promise<number> {
  const { child } = await start(each, 'bare')
  const hashRounds = await ask<number>(child, { perSecond })
  child.kill('SIGKILL')
  return hashRounds
}

async function start(each: EvidenceWorkload, arm: Arm): Promise<{ child: ChildProcess; port: number }> {
  const given: EvidenceServer = {
    http2: each.over === 'http2',
    meltproof: arm === 'bare' ? undefined : resolve(values.meltproof),
    pool: each.pool ?? 10,
    otherWorkMs: each.otherWorkMs ?? 0,
    otherWorkFromMs: each.otherWorkFromMs ?? 0,
  }
  const script = join(import.meta.dirname, 'lib/evidence-server.ts')
  const node = { execArgv: ['--no-warnings'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] as const }
  const pinned =
    each.busyNeighbours === undefined
      ? node
      : { ...node, execPath: 'taskset', execArgv: ['-c', serverCore(), process.execPath, ...node.execArgv] }
  const child = fork(script, [JSON.stringify(given)], { ...pinned, stdio: [...node.stdio] })
  const [port] = (await once(child, 'message')) as [number]
  return { child, port }
}

async function ask<T>(child: ChildProcess, what: EvidenceAsk): Promise<T> {
  const answer = once(child, 'message')
  child.send(what)
  const [value] = (await answer) as [T]
  return value
}

/** The last core. The load generator is not pinned, so the kernel can run it on the other cores. */
function serverCore(): string {
  return String(availableParallelism() - 1)
}

function together(ran: readonly Round[], seconds: number): Outcome {
  const names = Object.keys(ran[0]?.became ?? {})
  const became = Object.fromEntries(names.map(name => [name, sum(ran.map(round => round.became[name]!))]))
  return { seconds: seconds * ran.length, became, all: sum(Object.values(became)) }
}

function sum(all: readonly OutcomeCounts[]): OutcomeCounts {
  const total = (key: keyof OutcomeCounts): number => all.reduce((so, each) => so + each[key], 0)
  return {
    ...{ offered: total('offered'), good: total('good'), inItsTime: total('inItsTime'), late: total('late') },
    ...{ shed: total('shed'), failed: total('failed'), slowestMs: Math.max(0, ...all.map(each => each.slowestMs)) },
  }
}

function columns(): string[] {
  return [
    ...['workload', 'arm', 'requests', 'offered', 'in time', 'in their own time', 'late', 'shed', 'failed'],
    ...['slowest', 'most at work', 'server CPU', 'client late'],
  ]
}

function rowsOf(name: string, arm: Arm, ran: readonly Round[], { became, all }: Outcome): string[][] {
  const most = (of: (round: Round) => number): string => Math.max(...ran.map(of)).toFixed(0)
  const line = (what: string, { offered, good, inItsTime, late, shed, failed, slowestMs }: OutcomeCounts): string[] => [
    ...[name, arm, what, ...[offered, good, inItsTime, late, shed, failed].map(String), `${slowestMs.toFixed(0)} ms`],
  ]
  const parts = Object.entries(became)
  return [
    ...(parts.length === 1 ? [] : parts.map(([what, each]) => line(what, each))),
    [
      ...line('all', all),
      most(round => round.most),
      `${(ran.reduce((so, round) => so + round.cpuMs, 0) / ran.length / 1000).toFixed(1)} s`,
      `${most(round => round.clientLateMs)} ms`,
    ],
  ]
}

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 100) / 100 : value
}
