/** The burst experiment (2013) as published: the load rises to six times the capacity, on new connections only. */
import type { AppSpec } from '../experiment/scenario.ts'
import { type Context, type Scenario, scenario } from '../experiment/scenario.ts'
import { calibrateSpin, spinVariable } from '../launch/machine.ts'
import { registerUrl } from '../launch/register-url.ts'
import { Histogram } from '../load/histogram.ts'
import type { Counts, LoadOutcome, LoadSecond } from '../load/plan.ts'
import { latencyFigures } from '../report/load-figures.ts'
import { type BurstRun, type BurstStep, burstExpects, burstPublished, burstView, STEP_S } from './burst-fresh-view.ts'

/** Requests per second, up to more than six times the rate that 5 ms of work allow. */
const RISES = { from: 50, to: 1300 }
const SLO_MS = 1000

const apps: Readonly<Record<string, () => Pick<AppSpec, 'run' | 'nodeOptions'>>> = {
  bare: () => ({ run: 'burst.js' }),
  'toobusy-js': () => ({ run: 'burst-toobusy.js' }),
  protected: () => ({ run: 'burst.js', nodeOptions: `--import ${registerUrl()}` }),
}

export const burstFresh: Scenario<unknown> = scenario<BurstRun[]>({
  name: 'burst-fresh',
  title: 'A rising burst of new connections',
  story: 'An app that can serve 200 requests a second is asked for more and more, to 1,300, each on a new connection.',
  published: burstPublished,
  arms: [
    { name: 'bare', kind: 'bare', what: 'a server whose handler burns 5 ms of CPU over five asynchronous calls' },
    { name: 'toobusy-js', kind: 'also', what: 'the same, asking toobusy() first, as its README shows' },
    { name: 'protected', kind: 'protected', what: 'the same as bare with --import meltproof/register' },
  ],
  expects: burstExpects,
  needs: ['toobusy-js'],
  blank: () => [],
  async run(context, measured) {
    const spin = String(await calibrateSpin(context.cores?.server))
    for (const [arm, app] of Object.entries(apps)) measured.push(await rise(context, arm, { ...app(), spin }))
  },
  view: burstView,
})

async function rise(
  context: Context,
  arm: string,
  { spin, ...app }: Pick<AppSpec, 'run' | 'nodeOptions'> & { readonly spin: string },
): Promise<BurstRun> {
  const server = await context.start({ name: arm, core: 'server', env: { [spinVariable]: spin }, ...app })
  const durationMs = context.pick({ brief: 2000, quick: 26_000, full: 26_000 })
  const timeoutMs = context.pick({ brief: 2000, quick: 20_000, full: 60_000 })
  const outcome = await context.load(arm, {
    ...{ url: server.origin, rate: RISES.from, rampTo: RISES.to, fresh: true },
    ...{ durationMs, timeoutMs, sloMs: SLO_MS },
  })
  server.check()
  await server.stop()
  return { arm, timeoutMs, steps: stepsOf(outcome), failed: sumOf(outcome.failed), unsent: outcome.unsent }
}

function stepsOf({ seconds }: LoadOutcome): BurstStep[] {
  const starts = seconds.filter(each => each.second % STEP_S === 0).map(each => each.second)
  return starts.map(from =>
    stepOf(
      from,
      seconds.filter(each => Math.floor(each.second / STEP_S) * STEP_S === from),
    ),
  )
}

function stepOf(from: number, seconds: readonly LoadSecond[]): BurstStep {
  const total = (of: (second: Counts) => number): number => seconds.reduce((sum, second) => sum + of(second), 0)
  const { mean, p99 } = latencyFigures(Histogram.merged(seconds.map(each => each.okLatency)))
  return {
    from,
    started: total(each => each.scheduled),
    ok: total(each => each.answered['200'] ?? 0),
    good: total(each => each.good),
    shed: total(each => each.answered['503'] ?? 0),
    failed: total(each => sumOf(each.failed)),
    meanMs: mean,
    p99Ms: p99,
    shedP99Ms: latencyFigures(Histogram.merged(seconds.map(each => each.shedLatency))).p99,
  }
}

const sumOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)
