/** A query that sleeps, and the pool it exhausts, on a real PostgreSQL. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { formatCount, formatPercent } from '../report/format.ts'
import { numberStats } from '../report/number-stats.ts'
import type { ScenarioArm } from '../report/result.ts'
import { armVariable } from './arm-variable.ts'
import { type Context, type Scenario, scenario } from '../experiment/scenario.ts'
import { blankSick, measureSick, runOf, sampledLines, type SickMeasured, sickView } from './sick-part.ts'

/**
 * At 100/s every 25th query makes 4 sleepers a second. With a limit of 3 s 12 of them hold a connection and the others
 * need 2; with none they fill a pool of 20 in 5 s.
 */
const rate = 100
const pool = 20
const sleepEvery = 25
const queryMs = 20
const sleepMs = 60_000
const limitMs = 3000

const arms: readonly ScenarioArm[] = [
  { name: 'bare', kind: 'bare', what: 'pool.query(), a pool of 20' },
  { name: 'naive timeout', kind: 'also', what: 'the same, raced against a timer of 3 s' },
  { name: 'meltproof', kind: 'protected', what: 'the same over bound(pool, { queryMs: 3000 }) of meltproof/pg' },
]

interface Door {
  readonly connectionString: string
  readonly running: number
}

export const database: Scenario<unknown> = scenario<SickMeasured>({
  name: 'database',
  title: 'A query that sleeps, a pool that is exhausted',
  story: 'Every 25th query on a real PostgreSQL sleeps for a minute and keeps its connection: the pool runs dry.',
  published: [
    { what: 'named in the timeouts article', value: 'timeouts on databases and caches (MySQL, Redis, Elasticsearch)' },
  ],
  arms,
  expects: [
    {
      name: 'bare: the pool is exhausted, and good answers end',
      judge: measured => share(measured, 'bare', goodput => goodput < 0.7),
    },
    {
      name: 'naive timeout: the caller is freed, the connection is not; good answers end all the same',
      judge: measured => share(measured, 'naive timeout', goodput => goodput < 0.7),
    },
    {
      name: 'meltproof: all but the sleeping queries are answered in time (96 of 100 can be)',
      judge: measured => share(measured, 'meltproof', goodput => goodput >= 0.9),
    },
    {
      name: 'meltproof: no statement whose caller has gone goes on in the database',
      needsQuiet: false,
      judge: measured => {
        const run = runOf(measured, 'meltproof')
        const last = run && numberStats((run.sampled['running'] ?? []).map(each => each.value))?.last
        if (last === undefined) return undefined
        return { pass: last <= 2, measured: `${formatCount(last)} statements running after the last answer` }
      },
    },
  ],
  blank: blankSick,

  async run(context, measured) {
    measured.rate = rate
    measured.limitMs = limitMs
    measured.sloMs = 1000
    measured.patienceMs = context.pick({ brief: 5000, quick: 10_000, full: 30_000 })
    const durationMs = context.pick({ brief: 3000, quick: 15_000, full: 120_000 })
    const server = await context.start({
      name: 'PostgreSQL',
      run: 'postgres.js',
      core: 'dependency',
      env: { DATA_DIR: dataDirectory(context) },
      startTimeoutMs: 60_000,
    })
    const { connectionString } = await server.ask<Door>('/')
    for (const arm of arms) {
      const service = await context.start({
        name: 'the service',
        run: 'query-app.js',
        core: 'server',
        env: {
          ARM: armVariable(arm.name),
          DATABASE_URL: connectionString,
          POOL: String(pool),
          QUERY_MS: String(queryMs),
          SLEEP_EVERY: String(sleepEvery),
          SLEEP_MS: String(sleepMs),
          LIMIT_MS: String(limitMs),
        },
      })
      await measureSick(context, measured, {
        arm: arm.name,
        service,
        durationMs,
        read: { running: async () => (await server.ask<Door>('/')).running },
      })
      await service.stop()
      // A new arm starts on a database without the sleepers of the last.
      await server.ask<Door>('/lab/clear')
    }
  },

  view: measured =>
    sickView(measured, arms, {
      finding: finding(measured),
      plots: [sampledLines(measured.runs, 'running', 'Statements running in the database', 'statements')],
    }),
})

/** PostgreSQL runs as a user of its own when we are root, and must be able to go in. */
function dataDirectory(context: Context): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'meltlab-postgres-'))
  context.cleanUp(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  return path.join(folder, 'data')
}

function share(
  measured: SickMeasured,
  arm: string,
  right: (goodput: number) => boolean,
): { pass: boolean; measured: string } | undefined {
  const run = runOf(measured, arm)
  return run && { pass: right(run.goodput), measured: `${formatPercent(run.goodput)} good` }
}

function finding(measured: SickMeasured): string {
  const [bare, naive, ours] = ['bare', 'naive timeout', 'meltproof'].map(arm => runOf(measured, arm)?.goodput)
  if (bare === undefined || naive === undefined || ours === undefined) {
    return `${measured.runs.length} of 3 arms were measured before the run ended.`
  }
  return `With a query that sleeps in 25, ${formatPercent(bare)} of the answers are good bare, ${formatPercent(naive)} with a race against a timer, and ${formatPercent(ours)} with meltproof, which cancels the query too.`
}
