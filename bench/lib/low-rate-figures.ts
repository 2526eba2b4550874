/** The figures of bench/low-rate.ts and the table in docs/fleet.md. Pure. */
import { formatRate } from '../../packages/lab/src/report/format.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { Conditions } from './conditions.ts'
import { madeBy, measuredOn, NOT_MEASURED } from './page-table.ts'

export const ARMS = ['bare', 'protected', 'limit', 'reports', 'agent', 'metrics'] as const
export type Arm = (typeof ARMS)[number]

export interface ArmCost {
  readonly arm: Arm
  /** CPU of a request, us, and of the process while nobody asks, ms a second: medians of the turns. */
  readonly requestUs: number
  readonly idleMsPerS: number
  /** Quartiles of {@link requestUs}. */
  readonly quartilesUs: readonly [number, number]
}

export interface LowRate extends Conditions {
  readonly rate: number
  readonly turns: number
  readonly arms: readonly ArmCost[]
}

const NAMES: Readonly<Record<Arm, string>> = {
  bare: 'bare',
  protected: 'with meltproof',
  limit: 'with a `limit` of 10,000',
  reports: 'with load reports',
  agent: 'with agent checks, five a second',
  metrics: 'with an admin port, and so with metrics',
}

export function lowRateTable(figures: LowRate | undefined): string {
  const columns = [madeBy('low-rate'), 'CPU of a request', 'more than bare', 'CPU at rest']
  if (figures === undefined) return markdownTable(columns, [columns.map(() => NOT_MEASURED)])
  const bare = figures.arms.find(({ arm }) => arm === 'bare')!.requestUs
  const lines = figures.arms.map(({ arm, requestUs, quartilesUs: [low, high], idleMsPerS }) => [
    NAMES[arm],
    `${Math.round(requestUs)} us (${Math.round(low)} to ${Math.round(high)})`,
    arm === 'bare' ? '' : `${Math.round(requestUs - bare)} us`,
    `${idleMsPerS.toFixed(1)} ms/s`,
  ])
  return markdownTable(columns, [...lines, [`${formatRate(figures.rate)}/s; ${measuredOn(figures)}`]])
}
