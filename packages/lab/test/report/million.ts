/** Made-up runs of 1,000,000 requests. */
import { Histogram } from '../../src/load/histogram.ts'
import type { LoadSecond } from '../../src/load/plan.ts'
import type { MeltMeasured, StepResult } from '../../src/melt/measured.ts'
import { rowsOf, summariseStep } from '../../src/melt/summary.ts'
import { meltView } from '../../src/melt/view.ts'
import type { ScenarioResult } from '../../src/report/result.ts'
import { arms, madeMeasured, outcome } from '../melt/fixture.ts'
import { madeResult } from './made-result.ts'

const REQUESTS = 1_000_000
/** Shapes of such a run: many steps of a minute, or one long step. */
export const SHAPES = {
  'seven loads, a minute each': { loads: [0.5, 1, 1.5, 2, 3, 6, 10], seconds: 60 },
  'one load, four hours': { loads: [2], seconds: 14_400 },
} as const

/** Every second differs, so that a line cannot omit any of them. */
function second(at: number, scheduled: number): LoadSecond {
  const good = Math.round(scheduled * (0.5 + 0.5 * Math.sin(at) ** 2))
  const okLatency = new Histogram()
  for (let i = 0; i < good; i++) okLatency.record(5 + ((at * 7919 + i * 31) % 900))
  const answered = { '200': good, '503': scheduled - good }
  return { second: at, scheduled, sent: scheduled, answered, failed: {}, good, okLatency, shedLatency: new Histogram() }
}

/** Memory is sampled every quarter of a second. */
export function millionRequests({ loads, seconds: length }: (typeof SHAPES)[keyof typeof SHAPES]): ScenarioResult {
  const made = madeMeasured()
  const window = { from: 1, to: length }
  const perSecond = Math.ceil(REQUESTS / (arms.length * loads.length * length))
  const seconds = Array.from({ length }, (_, at) => second(at, perSecond))
  const samples = Array.from({ length: 4 * length }, (_, at) => ({
    atMs: at * 250,
    rssBytes: 6e7 + ((at * 104_729) % 4e7),
    cpuMs: at * 200,
  }))
  const steps: StepResult[] = arms.flatMap(({ name: arm }) =>
    loads.map(multiple =>
      summariseStep({
        ...{ arm, multiple, round: 1, window, sloMs: 1000, died: null, foreign: 0, outcome: outcome(seconds) },
        coreSpeed: () => null,
        watched: { samples, peakRssBytes: 1e8, cpuMs: 40_000, watchedMs: length * 1000 },
      }),
    ),
  )
  const names = arms.map(arm => arm.name)
  const measured: MeltMeasured = { ...made, steps, rows: rowsOf(steps, names, made.capacity!) }
  return madeResult({ arms, printouts: [], ...meltView(measured, arms), measured: undefined })
}
