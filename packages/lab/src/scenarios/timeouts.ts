/**
 * The timeouts experiment (2017): a frontend calls a backend of which every tenth answer takes 10 s. What a limit of 3 s
 * does for throughput, latency and memory: none, the usual one, and meltproof's. What is made of the figures is in
 * timeouts-view.ts.
 */
import { loadFigures, perSecond } from '../report/load-figures.ts'
import { numberStats } from '../report/number-stats.ts'
import { calibrateSpin, spinVariable } from '../launch/machine.ts'
import { armVariable } from './arm-variable.ts'
import { heapProbe } from './heap-file.ts'
import { type Context, type RunningApp, type Scenario, scenario } from '../experiment/scenario.ts'
import { arms, type ClosedRun, type OpenRun, type TimeoutsMeasured } from './timeouts-measured.ts'
import { timeoutsExpects } from './timeouts-expects.ts'
import { timeoutsView } from './timeouts-view.ts'

/** B's good answer, ms, as published. */
const answerMs = 100
const faultEvery = 10
/**
 * CPU for turning B's answer into a page, ms. With it A answers about as many requests a second as the published one on
 * its hardware (1,283); without it a frontend of today answers five times as many, and a thousand users who wait for
 * each answer are too few to keep it busy whatever the limit. It is spent on answers only, not on failures.
 */
const workMs = 0.6
const sampleEveryMs = 250

interface Times {
  readonly faultMs: number
  readonly limitMs: number
  readonly users: readonly [fewer: number, more: number]
  readonly rate: number
  readonly healthyMs: number
  /** Closed loop, faulty: bare needs a whole fault until as many users are stuck as ever will be. */
  readonly bareMs: number
  readonly limitedMs: number
  readonly openMs: number
}

export const timeouts: Scenario<unknown> = scenario<TimeoutsMeasured>({
  name: 'timeouts',
  title: 'Timeouts (2017)',
  story:
    'A frontend calls a backend of which every tenth answer takes 10 s: with no limit, a usual one, and meltproof.',
  published: [
    { what: 'closed loop, 500 users', value: '1156.89 transactions/s, 100 % available' },
    { what: 'closed loop, 1000 users', value: '1283.61/s, 100 %' },
    { what: 'faulty backend, 1000 users', value: '853.93/s, 100 %' },
    {
      what: 'the same with a timeout of 3 s',
      value: '1125.26/s (88 % of healthy), 90.14 % (209,861 ok, 22,964 failed)',
    },
    { what: 'open loop, 1000/s, faulty', value: 'mean 1.173 s, p50 171 ms, p95 10.06 s, p99 10.13 s, max 10.77 s' },
    { what: 'the same with a timeout of 3 s', value: 'mean 456 ms, p50 163 ms, p95 3.048 s, p99 3.07 s, max 3.67 s' },
    { what: 'heapUsed at 1000/s', value: '212 MB average without, 149 MB with (30 % less, Node 7)' },
    { what: 'at unequal throughput', value: 'the run with the timeout looked 5 % worse: not comparable' },
  ],
  arms,
  expects: timeoutsExpects,
  blank: () => ({ limitMs: 0, faultMs: 0, users: 0, rate: 0, answerMs, faultEvery, closed: [], open: [] }),

  async run(context, measured) {
    const times: Times = context.pick<Times>({
      brief: {
        faultMs: 1500,
        limitMs: 400,
        users: [20, 50],
        rate: 100,
        healthyMs: 1500,
        bareMs: 3000,
        limitedMs: 2500,
        openMs: 3000,
      },
      quick: {
        faultMs: 10_000,
        limitMs: 3000,
        users: [500, 1000],
        rate: 1000,
        healthyMs: 12_000,
        bareMs: 20_000,
        limitedMs: 12_000,
        openMs: 13_000,
      },
      full: {
        faultMs: 10_000,
        limitMs: 3000,
        users: [500, 1000],
        rate: 1000,
        healthyMs: 180_000,
        bareMs: 180_000,
        limitedMs: 180_000,
        openMs: 180_000,
      },
    })
    measured.limitMs = times.limitMs
    measured.faultMs = times.faultMs
    measured.users = times.users[1]
    measured.rate = times.rate
    const spin = String(await calibrateSpin(undefined))

    const bench = new Bench(context, times, spin)
    for (const users of times.users) measured.closed.push(await bench.closed('bare', false, users, times.healthyMs))
    for (const arm of arms) {
      const ms = arm.name === 'bare' ? times.bareMs : times.limitedMs
      measured.closed.push(await bench.closed(arm.name, true, times.users[1], ms))
    }
    for (const arm of arms) measured.open.push(await bench.open(arm.name, times.rate))
  },
  view: timeoutsView,
})

/** Starts A and B anew for every run, so that no run inherits the connections or the heap of another. */
class Bench {
  readonly #context: Context
  readonly #times: Times
  readonly #spin: string

  constructor(context: Context, times: Times, spin: string) {
    this.#context = context
    this.#times = times
    this.#spin = spin
  }

  async closed(arm: string, faulty: boolean, users: number, durationMs: number): Promise<ClosedRun> {
    const label = `closed loop, ${users} users, ${faulty ? 'faulty' : 'healthy'}, ${arm}`
    const run = await this.#run(label, arm, faulty, durationMs, { users })
    const window = this.#window(arm, faulty, durationMs)
    return {
      arm,
      users,
      faulty,
      window,
      okPerSecond: perSecond(run.figures, 'ok', window),
      takenPerSecond: perSecond(run.figures, 'scheduled', window),
      availability: run.figures.sent === 0 ? 0 : run.figures.ok / run.figures.sent,
      ...run,
    }
  }

  async open(arm: string, rate: number): Promise<OpenRun> {
    const durationMs = this.#times.openMs
    const run = await this.#run(`open loop, ${rate}/s, faulty, ${arm}`, arm, true, durationMs, { rate })
    return { arm, rate, window: this.#window(arm, true, durationMs), ...run }
  }

  /**
   * What a run does once as many requests are stuck as ever will be: a whole limit, or fault, after its start. A healthy
   * run is read in the same seconds as a limited one, when it is as warm.
   */
  #window(arm: string, faulty: boolean, durationMs: number): { from: number; to: number } {
    const to = Math.floor(durationMs / 1000)
    const { faultMs, limitMs } = this.#times
    const settledMs = (faulty && arm === 'bare' ? faultMs : limitMs) + 1000
    return { from: Math.min(to - 1, Math.ceil(settledMs / 1000)), to }
  }

  async #run(
    label: string,
    arm: string,
    faulty: boolean,
    durationMs: number,
    load: { readonly users: number } | { readonly rate: number },
  ): Promise<Omit<OpenRun, 'arm' | 'rate' | 'window'>> {
    const context = this.#context
    const { faultMs, limitMs } = this.#times
    const backend = await context.start({
      name: 'backend B',
      run: 'slow-backend.js',
      core: 'dependency',
      env: {
        ANSWER_MS: String(answerMs),
        FAULT_EVERY: String(faulty ? faultEvery : 0),
        FAULT_MS: String(faultMs),
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
        LIMIT_MS: String(limitMs),
        WORK_MS: String(workMs),
        [spinVariable]: this.#spin,
        ...probe.env,
      },
      nodeOptions: probe.nodeOptions,
    })
    const startedMs = Date.now()
    const watching = frontend.watch()
    const pending = context.sample(sampleEveryMs, () => pendingOn(backend))
    const outcome = await context.load(label, { url: frontend.origin, durationMs, ...load })
    const waiting = await pending.stop()
    const watched = await watching.stop()
    frontend.check()
    backend.check()
    const window = this.#window(arm, faulty, durationMs)
    const inWindow = (atMs: number): boolean => atMs >= window.from * 1000 && atMs <= window.to * 1000
    const rss = numberStats(watched.samples.filter(each => inWindow(each.atMs)).map(each => each.rssBytes))
    const heap = numberStats(probe.read(startedMs + window.from * 1000, startedMs + window.to * 1000))
    await frontend.stop()
    await backend.stop()
    const figures = loadFigures(outcome, durationMs)
    context.line(`${label}: ${figures.ok} ok, ${figures.sent - figures.ok} not, p99 ${figures.allMs.p99} ms`)
    return {
      figures,
      pending: waiting.map(({ atMs, value }) => ({ atMs: Math.round(atMs), calls: value })),
      pendingMean: numberStats(waiting.filter(each => inWindow(each.atMs)).map(each => each.value))?.mean ?? null,
      cpuPerOkMs: figures.ok === 0 ? null : Math.round((1000 * watched.cpuMs) / figures.ok) / 1000,
      rss: rss ?? null,
      heap: heap ?? null,
      rssLine: watched.samples.map(({ atMs, rssBytes }) => ({ atMs: Math.round(atMs), rssBytes })),
    }
  }
}

async function pendingOn(backend: RunningApp): Promise<number> {
  return (await backend.ask<{ pending: number }>('/lab/pending')).pending
}
