/** A made-up load run with consistent totals, and its document. */
import { randomUUID } from 'node:crypto'
import { Histogram } from '../../src/load/histogram.ts'
import type { LoadOutcome, LoadPlan, LoadSecond } from '../../src/load/plan.ts'
import { type AttackDocument, attackDocument } from '../../src/results/attack-document.ts'
import type { Origin } from '../../src/results/origin.ts'
import { constant, planFor } from '../load/plan-for.ts'

export const machine = {
  node: 'v24.11.0',
  platform: 'Linux 6.1.0 x64',
  cpu: 'a processor',
  cores: 2,
  memoryBytes: 8e9,
}
/** Each use has its own run id. */
export const origin = {
  labVersion: '0.1.0',
  startedAt: '2026-11-23T10:00:00.000Z',
  machines: [machine],
  get runs() {
    return [randomUUID()]
  },
}

export interface Made {
  readonly seconds?: number
  /** Latencies of the 200 answers in each second. */
  readonly okMs?: readonly number[]
  readonly shed?: number
  readonly failed?: number
  readonly unsent?: number
  readonly plan?: Partial<LoadPlan>
  readonly outcome?: Partial<LoadOutcome>
  readonly origin?: Partial<Origin>
}

const of = (values: readonly number[]): Histogram => {
  const histogram = new Histogram()
  for (const value of values) histogram.record(value)
  return histogram
}

export function madeOutcome({
  seconds = 4,
  okMs = [1, 2, 3, 40],
  shed = 0,
  failed = 0,
  unsent = 0,
  outcome = {},
}: Made): LoadOutcome {
  const second = (at: number): LoadSecond => ({
    second: at,
    scheduled: okMs.length + shed + failed + unsent,
    sent: okMs.length + shed + failed,
    answered: { ...(okMs.length > 0 ? { 200: okMs.length } : {}), ...(shed > 0 ? { 503: shed } : {}) },
    failed: failed > 0 ? { reset: failed } : {},
    good: okMs.filter(ms => ms <= 1000).length,
    okLatency: of(okMs),
    shedLatency: of(Array<number>(shed).fill(0.5)),
  })
  const series = Array.from({ length: seconds }, (_, at) => second(at))
  const sum = (read: (second: LoadSecond) => number): number => series.reduce((total, each) => total + read(each), 0)
  const whole = second(0)
  const times = (counts: Readonly<Record<string, number>>): Record<string, number> =>
    Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count * seconds]))
  const okLatency = Histogram.merged(series.map(each => each.okLatency))
  const shedLatency = Histogram.merged(series.map(each => each.shedLatency))
  const failedAfter = of(Array<number>(failed * seconds).fill(7))
  return {
    scheduled: sum(each => each.scheduled),
    sent: sum(each => each.sent),
    unsent: sum(each => each.scheduled - each.sent),
    answered: times(whole.answered),
    failed: times(whole.failed as Record<string, number>),
    good: sum(each => each.good),
    elapsedMs: seconds * 1000 + 40,
    bytesRead: 1000,
    bodyBytes: 200,
    bodyBytesSent: 0,
    targets: [],
    okLatency,
    shedLatency,
    otherLatency: new Histogram(),
    failedAfter,
    clean: { ok: okLatency, shed: shedLatency, other: new Histogram(), failed: failedAfter },
    sendLag: of([0.1, 0.2]),
    seconds: series,
    cpuPerRequestUs: 6,
    acknowledged: [],
    certified: true,
    why: [],
    certificate: { code: 'certified', doubts: [], intervals: {} },
    incomplete: false,
    ...outcome,
  }
}

export function madePlan({ seconds = 4, okMs = [1, 2, 3, 40], plan = {} }: Made): LoadPlan {
  return planFor('http://127.0.0.1:3000/', { arrival: constant(okMs.length, seconds * 1000), ...plan })
}

export function madeAttack(made: Made = {}): AttackDocument {
  return attackDocument(madePlan(made), madeOutcome(made), { ...origin, ...made.origin })
}
