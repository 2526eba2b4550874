/** The measurements of the tide experiment. Plain data. */

export interface TideStep {
  readonly arm: string
  readonly phones: number
  readonly durationMs: number
  /** Positions that were due, acknowledged (2xx), and acknowledged within a second of being due. */
  readonly due: number
  readonly acknowledged: number
  readonly inTime: number
  /** Answers 503, after which a real phone sends the position again. */
  readonly shed: number
  /** All others: other answers, broken connections, no answer in time. */
  readonly failed: number
  /** Latency of acknowledged positions, ms; null without any. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** CPU of the service, in cores. */
  readonly cores: number
  readonly peakRssBytes: number
  /** Acknowledged positions that were not in the table afterwards. */
  readonly missing: number
  readonly stored: number
}

/** First the service is killed, then the database crashes, both under load. */
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

/** A process serves the phones if it stores this share of their positions in time. */
export const CARRIED = 0.99

export const carried = (step: TideStep): boolean => step.inTime >= CARRIED * step.due

/** Positions per second that were stored and acknowledged within a second. */
export const rateOf = (step: TideStep): number => (step.inTime * 1000) / step.durationMs

/** The largest number of phones that was served; 0 if none. */
export const mostCarried = (steps: readonly TideStep[]): number =>
  steps.filter(carried).reduce((most, { phones }) => Math.max(most, phones), 0)
