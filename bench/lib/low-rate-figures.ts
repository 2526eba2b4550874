/** The figures of bench/low-rate.ts and the table in docs/fleet.md. Pure. */
import { formatRate } from '../../packages/lab/src/report/format.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { Conditions } from './conditions.ts'
import { madeBy, measuredOn, NOT_MEASURED } from './page-table.ts'

export const ARMS = ['bare', 'protected', 'limit', 'reports', 'agent', 'metrics'] as const
export type Arm = (typeof ARMS)[number]

export interface ArmCost {
  readonly arm: Arm
  /** CPU time of the process in a turn divided by its requests, us: the median of the turns. */
  readonly requestUs: number
  /** CPU time that the process uses per second without requests, ms: the median of the turns of the others. */
  readonly idleMsPerS: number
  /** The quartiles of {@link requestUs} over the turns. */
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
  /** CPU of a request, without the CPU that the process uses at rest. */
  const ownUs = (us: number, { idleMsPerS }: ArmCost): number => us - (1000 * idleMsPerS) / figures.rate
  const costs = figures.arms.map(each => ({
    ...each,
    us: ownUs(each.requestUs, each),
    quartiles: each.quartilesUs.map(us => Math.round(ownUs(us, each))),
  }))
  const bare = costs.find(({ arm }) => arm === 'bare')!.us
  const lines = costs.map(({ arm, us, quartiles: [low, high], idleMsPerS }) => [
    NAMES[arm],
    `${Math.round(us)} us (${low} to ${high})`,
    arm === 'bare' ? '' : `${Math.round(us - bare)} us`,
    `${idleMsPerS.toFixed(1)} ms/s`,
  ])
  return markdownTable(columns, [...lines, [`${formatRate(figures.rate)}/s; ${measuredOn(figures)}`]])
}
