/** The figures of bench/cpu-quota.ts, its bars, and the table of docs/fleet.md. Pure. */
import { sumOf } from '../../packages/lab/src/load/added.ts'
import { whyNoVerdict } from '../../packages/lab/src/melt/no-verdict.ts'
import { formatMs, formatPercent, formatRate } from '../../packages/lab/src/report/format.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import { median } from '../../packages/lab/src/report/number-stats.ts'
import type { Conditions } from './conditions.ts'
import { madeBy, measuredOn, NOT_MEASURED } from './page-table.ts'

export const ARMS = ['bare', 'protected', 'unlimited', 'told', 'measured'] as const
export type Arm = (typeof ARMS)[number]
/** The arms that have to meet the bars. */
const JUDGED: readonly Arm[] = ['protected', 'told', 'measured']
/** Minimum goodput, as a share of the goodput of the best arm. */
const LEAST_KEPT = 0.97
const MOST_P99_MS = 500

export interface QuotaRun {
  readonly arm: Arm
  /** As a multiple of the capacity. */
  readonly load: number
  readonly seconds: number
  readonly due: number
  /** Answered within a second. */
  readonly good: number
  readonly late: number
  readonly shed: number
  readonly failed: number
  /** Latency of answers other than sheds; null without any. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** CPU that the process used, as a share of its quota. */
  readonly usedShare: number
  readonly throttledMsPerS: number
}

export interface ShareFigures {
  readonly share: number
  /** Capacity of the bare service before and after the runs, requests per second. */
  readonly capacity: number
  readonly searches: readonly number[]
  /** False if the rate still changed when the warm-up ended; absent in older results. */
  readonly isSteady?: boolean
  readonly after: number
  readonly runs: readonly QuotaRun[]
}

export interface QuotaFigures extends Conditions {
  readonly periodMs: number
  readonly shares: readonly ShareFigures[]
  readonly missed: readonly string[]
}

/** All rounds of an arm at a load: rates per second, and medians of the percentiles. */
export interface QuotaRow {
  readonly arm: Arm
  readonly load: number
  readonly offered: number
  readonly goodput: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** Shares of the requests that were due. */
  readonly late: number
  readonly shed: number
  readonly failed: number
}

export function rowsOf({ runs }: Pick<ShareFigures, 'runs'>): QuotaRow[] {
  const groups = Map.groupBy(runs, ({ arm, load }) => `${load} ${arm}`)
  return [...groups.values()].map(those => {
    const sum = (of: (run: QuotaRun) => number): number => sumOf(those, of)
    const due = sum(run => run.due)
    return {
      ...{ arm: those[0]!.arm, load: those[0]!.load },
      offered: due / sum(run => run.seconds),
      goodput: sum(run => run.good) / sum(run => run.seconds),
      p50Ms: medianOf(those.map(run => run.p50Ms)),
      p99Ms: medianOf(those.map(run => run.p99Ms)),
      late: sum(run => run.late) / due,
      shed: sum(run => run.shed) / due,
      failed: sum(run => run.failed) / due,
    }
  })
}

const medianOf = (values: readonly (number | null)[]): number | null => median(values.filter(value => value !== null))

/** Why the runs cannot be judged; undefined if the capacity is certain enough. */
export function whyUnsure(figures: ShareFigures): string | undefined {
  const { searches, isSteady, capacity, after } = figures
  return whyNoVerdict({
    searches,
    isSteady,
    over: [capacity, after],
    best: Math.max(...rowsOf(figures).map(row => row.goodput)),
  })
}

export function missedBars(shares: readonly ShareFigures[]): string[] {
  return shares.filter(share => whyUnsure(share) === undefined).flatMap(missedAt)
}

function missedAt(figures: ShareFigures): string[] {
  const rows = rowsOf(figures)
  return rows
    .filter(({ arm }) => JUDGED.includes(arm))
    .flatMap(row => {
      const { arm, load, goodput, p99Ms, late, shed } = row
      const beside = rows.filter(each => each.load === load)
      const best = Math.max(...beside.map(each => each.goodput))
      const bare = beside.find(each => each.arm === 'bare')
      const name = `${formatPercent(figures.share)} of a core at ${formatPercent(load)}, ${arm}`
      return [
        ...(goodput >= LEAST_KEPT * best
          ? []
          : [`${name}: ${formatPercent(goodput / best)} of the goodput of the best arm`]),
        ...(p99Ms !== null && p99Ms <= MOST_P99_MS ? [] : [`${name}: p99 ${formatMs(p99Ms)}`]),
        ...(late === 0 ? [] : [`${name}: ${formatPercent(late)} answered later than a second`]),
        ...(bare === undefined || load >= 1 || shed <= bare.late + bare.failed
          ? []
          : [
              `${name}: ${formatPercent(shed)} shed, of which bare answers all but ${formatPercent(bare.late + bare.failed)}`,
            ]),
      ]
    })
}

const NAMES: Readonly<Record<Arm, string>> = {
  bare: 'bare',
  protected: 'with meltproof',
  unlimited: 'with a `limit` of 10,000',
  told: 'with load reports and agent checks',
  measured: 'with load reports, agent checks and metrics',
}

export function quotaTable(figures: QuotaFigures | undefined): string {
  const columns = [madeBy('cpu-quota'), 'offered', 'answered within a second', 'p99', 'later or failed', 'shed']
  if (figures === undefined) return markdownTable(columns, [columns.map(() => NOT_MEASURED)])
  const lines = figures.shares.flatMap(share => {
    const unsure = whyUnsure(share)
    return rowsOf(share).map(({ arm, load, offered, goodput, p99Ms, late, failed, shed }) => [
      `${formatPercent(share.share)} of a core, ${NAMES[arm]}${unsure === undefined ? '' : ' (not judged)'}`,
      `${formatRate(offered)}/s (${formatPercent(load)})`,
      `${formatRate(goodput)}/s`,
      ...[formatMs(p99Ms), formatPercent(late + failed), formatPercent(shed)],
    ])
  })
  const capacities = figures.shares.map(
    ({ share, capacity, after }) =>
      `capacity with ${formatPercent(share)} of a core: ${formatRate(capacity)}/s before, ${formatRate(after)}/s after`,
  )
  const where = [...capacities, `slices of ${figures.periodMs} ms`, measuredOn(figures)].join('; ')
  return markdownTable(columns, [...lines, [where]])
}
