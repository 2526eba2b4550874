/**
 * Records real protected runs for the simulator to replay: `node bench/record.ts --all` (about seven minutes, on a
 * quiet machine), or `--workload steps-1x,pool-2x` for some of them. Each is a cold start of a real app under a known
 * schedule, once with a fixed limit and once with the learned limit.
 *
 * Writes packages/meltproof/sim/recorded/WORKLOAD.json; packages/meltproof/test/admission/replay.test.ts compares the
 * simulator with these files. `--list` lists the workloads. A run is repeated, up to three runs in all (`--tries`), if
 * other threads took more than 8 % of the core of the server; the quietest run is stored. Build first.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { remeasureCapacity } from '../packages/lab/src/melt/capacity.ts'
import { offer, type Target } from '../packages/lab/src/melt/load-plans.ts'
import { calibrateSpin, spinVariable } from '../packages/lab/src/launch/machine.ts'
import type { LoadOutcome, LoadPlan } from '../packages/lab/src/load/plan.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { arrivalsOf } from '../packages/lab/src/load/schedule.ts'
import { packTimes, type RecordedRun, type Recording, recordingFile } from '../packages/meltproof/sim/recording.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { type MeasuredServer, pinning, startServer } from './lib/measured-server.ts'
import { measureShedCost } from './lib/shed-cost.ts'
import { startPostgres } from './lib/postgres.ts'
import { type AppNotes, distil, stolenShare } from './recording/distil.ts'
import { RECORDED, type Recorded } from './recording/workloads.ts'

const SLO_MS = 1000
/** Standing connections, as many as in bench/shed-cost.ts. */
const STANDING = 1500
/** Users when the capacity is measured: enough for any of the apps. */
const USERS = 20

const { values, refuse, chosen, whole } = scriptOptions(import.meta.filename, {
  all: { type: 'boolean', default: false },
  workload: { type: 'string' },
  tries: { type: 'string', default: '3' },
  list: { type: 'boolean', default: false },
})
const names = chosen('workload', Object.keys(RECORDED))
if (values.list) {
  console.log(names.join('\n'))
  process.exit()
}
const mostTries = whole('tries')
if (values.all === (values.workload !== undefined)) refuse('give --all, or --workload with names')

const root = join(import.meta.dirname, '..')
const script = join(import.meta.dirname, 'recording/app.mjs')
const { node, cpu } = conditions()
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', cwd: root }).trim()
process.env['NODE_ENV'] = 'production'
process.env[spinVariable] = String(await calibrateSpin(pinning?.server))
const shedMs = (await measureShedCost('standing', 1)) / 1000
console.log(`one shed costs ${(1000 * shedMs).toFixed(1)} us`)
const capacities = new Map<string, number>()
/**
 * Other threads may take at most this share of the core of the server while it is busy; above it, the run is repeated.
 * The threads in which V8 compiles and collects garbage count as others: they take 6 % when React renders.
 */
const MOST_STOLEN = 0.08
const needsPostgres = names.some(name => RECORDED[name]!.app === 'database')
const postgres = needsPostgres ? await startPostgres() : undefined
if (postgres !== undefined) process.env['DATABASE_URL'] = postgres.url
try {
  for (const name of names) {
    const recording = await record(name, RECORDED[name]!)
    const file = recordingFile(name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${JSON.stringify(recording, null, 1)}\n`)
  }
} finally {
  await postgres?.stop()
}
process.exit()

async function record(name: string, workload: Recorded): Promise<Recording> {
  const capacity = await capacityOf(workload)
  const asked = [
    { path: workload.path, rate: workload.load * capacity },
    ...(workload.beside === undefined ? [] : [workload.beside]),
  ]
  const schedules = asked.map(({ rate }, i) => scheduleOf(rate, workload.seconds, i + 1))
  const runs = {
    fixed: await run(name, workload, asked, schedules, workload.limit),
    learned: await run(name, workload, asked, schedules),
  }
  return {
    name,
    recordedAt: new Date().toISOString(),
    node,
    cpu,
    commit,
    capacity: round(capacity),
    seconds: workload.seconds,
    shedMs: round(shedMs),
    ...(workload.poolSize === undefined ? {} : { poolSize: workload.poolSize }),
    arrivals: schedules.map(schedule => packTimes(timesOf(schedule))),
    runs,
  }
}

async function run(
  name: string,
  workload: Recorded,
  asked: readonly { readonly path: string; readonly rate: number }[],
  schedules: readonly Schedule[],
  limit?: number,
): Promise<RecordedRun> {
  const recorded = await quietest(name, () => runOnce(workload, asked, schedules, limit))
  const { offered, good, shed } = recorded
  console.log(
    `${name}, ${limit === undefined ? 'limit learned' : `limit ${limit}`}: ${offered} offered, ` +
      `${percent(good / offered)} good, ${percent(shed / offered)} shed, p99 ${recorded.answeredMs.p99.toFixed(0)} ms`,
  )
  return recorded
}

async function runOnce(
  workload: Recorded,
  asked: readonly { readonly path: string; readonly rate: number }[],
  schedules: readonly Schedule[],
  limit?: number,
): Promise<{ readonly result: RecordedRun; readonly stolen: number }> {
  const paths = asked.map(({ path }) => path)
  const { notes, outcomes } = await withApp(workload, String(limit ?? 'learned'), paths, async server => {
    const outcomes = await Promise.all(
      asked.map(({ path, rate }, i) =>
        runLoad({
          ...offer(targetOf(server, path), rate, workload.seconds * 1000),
          arrival: { kind: 'open', schedule: schedules[i]! },
        }),
      ),
    )
    return { outcomes, notes: await server.ask<AppNotes>() }
  })
  const doubts = outcomes.flatMap(outcome => outcome.why)
  for (const why of doubts) console.log(`  not certified: ${why}`)
  const sum = (read: (outcome: LoadOutcome) => number): number => outcomes.reduce((all, each) => all + read(each), 0)
  const seconds = Array.from({ length: workload.seconds }, (_, second) => second)
  const [first] = outcomes
  const recorded: RecordedRun = {
    ...(limit === undefined ? {} : { limit }),
    offered: sum(({ scheduled }) => scheduled),
    good: sum(({ good }) => good),
    shed: sum(({ answered }) => answered['503'] ?? 0),
    answeredMs: { p50: round(first!.okLatency.percentile(50)), p99: round(first!.okLatency.percentile(99)) },
    perSecond: {
      offered: seconds.map(s => sum(each => each.seconds[s]?.scheduled ?? 0)),
      good: seconds.map(s => sum(each => each.seconds[s]?.good ?? 0)),
      shed: seconds.map(s => sum(each => each.seconds[s]?.answered['503'] ?? 0)),
    },
    ...distil(notes, { kinds: paths.length, firstArrivalMs: firstOf(schedules), shedMs }),
  }
  return { result: recorded, stolen: doubts.length > 0 ? 1 : stolenShare(notes) }
}

async function capacityOf(workload: Recorded): Promise<number> {
  const known = capacities.get(workload.app)
  if (known !== undefined) return known
  const rate = await quietest(workload.app, () =>
    withApp(workload, 'bare', [workload.path], async server => {
      const { rate } = await remeasureCapacity(
        {
          target: targetOf(server, workload.path),
          times: { warmUpMs: 1500, probeMs: 1000, confirmMs: 5000 },
          run: (plan: LoadPlan) => runLoad(plan),
          onProbe: () => {},
        },
        USERS,
      )
      return { result: rate, stolen: stolenShare(await server.ask<AppNotes>()) }
    }),
  )
  console.log(`${workload.app}: capacity ${rate.toFixed(1)}/s`)
  capacities.set(workload.app, rate)
  return rate
}

/** Measures until other threads leave the core alone, at most `mostTries` times. Returns the quietest result. */
async function quietest<T>(
  what: string,
  measure: () => Promise<{ readonly result: T; readonly stolen: number }>,
): Promise<T> {
  let best = await measure()
  for (let tries = 1; tries < mostTries && best.stolen > MOST_STOLEN; tries++) {
    console.log(
      `${what}: others took ${best.stolen === 1 ? 'the generator its core' : `${percent(best.stolen)} of the core`}; once more`,
    )
    const again = await measure()
    if (again.stolen < best.stolen) best = again
  }
  return best.result
}

async function withApp<T>(
  workload: Recorded,
  limit: string,
  paths: readonly string[],
  use: (server: MeasuredServer) => Promise<T>,
): Promise<T> {
  const server = await startServer(script, [workload.app, limit, paths.join(',')])
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

function targetOf(server: MeasuredServer, path: string): Target {
  return {
    url: new URL(path, server.url).href,
    method: 'GET',
    headers: {},
    body: undefined,
    timeoutMs: 3000,
    sloMs: SLO_MS,
    fresh: false,
    connections: STANDING,
    spacing: 'poisson',
  }
}

type Schedule = Extract<LoadPlan['arrival'], { kind: 'open' }>['schedule']

function scheduleOf(rate: number, seconds: number, seed: number): Schedule {
  return { phases: [{ kind: 'constant', rate, durationMs: seconds * 1000 }], spacing: 'poisson', seed }
}

function timesOf(schedule: Schedule): number[] {
  const times: number[] = []
  for (const arrivals = arrivalsOf(schedule); arrivals.peek() !== Number.POSITIVE_INFINITY; arrivals.advance()) {
    times.push(arrivals.peek())
  }
  return times
}

function firstOf(schedules: readonly Schedule[]): number {
  return Math.min(...schedules.map(schedule => arrivalsOf(schedule).peek()))
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`
}
