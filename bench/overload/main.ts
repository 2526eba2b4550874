/**
 * `npm run bench:overload`: the scoreboard. Every arm under every workload at 0.7 to 300 times the capacity of the bare
 * app, cold starts, standing and fresh connections, medians of rounds, and the ideal beside each figure. `--help` says
 * what it takes.
 *
 * It can be stopped at any time: each cell is kept in runs/overload/ as it ends. When all that was asked for is there (or
 * with --report) it writes bench/results/overload.json, docs/scoreboard.md and docs/images/overload-*.svg; suites that
 * are not in runs/overload/ stay as they were.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { scriptOptions } from '../../scripts/script-options.ts'
import { calibrateSpin } from '../../packages/lab/src/launch/machine.ts'
import { figuresTable } from '../../packages/lab/src/melt/view.ts'
import { tableText } from '../../packages/lab/src/report/text.ts'
import { busyNow } from '../../packages/lab/src/processes/core-times.ts'
import { pinning } from '../lib/measured-server.ts'
import { type Bench, durationOf, measureCapacity, measureCell, measureShedCost, type Subject } from './measure.ts'
import { startPostgres } from './postgres.ts'
import { scoreboardOf, suiteOf, writeScoreboard } from './scoreboard.ts'
import { Store } from './store.ts'
import { ARMS, LOADS, MODES, MOST_FRESH, WORKLOADS } from './workloads.ts'

/** Exit code when --for has run out and there is more to do (EX_TEMPFAIL). */
const MORE_TO_DO = 75
/** Share of the server's core; as the lab's own doubts have it. */
const OTHERS_MAY_USE = 0.1
/** What one cell may take beyond its duration and the clients' patience: starting and stopping an app, ms. */
const OVERHEAD_MS = 3_000

const options = scriptOptions(
  import.meta.filename,
  {
    workload: { type: 'string' },
    arms: { type: 'string' },
    loads: { type: 'string' },
    modes: { type: 'string' },
    rounds: { type: 'string' },
    for: { type: 'string' },
    'only-quiet': { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    'from-scratch': { type: 'boolean', default: false },
  },
  `npm run bench:overload -- [options]    all of it takes some hours; it goes on where it was stopped

  --workload LIST  of ${Object.keys(WORKLOADS).join(', ')}
  --arms LIST      of ${ARMS.join(', ')}
  --loads LIST     multiples of the capacity (default: ${LOADS.join(',')})
  --modes LIST     of ${MODES.join(', ')}
  --rounds N       medians are over so many (default: 3)
  --for SECONDS    stop by itself then; exit code ${MORE_TO_DO} when there is more to do
  --only-quiet     measure again what others disturbed
  --report         only write the report of what is there
  --from-scratch   forget what is there
  --quick          one workload, little of it, printed and not kept`,
)
const { values } = options
const { quick } = values
const workloads = chosen('workload', Object.keys(WORKLOADS), ['steps'])
const arms = chosen('arms', ARMS, ['bare', 'meltproof'])
const modes = chosen('modes', MODES, ['standing'])
const loads = values.loads === undefined ? (quick ? [1, 10] : LOADS) : chosenLoads(values.loads)
const rounds = values.rounds === undefined ? (quick ? 1 : 3) : options.whole('rounds')
const stopAtMs = values.for === undefined ? Number.POSITIVE_INFINITY : options.whole('for') * 1000

const root = join(import.meta.dirname, '../..')
const folder = join(root, quick ? 'runs/overload-quick' : 'runs/overload')
if (quick || values['from-scratch']) rmSync(folder, { recursive: true, force: true })
const store = new Store(folder)

if (!values.report) {
  const finished = await measureEverything()
  if (!finished) process.exit(MORE_TO_DO)
}
if (quick) {
  for (const { name, result } of scoreboardOf(store).suites) {
    console.log(`\n${name}\n${tableText(figuresTable({ rows: result.rows, setup: result.conditions }))}`)
  }
} else writeScoreboard(root, store)
process.exit()

async function measureEverything(): Promise<boolean> {
  if (store.shedCost() === undefined) {
    if (!timeFor(30_000)) return false
    const shedRounds = quick ? 1 : 3
    const us = {
      standing: await measureShedCost('standing', shedRounds),
      fresh: await measureShedCost('fresh', shedRounds),
    }
    store.keepShedCost({ us, rounds: shedRounds, measuredAt: new Date().toISOString() })
    console.log(`r, the cost of one shed: ${us.standing.toFixed(1)} us standing, ${us.fresh.toFixed(1)} us fresh`)
  }
  let complete = true
  for (const name of workloads) {
    const workload = WORKLOADS[name]!
    const missing = modes.some(mode => !isComplete({ name, workload, mode }))
    if (!missing) continue
    const postgres = workload.needsPostgres === true ? await startPostgres() : undefined
    try {
      for (const mode of modes) {
        const how = await measureSuite({ name, workload, mode }, postgres?.url)
        if (how === 'out of time') return false
        if (how === 'disturbed') complete = false
      }
    } finally {
      await postgres?.stop()
    }
  }
  return complete
}

function isComplete(subject: Subject): boolean {
  return store.capacity(suiteOf(subject))?.after != null && cellsOf(subject).every(cell => cell.done)
}

interface Wanted {
  readonly arm: (typeof arms)[number]
  readonly multiple: number
  readonly round: number
  readonly done: boolean
}

/** Arms take turns at each load, so that a machine that changes meanwhile changes for all of them. */
function cellsOf(subject: Subject): Wanted[] {
  const suite = suiteOf(subject)
  const capacity = store.capacity(suite)?.before ?? 0
  const own = subject.workload.loads ?? loads
  const offered = own.filter(multiple => subject.mode === 'standing' || multiple * capacity <= MOST_FRESH)
  return Array.from({ length: rounds }, (_, round) => round + 1).flatMap(round =>
    offered.flatMap(multiple =>
      arms.map(arm => ({ arm, multiple, round, done: store.has(suite, arm, multiple, round) })),
    ),
  )
}

/** `disturbed`: what somebody else disturbed is still missing. */
async function measureSuite(
  subject: Subject,
  databaseUrl: string | undefined,
): Promise<'complete' | 'disturbed' | 'out of time'> {
  const suite = suiteOf(subject)
  if (isComplete(subject)) return 'complete'
  const known = store.capacity(suite)
  const durationMs = durationOf(subject, { quick })
  if (!timeFor(known === undefined ? 40_000 : 0)) return 'out of time'
  const spinPerMs = known?.spinPerMs ?? (await calibrateSpin(pinning?.server))
  const bench: Bench = { pinning, spinPerMs, databaseUrl, quick }
  if (known === undefined) {
    const busy = await busyNow(1000, new AbortController().signal)
    const found = await measureCapacity(bench, subject)
    if (isDisturbed(`${suite}: capacity`, found.foreign)) return 'disturbed'
    store.keepCapacity(suite, {
      before: found.rate,
      after: null,
      users: found.users,
      latencyP50Ms: found.latencyP50Ms,
      spinPerMs,
      busyBefore:
        busy === undefined || pinning === undefined
          ? null
          : { server: busy[pinning.server] ?? 0, lab: busy[pinning.lab] ?? 0 },
      pinning: pinning ?? null,
      durationMs,
      commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim(),
      startedAt: new Date().toISOString(),
    })
    console.log(`${suite}: capacity ${found.rate.toFixed(1)}/s with ${found.users} users`)
  }
  const capacity = store.capacity(suite)!
  let disturbed = false
  for (const { arm, multiple, round, done } of cellsOf(subject)) {
    if (done) continue
    if (!timeFor(durationMs + (subject.workload.timeoutMs ?? 3000) + OVERHEAD_MS)) return 'out of time'
    const cell = await measureCell(bench, subject, { arm, multiple, round, capacity: capacity.before })
    if (isDisturbed(`${suite} ${arm} ${multiple}x round ${round}`, cell.step.server.foreignShare)) {
      disturbed = true
      continue
    }
    store.keep(suite, arm, multiple, round, cell)
    const { goodput, offered, shed, admittedMs } = cell.step
    console.log(
      `${suite} ${arm} ${multiple}x round ${round}: offered ${offered.toFixed(0)}/s, goodput ${goodput.toFixed(1)}/s, ` +
        `shed ${shed.toFixed(0)}/s, admitted p99 ${admittedMs.p99?.toFixed(0) ?? '-'} ms` +
        (cell.beside === undefined
          ? ''
          : `, beside ${cell.beside.goodput.toFixed(1)}/s of ${cell.beside.offered.toFixed(0)}`) +
        (cell.step.generator.certified ? '' : '  (not certified)'),
    )
  }
  if (disturbed) return 'disturbed'
  if (!timeFor(15_000)) return 'out of time'
  const again = await measureCapacity(bench, subject, capacity.users)
  if (isDisturbed(`${suite}: capacity again`, again.foreign)) return 'disturbed'
  store.keepCapacity(suite, { ...capacity, after: again.rate })
  console.log(`${suite}: capacity again ${again.rate.toFixed(1)}/s`)
  return 'complete'
}

/** With --only-quiet, what others disturbed is not kept but measured another time. */
function isDisturbed(what: string, foreign: number | null): boolean {
  if (!values['only-quiet'] || foreign === null || foreign < OTHERS_MAY_USE) return false
  console.log(`${what}: others used ${Math.round(foreign * 100)} % of the core; not kept`)
  return true
}

/** Whether a piece of about `ms` may still begin. */
function timeFor(ms: number): boolean {
  return performance.now() + ms <= stopAtMs
}

/** What was asked for; of a quick run that asks for nothing, `few`. */
function chosen<T extends string>(
  name: 'workload' | 'arms' | 'modes',
  known: readonly T[],
  few: readonly T[],
): readonly T[] {
  return quick && values[name] === undefined ? few : options.chosen(name, known)
}

function chosenLoads(given: string): readonly number[] {
  const multiples = given.split(',').map(Number)
  if (multiples.some(multiple => !(multiple > 0))) options.refuse(`--loads takes numbers above 0; got '${given}'`)
  return multiples
}
