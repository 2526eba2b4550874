/** A made-up but plausible run: a bare app that melts, an arm that holds, and one in between. */
import { Histogram } from '../../src/load/histogram.ts'
import type { LoadOutcome, LoadSecond } from '../../src/load/plan.ts'
import type { MeltMeasured, StepResult } from '../../src/melt/measured.ts'
import { rowsOf, summariseStep } from '../../src/melt/summary.ts'

export interface Made {
  readonly good?: number
  readonly late?: number
  readonly shed?: number
  readonly errors?: number
  readonly failed?: number
  readonly unsent?: number
  readonly okMs?: number
  readonly shedMs?: number
}

function histogram(count: number, ms: number): Histogram {
  const made = new Histogram()
  for (let i = 0; i < count; i++) made.record(ms)
  return made
}

export function second(at: number, made: Made): LoadSecond {
  const { good = 0, late = 0, shed = 0, errors = 0, failed = 0, unsent = 0, okMs = 20, shedMs = 4 } = made
  const sent = good + late + shed + errors + failed
  return {
    second: at,
    scheduled: sent + unsent,
    sent,
    answered: { '200': good + late, '503': shed, '500': errors },
    failed: { 'response-timeout': failed },
    good,
    okLatency: histogram(good + late, okMs),
    shedLatency: histogram(shed, shedMs),
  }
}

export function outcome(seconds: readonly LoadSecond[], more: Partial<LoadOutcome> = {}): LoadOutcome {
  const sum = (of: (each: LoadSecond) => number) => seconds.reduce((total, each) => total + of(each), 0)
  return {
    scheduled: sum(each => each.scheduled),
    sent: sum(each => each.sent),
    unsent: sum(each => each.scheduled - each.sent),
    answered: {
      '200': sum(each => each.answered['200'] ?? 0),
      '503': sum(each => each.answered['503'] ?? 0),
    },
    failed: { 'response-timeout': sum(each => each.failed['response-timeout'] ?? 0) },
    good: sum(each => each.good),
    elapsedMs: seconds.length * 1000,
    bytesRead: 1000,
    bodyBytes: 200,
    bodyBytesSent: 0,
    targets: [],
    okLatency: Histogram.merged(seconds.map(each => each.okLatency)),
    shedLatency: Histogram.merged(seconds.map(each => each.shedLatency)),
    otherLatency: new Histogram(),
    failedAfter: new Histogram(),
    sendLag: histogram(10, 0.1),
    seconds,
    cpuPerRequestUs: 6,
    acknowledged: [],
    certified: true,
    why: [],
    certificate: { code: 'certified', doubts: [], intervals: {} },
    clean: { ok: new Histogram(), shed: new Histogram(), other: new Histogram(), failed: new Histogram() },
    incomplete: false,
    ...more,
  }
}

const window = { from: 1, to: 5 }

function step(arm: string, multiple: number, made: Made): StepResult {
  const seconds = Array.from({ length: 5 }, (_, at) => second(at, made))
  const samples = Array.from({ length: 20 }, (_, i) => ({ atMs: i * 250, rssBytes: 60e6 + i * 1e6, cpuMs: i * 240 }))
  return summariseStep({
    arm,
    multiple,
    round: 1,
    window,
    sloMs: 1000,
    outcome: outcome(seconds),
    watched: { samples, peakRssBytes: 79e6, cpuMs: 4800, watchedMs: 5000 },
    died: null,
    foreign: 0.01,
    coreSpeed: () => null,
  })
}

const capacity = 195
export const arms = [
  { name: 'bare', kind: 'bare', what: 'node apps/burst.js' },
  { name: 'protected', kind: 'protected', what: "NODE_OPTIONS='--import meltproof/register' node apps/burst.js" },
  { name: 'toobusy-js', kind: 'also', what: 'node apps/burst-toobusy.js' },
] as const
const multiples = [0.5, 1, 2, 6, 10]

export function madeMeasured(more: Partial<MeltMeasured> = {}): MeltMeasured {
  const steps = multiples.flatMap(multiple => {
    const offered = Math.round(capacity * multiple)
    if (multiple <= 1)
      return ['bare', 'protected', 'toobusy-js'].map(arm => step(arm, multiple, { good: offered, okMs: 8 * multiple }))
    const late = multiple === 2 ? 195 : 20
    return [
      step('bare', multiple, { late, failed: offered - late, okMs: 2400 }),
      step('protected', multiple, { good: 191, shed: offered - 191, okMs: 60, shedMs: 3 }),
      step('toobusy-js', multiple, {
        good: Math.round(60 / multiple),
        late: 40,
        shed: Math.round(offered * 0.6),
        failed: offered - Math.round(offered * 0.6) - 40 - Math.round(60 / multiple),
        okMs: 900,
        shedMs: 1100,
      }),
    ]
  })
  return {
    setup: {
      request: 'GET /, evenly spaced arrivals, open loop',
      sloMs: 1000,
      timeoutMs: 3000,
      durationMs: 5000,
      rounds: 1,
      spacing: 'even',
      connections: 'keep-alive, 200 to 1,500 standing connections by rate, more when they are all busy',
      window,
    },
    capacity: { rate: 195, before: 195, after: 194, drift: -1 / 195, users: 4, latencyP50Ms: 20.5 },
    spinPerMs: { before: 923_000, after: 923_500 },
    steps,
    rows: rowsOf(
      steps,
      arms.map(({ name }) => name),
      { rate: capacity },
    ),
    ...more,
  }
}
