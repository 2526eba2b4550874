/** Default plans for tests. */
import type { LoadPlan, Phase } from '../../src/load/plan.ts'

export const constant = (rate: number, durationMs: number): Extract<LoadPlan['arrival'], { kind: 'open' }> => {
  const phases: Phase[] = [{ kind: 'constant', rate, durationMs }]
  return { kind: 'open', schedule: { phases, spacing: 'even', seed: 1 } }
}

export const planFor = (url: string, plan: Partial<LoadPlan> = {}): LoadPlan => ({
  url,
  method: 'GET',
  headers: {},
  body: undefined,
  arrival: constant(200, 500),
  connections: { kind: 'keep-alive', count: 10, max: 500 },
  timeoutMs: 2000,
  connectTimeoutMs: 1000,
  sloMs: 1000,
  threads: 1,
  ...plan,
})
