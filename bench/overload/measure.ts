/** Measures one app: its capacity, one cell of the table, and the cost of a shed. Reuses the lab from start to end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { makeContext } from '../../packages/lab/src/experiment/context.ts'
import type { RunningApp } from '../../packages/lab/src/experiment/scenario.ts'
import { type Pinning, pinned } from '../../packages/lab/src/launch/core-pinning.ts'
import { freePort } from '../../packages/lab/src/launch/free-port.ts'
import { spinVariable } from '../../packages/lab/src/launch/machine.ts'
import { checkAnswers } from '../../packages/lab/src/launch/wait-until-listening.ts'
import { WORD } from '../../packages/lab/src/load/numbered-request.ts'
import type { LoadOutcome, LoadPlan } from '../../packages/lab/src/load/plan.ts'
import { runLoad } from '../../packages/lab/src/load/run.ts'
import { type MeasuredCapacity, remeasureCapacity, searchCapacity } from '../../packages/lab/src/melt/capacity.ts'
import { offer, type Target } from '../../packages/lab/src/melt/load-plans.ts'
import type { StepResult } from '../../packages/lab/src/melt/measured.ts'
import { underLoad } from '../../packages/lab/src/melt/step.ts'
import { summariseStep, windowOf } from '../../packages/lab/src/melt/summary.ts'
import { cpuPerRequest, median, startServer } from '../lib/measured-server.ts'
import type { Arm, Mode, Workload } from './workloads.ts'

export interface Bench {
  readonly pinning: Pinning | undefined
  /** Iterations of the busy loop a millisecond; one count for every app. */
  readonly spinPerMs: number
  readonly databaseUrl: string | undefined
  readonly quick: boolean
}

export interface Subject {
  readonly name: string
  readonly workload: Workload
  readonly mode: Mode
}

export interface Cell {
  readonly step: StepResult
  /** The second route of a workload that has one. */
  readonly beside?: StepResult
}

const SLO_MS = 1000
const TIMEOUT_MS = 3000
const DURATION_MS = 5000
const QUICK_DURATION_MS = 3000
/** As many standing connections as the bars name. */
const STANDING = 1500

export function durationOf({ workload }: Subject, { quick }: Pick<Bench, 'quick'>): number {
  return quick ? QUICK_DURATION_MS : (workload.durationMs ?? DURATION_MS)
}

export function timeoutOf({ workload }: Subject): number {
  return workload.timeoutMs ?? TIMEOUT_MS
}

function targetOf(subject: Subject, origin: string, path: string): Target {
  return {
    url: new URL(path, origin).href,
    method: 'GET',
    headers: path === subject.workload.path ? { ...subject.workload.headers } : {},
    body: undefined,
    timeoutMs: timeoutOf(subject),
    sloMs: SLO_MS,
    fresh: subject.mode === 'fresh',
    connections: STANDING,
    spacing: 'poisson',
  }
}

async function withApp<T>(bench: Bench, subject: Subject, arm: Arm, use: (app: RunningApp) => Promise<T>): Promise<T> {
  const { context, end } = makeContext({
    form: 'full',
    signal: new AbortController().signal,
    progress: { status() {}, line: console.log, clear() {} },
    cores: bench.pinning && { ...bench.pinning, dependency: bench.pinning.lab },
  })
  const port = String(await freePort())
  try {
    const app = await context.start({
      name: `${subject.name}, ${arm}`,
      run: [process.execPath, '--no-warnings', join(import.meta.dirname, 'app.mjs'), subject.name, arm],
      core: 'server',
      env: {
        NODE_ENV: 'production',
        PORT: port,
        [spinVariable]: String(bench.spinPerMs),
        ...(bench.databaseUrl === undefined ? {} : { DATABASE_URL: bench.databaseUrl }),
      },
      url: new URL(`http://127.0.0.1:${port}`),
    })
    const neighbour = subject.workload.neighbour === true ? startNeighbour(bench.pinning?.server) : undefined
    context.cleanUp(() => void neighbour?.kill('SIGKILL'))
    const path = subject.workload.capacityPath ?? subject.workload.path
    await checkAnswers(app, new URL(path, app.origin), { method: 'GET', headers: {}, body: undefined }, 10_000)
    return await use(app)
  } finally {
    await end()
  }
}

/** A process that never rests. Without cores to choose from it has all of them to share. */
function startNeighbour(core: number | undefined): ChildProcess {
  const [command, ...args] = pinned([process.execPath, '-e', 'for (;;);'], core)
  return spawn(command!, args, { stdio: 'ignore' })
}

/** Of the bare app. With `users` it is measured again as it was found the first time. */
export async function measureCapacity(
  bench: Bench,
  subject: Subject,
  users?: number,
): Promise<MeasuredCapacity & { readonly foreign: number | null }> {
  const { workload } = subject
  if (workload.capacity !== undefined)
    return { rate: workload.capacity, users: users ?? 1, latencyP50Ms: 0, foreign: null }
  return withApp(bench, subject, 'bare', async app => {
    const context = {
      target: targetOf(subject, app.origin, workload.capacityPath ?? workload.path),
      times: bench.quick
        ? { warmUpMs: 500, probeMs: 500, confirmMs: 2000 }
        : { warmUpMs: 1500, probeMs: 1000, confirmMs: 5000 },
      run: (plan: LoadPlan): Promise<LoadOutcome> => runLoad(plan),
      onProbe: () => {},
    }
    const { outcome, foreign } = await underLoad(app, bench.pinning?.server, () =>
      users === undefined ? searchCapacity(context) : remeasureCapacity(context, users),
    )
    return { ...outcome, foreign }
  })
}

/** Offers `multiple` times the capacity to a cold app. */
export async function measureCell(
  bench: Bench,
  subject: Subject,
  { arm, multiple, round, capacity }: { arm: Arm; multiple: number; round: number; capacity: number },
): Promise<Cell> {
  const { workload } = subject
  const durationMs = durationOf(subject, bench)
  const window = windowOf(durationMs)
  const rate = (multiple * capacity) / (workload.goodShare ?? 1)
  return withApp(bench, subject, arm, async app => {
    const ask = (path: string, per: number): Promise<LoadOutcome> =>
      runLoad(
        asCrowd({
          ...offer(targetOf(subject, app.origin, path), per, durationMs),
          ...(path.includes(WORD) ? { numbered: { senders: 1 } } : {}),
        }),
      )
    const { outcome, ...seen } = await underLoad(app, bench.pinning?.server, () =>
      Promise.all([
        ask(workload.path, rate),
        workload.beside === undefined ? undefined : ask(workload.beside.path, workload.beside.rate),
      ]),
    )
    const summarise = (of: LoadOutcome): StepResult =>
      summariseStep({ arm, multiple, round, window, sloMs: SLO_MS, outcome: of, ...seen })
    const [step, beside] = outcome
    return { step: summarise(step), ...(beside === undefined ? {} : { beside: summarise(beside) }) }
  })
}

/** At three hundred times the capacity there are more clients than this machine has ports for. */
function asCrowd(plan: LoadPlan): LoadPlan {
  const { connections } = plan
  return connections.kind === 'fresh' ? plan : { ...plan, connections: { ...connections, newestFirst: true } }
}

/** r: the CPU cost of one shed by meltproof on this machine now, microseconds; the median of `rounds`. */
export async function measureShedCost(mode: Mode, rounds: number): Promise<number> {
  const script = join(import.meta.dirname, '../lib/servers.ts')
  const load =
    mode === 'standing' ? { connections: STANDING, rate: 10_000 } : { connections: 'fresh' as const, rate: 1500 }
  const costs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const server = await startServer(script, ['shed', 'busy', mode])
    costs.push((await cpuPerRequest(server, { ...load, seconds: 3 })).us)
    await server.stop()
  }
  return median(costs)
}
