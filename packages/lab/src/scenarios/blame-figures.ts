/** Compares a latency alert with verdicts over the same operations. Pure. */

/** The injected causes; `nothing` is the healthy service. */
export const CAUSES = ['nothing', 'loop', 'dependency', 'network', 'self'] as const
export type Cause = (typeof CAUSES)[number]

export const VERDICTS = ['loop', 'dependency', 'network', 'self'] as const
export type Verdict = (typeof VERDICTS)[number]

/** One call, with or without a stall of the loop: the dependency's time, the recorded estimate, the wall time. */
export interface Estimate {
  /** True if the dependency reports its time in Server-Timing. */
  readonly claims: boolean
  readonly tookMs: number
  readonly estimateMs: number
  readonly wallMs: number
}

/** Mean absolute error of the estimates, of the wall times, and the worst error; undefined without estimates. */
export function errorsOf(estimates: readonly Estimate[]): { mean: number; wall: number; worst: number } | undefined {
  if (estimates.length === 0) return undefined
  const off = estimates.map(({ estimateMs, tookMs }) => Math.abs(estimateMs - tookMs))
  const wall = estimates.map(({ wallMs, tookMs }) => Math.abs(wallMs - tookMs))
  const mean = (values: readonly number[]): number => values.reduce((sum, ms) => sum + ms, 0) / values.length
  return { mean: mean(off), wall: mean(wall), worst: Math.max(...off) }
}

export interface Operation {
  readonly cause: Cause
  /** The latency that the client observed, ms. */
  readonly latencyMs: number
  readonly verdict: Verdict
}

/** The naive alert fires while the latency is above this, ms. Published: 250 ms for an operation of 100 ms. */
export const ALERT_ABOVE_MS = 250

export function meanLatency(operations: readonly Operation[]): number {
  return operations.reduce((sum, { latencyMs }) => sum + latencyMs, 0) / operations.length
}

export function naiveAlertFires(operations: readonly Operation[]): boolean {
  return operations.length > 0 && meanLatency(operations) > ALERT_ABOVE_MS
}

export function verdictCounts(operations: readonly Operation[]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = { loop: 0, dependency: 0, network: 0, self: 0 }
  for (const { verdict } of operations) counts[verdict]++
  return counts
}

/** Alerts that fired at the end of a phase in which every operation had this cause. */
export interface Fired {
  readonly cause: Cause
  readonly firing: readonly string[]
}

export interface BlameMeasured {
  readonly operations: Operation[]
  readonly alerts: Fired[]
  /** Why the shipped alerts were not tested; null if they were. */
  alertsMissing: string | null
  readonly estimates: Estimate[]
}

const LOOP_ALERT = 'MeltproofLoopBlocked'
/** There is no alert for a service's own work. */
const ALERTS: Partial<Record<Cause, string>> = {
  loop: LOOP_ALERT,
  dependency: 'MeltproofDependencySlow',
  network: 'MeltproofNetworkSlow',
}

export const hasAlert = (cause: Cause): boolean => ALERTS[cause] !== undefined

/** True if only the cause's own alert fires. `self` has none, but blocks the loop, whose alert may fire. */
export function firesRightly({ cause, firing }: Fired): boolean {
  const expected = ALERTS[cause]
  if (expected !== undefined) return firing.length === 1 && firing[0] === expected
  return firing.every(name => cause === 'self' && name === LOOP_ALERT)
}
