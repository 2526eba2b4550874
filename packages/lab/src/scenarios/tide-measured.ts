/** What the tide experiment measures. Plain data. */

export interface TideStep {
  readonly arm: string
  readonly phones: number
  readonly durationMs: number
  /** Positions that were due, acknowledged (2xx), and acknowledged within a second of being due. */
  readonly due: number
  readonly acknowledged: number
  readonly inTime: number
  /** 503: the phone keeps the position and sends it again. */
  readonly shed: number
  /** Neither: other answers, connections that broke, no answer in time. */
  readonly failed: number
  /** Of the acknowledged ones, ms; null when there were none. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** CPU of the service's process, in cores. */
  readonly cores: number
  readonly peakRssBytes: number
  /** Acknowledged, but not in the table afterwards. */
  readonly missing: number
  readonly stored: number
}

/** The service killed, then the database crashed, both under load. */
export interface TideCrash {
  readonly phones: number
  readonly due: number
  readonly acknowledged: number
  readonly missing: number
  readonly stored: number
}

export interface TideMeasured {
  readonly steps: TideStep[]
  crash?: TideCrash
}

/** A process carries the phones when it stores this share of their positions in time. */
export const CARRIED = 0.99

export const carried = (step: TideStep): boolean => step.inTime >= CARRIED * step.due

/** Positions stored and acknowledged within a second, per second. */
export const rateOf = (step: TideStep): number => (step.inTime * 1000) / step.durationMs

/** Most phones that were carried; 0 when none were. */
export const mostCarried = (steps: readonly TideStep[]): number =>
  steps.filter(carried).reduce((most, { phones }) => Math.max(most, phones), 0)
