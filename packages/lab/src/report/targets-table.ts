/** The figures of each target of an attack that has several. Pure. */
import type { LoadOutcome, LoadPlan, LoadTarget, TargetOutcome } from '../load/plan.ts'
import { targetsOf } from '../load/prepare.ts'
import { shortened } from '../words.ts'
import { formatCount, formatMs, formatPercent } from './format.ts'

export const TARGET_COLUMNS: readonly string[] = ['scheduled', 'goodput', 'p50', 'p99', 'errors', 'target']
const WIDEST = 80

/** Empty with one target, or with too many for a row each. */
export function targetsTable(plan: LoadPlan, outcome: LoadOutcome): string {
  const rows = targetRows(plan, outcome)
  if (rows.length === 0) return ''
  const lines = [TARGET_COLUMNS, ...rows]
  const widths = TARGET_COLUMNS.map((_, at) => Math.max(...lines.map(line => line[at]!.length)))
  const text = lines.map(line => {
    const figures = line.slice(0, -1).map((cell, at) => cell.padStart(widths[at]!))
    return `${shortened(`${figures.join('  ')}  ${line.at(-1)}`, WIDEST)}\n`
  })
  return text.join('')
}

export function targetRows(plan: LoadPlan, { targets }: LoadOutcome): string[][] {
  const requests = targetsOf(plan)
  const stepOf = (at: number): string =>
    plan.journey === undefined ? '' : `${at + 1} ${plan.journey.steps[at]!.name}: `
  const oneOrigin = new Set(requests.map(({ url }) => originOf(url))).size === 1
  return targets.map((outcome, at) => [...cells(outcome), `${stepOf(at)}${nameOf(requests[at]!, oneOrigin)}`])
}

function cells({ scheduled, good, answered, okLatency }: TargetOutcome): string[] {
  const ms = (percent: number): string => formatMs(okLatency.percentile(percent))
  const errors = scheduled - okLatency.count - (answered['503'] ?? 0)
  return [formatCount(scheduled), formatPercent(good / scheduled), ms(50), ms(99), formatPercent(errors / scheduled)]
}

const originOf = (url: string): string => /^[a-z]+:\/\/[^/?#]*/i.exec(url)?.[0] ?? url

const nameOf = ({ method, url }: LoadTarget, short: boolean): string =>
  `${method} ${short ? url.slice(originOf(url).length) || '/' : url}`
