/** Load over HTTP/1.1, made by meltlab's engine. */
import type { Ask } from '../runner/definition.ts'
import { type LoadOutcome, type LoadPlan, offer, probe, runLoad, searchCapacity, type Target } from '../runner/lab.ts'
import type { Load, LoadMaker } from './load-maker.ts'

const SLO_MS = 1000
const TIMEOUT_MS = 5000
const TIMES = { warmUpMs: 1500, probeMs: 700, confirmMs: 4000 }

export const targetOf = (origin: string, ask: Ask): Target => ({
  url: new URL(ask.path, origin).href,
  method: ask.method ?? 'GET',
  headers: ask.headers ?? {},
  body: ask.body,
  timeoutMs: TIMEOUT_MS,
  sloMs: SLO_MS,
  fresh: false,
  connections: undefined,
  spacing: 'poisson',
})

export function httpLoad(origin: string, ask: Ask, signal: AbortSignal): LoadMaker {
  const target = targetOf(origin, ask)
  const run = (plan: LoadPlan): Promise<LoadOutcome> => runLoad(plan, { signal })
  return {
    capacity: () => searchCapacity({ target, times: TIMES, run, onProbe: () => {} }),
    busy: async (users, durationMs) => loadOf(await run(probe(target, users, durationMs)), durationMs).goodput,
    offer: async (rate, durationMs, spacing = 'poisson') =>
      loadOf(await run(offer({ ...target, spacing }, rate, durationMs)), durationMs),
  }
}

/** Converts an outcome of the engine to the terms of the checks. Pure. */
export function loadOf(outcome: LoadOutcome, durationMs: number): Load {
  const counted = outcome.seconds.filter(each => each.second >= 1 && (each.second + 1) * 1000 <= durationMs)
  const other = Object.entries(outcome.answered).filter(([status]) => !/^[23]|^503$/.test(status))
  return {
    scheduled: outcome.scheduled,
    unsent: outcome.unsent,
    good: outcome.good,
    goodput: counted.reduce((sum, each) => sum + each.good, 0) / Math.max(1, counted.length),
    shed: outcome.answered['503'] ?? 0,
    other: Object.fromEntries(other),
    failed: outcome.failed as Readonly<Record<string, number>>,
    okP50Ms: finite(outcome.okLatency.percentile(50)),
    okP99Ms: finite(outcome.okLatency.percentile(99)),
    doubts: outcome.why,
  }
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
