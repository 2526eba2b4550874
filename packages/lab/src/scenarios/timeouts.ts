/** The timeouts experiment (2017): a frontend calls a backend whose every tenth answer takes 10 s. */
import { attackReport } from '../report/attack-report.ts'
import { planOf } from '../load/load-request.ts'
import { loadFigures, perSecond } from '../report/load-figures.ts'
import { numberStats } from '../report/number-stats.ts'
import { calibrateSpin, spinVariable } from '../launch/machine.ts'
import { armVariable } from './arm-variable.ts'
import { heapProbe } from './heap-file.ts'
import { type Context, type RunningApp, type Scenario, scenario } from '../experiment/scenario.ts'
import { arms, type Run, type TimeoutsMeasured } from './timeouts-measured.ts'
import { timeoutsExpects } from './timeouts-expects.ts'
import { timeoutsPublished, timeoutsView } from './timeouts-view.ts'

/** Duration of B's good answer, ms, as published. */
const answerMs = 100
const faultEvery = 10
/**
 * CPU time for turning B's good answer into a page, ms: A then answers as many requests a second as the published
 * frontend (1,283). Without it, A answers five times as many, and a thousand waiting users do not keep it busy.
 */
const workMs = 0.6

interface Times {
  readonly faultMs: number
  readonly limitMs: number
  readonly users: readonly [fewer: number, more: number]
  readonly rate: number
  readonly healthyMs: number
  /** Duration of the closed loop with faults: bare needs one whole fault until the maximum number of users is stuck. */
  readonly bareMs: number
  readonly limitedMs: number
  readonly openMs: number
}

export const timeouts: Scenario<unknown> = scenario<TimeoutsMeasured>({
  name: 'timeouts',
  title: 'Timeouts (2017)',
  story:
    'A frontend calls a backend of which every tenth answer takes 10 s: with no limit, a usual one, and meltproof.',
  published: timeoutsPublished,
  arms,
  expects: timeoutsExpects,
  resumes: true,
  blank: () => ({ limitMs: 0, faultMs: 0, users: 0, rate: 0, answerMs, faultEvery, closed: [], open: [] }),

  async run(context, measured) {
    const quick = { faultMs: 10_000, limitMs: 3000, users: [500, 1000], rate: 1000 } as const
    const times = context.pick<Times>({
      brief: {
        ...{ faultMs: 1500, limitMs: 400, users: [20, 50], rate: 100 },
        ...{ healthyMs: 1500, bareMs: 3000, limitedMs: 2500, openMs: 3000 },
      },
      quick: { ...quick, healthyMs: 12_000, bareMs: 20_000, limitedMs: 12_000, openMs: 13_000 },
      // The open loop lasts as long as published, because its tail and the memory need the time. After 11 s, a closed
      // loop repeats itself with the period of the fault.
      full: { ...quick, healthyMs: 30_000, bareMs: 30_000, limitedMs: 30_000, openMs: 180_000 },
    })
    const { faultMs, limitMs, rate, healthyMs, openMs } = times
    const [fewer, users] = times.users
    Object.assign(measured, { faultMs, limitMs, users, rate })
    const spin = String(await calibrateSpin(undefined))
    const closed = async (arm: string, faulty: boolean, count: number, durationMs: number): Promise<void> => {
      const label = `closed loop, ${count} users, ${faulty ? 'faulty' : 'healthy'}, ${arm}`
      if (measured.closed.some(run => run.label === label)) return
      const run = await measureRun(context, { arm, label, faulty, times, spin, load: { durationMs, users: count } })
      const { sent, ok } = run.figures
      const [okPerSecond, takenPerSecond] = [
        perSecond(run.figures, 'ok', run.window),
        perSecond(run.figures, 'scheduled', run.window),
      ]
      const availability = sent === 0 ? 0 : ok / sent
      measured.closed.push({ ...run, users: count, faulty, okPerSecond, takenPerSecond, availability })
      context.checkpoint()
    }
    for (const { name: arm } of arms) {
      const label = `open loop, ${rate}/s, faulty, ${arm}`
      if (measured.open.some(run => run.label === label)) continue
      const load = { durationMs: openMs, rate }
      measured.open.push({ ...(await measureRun(context, { arm, label, faulty: true, times, spin, load })), rate })
      context.checkpoint()
    }
    for (const count of [fewer, users]) await closed('bare', false, count, healthyMs)
    for (const { name } of arms) await closed(name, true, users, name === 'bare' ? times.bareMs : times.limitedMs)
  },
  view: timeoutsView,
})

interface Wanted {
  readonly arm: string
  readonly label: string
  readonly faulty: boolean
  readonly times: Times
  /** Iterations of the busy loop per ms. */
  readonly spin: string
  readonly load: { readonly durationMs: number } & ({ readonly users: number } | { readonly rate: number })
}

/**
 * The window begins 1 s after the first limit, or fault, has passed: the number of stuck requests is constant from
 * then on. A healthy run uses the same seconds as a limited one, so that both are equally warm.
 */
function windowOf({ arm, faulty, times, load }: Wanted): Run['window'] {
  const to = Math.floor(load.durationMs / 1000)
  const settledMs = (faulty && arm === 'bare' ? times.faultMs : times.limitMs) + 1000
  return { from: Math.min(to - 1, Math.ceil(settledMs / 1000)), to }
}

/** Restarts A and B, so that no run inherits another's connections or heap. */
async function measureRun(context: Context, wanted: Wanted): Promise<Run> {
  const { arm, label, faulty, times, spin, load } = wanted
  const backend = await context.start({
    name: 'backend B',
    run: 'slow-backend.js',
    core: 'dependency',
    env: {
      ANSWER_MS: String(answerMs),
      FAULT_EVERY: String(faulty ? faultEvery : 0),
      FAULT_MS: String(times.faultMs),
    },
  })
  const probe = heapProbe(context)
  const frontend = await context.start({
    name: 'frontend A',
    run: 'relay.js',
    core: 'server',
    env: {
      ARM: armVariable(arm),
      BACKENDS: backend.origin,
      LIMIT_MS: String(times.limitMs),
      WORK_MS: String(workMs),
      [spinVariable]: spin,
      ...probe.env,
    },
    nodeOptions: probe.nodeOptions,
  })
  const startedMs = Date.now()
  const watching = frontend.watch()
  const pending = context.sample(context.pick({ quick: 250, full: 1000 }), () => pendingOn(backend))
  const request = { url: frontend.origin, ...load }
  const outcome = await context.load(label, request)
  const waiting = await pending.stop()
  const watched = await watching.stop()
  frontend.check()
  backend.check()
  const window = windowOf(wanted)
  const [fromMs, toMs] = [window.from * 1000, window.to * 1000]
  const inWindow = ({ atMs }: { readonly atMs: number }): boolean => atMs >= fromMs && atMs <= toMs
  const heap = numberStats(probe.read(startedMs + fromMs, startedMs + toMs))
  await frontend.stop()
  await backend.stop()
  const figures = loadFigures(outcome, load.durationMs)
  context.line(`${label}: ${figures.ok} ok, ${figures.sent - figures.ok} not, p99 ${figures.allMs.p99} ms`)
  return {
    arm,
    label,
    window,
    printout: attackReport(planOf(request), outcome),
    figures,
    pending: waiting.map(({ atMs, value }) => ({ atMs: Math.round(atMs), calls: value })),
    pendingMean: numberStats(waiting.filter(inWindow).map(each => each.value))?.mean ?? null,
    cpuPerOkMs: figures.ok === 0 ? null : Math.round((1000 * watched.cpuMs) / figures.ok) / 1000,
    rss: numberStats(watched.samples.filter(inWindow).map(each => each.rssBytes)) ?? null,
    heap: heap ?? null,
    rssLine: watched.samples
      .filter((_, at) => at % context.pick({ quick: 1, full: 4 }) === 0)
      .map(({ atMs, rssBytes }) => ({ atMs: Math.round(atMs), rssBytes })),
  }
}

async function pendingOn(backend: RunningApp): Promise<number> {
  return (await backend.ask<{ pending: number }>('/lab/pending')).pending
}
