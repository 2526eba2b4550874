/** The report of an attack in steps: a row for each rate, and the result of each expectation at each. Pure. */
import { formatDuration } from '../durations.ts'
import { totalOf } from '../load/added.ts'
import { loadSeconds, planMs } from '../load/schedule.ts'
import { certifiedRows, type Row, rowsText } from './attack-report.ts'
import { asked, type AttackRun, failures, judgedText, offered, sign } from './attack-words.ts'
import { formatMs, formatPercent, formatRate } from './format.ts'

export const STEP_COLUMNS = ['rate', 'answered', 'goodput', 'of due', 'p50', 'p99', 'max', 'shed', 'errors'] as const

export function stepsReport(runs: readonly AttackRun[], steps: number, colour: boolean): string {
  const [first] = runs
  if (first === undefined) return 'No step was begun.\n'
  const { plan } = first
  const lines: (readonly string[])[] = [STEP_COLUMNS, ...runs.map(stepCells)]
  const widths = STEP_COLUMNS.map((_, at) => Math.max(...lines.map(cells => cells[at]!.length)))
  const table = lines.map(cells => cells.map((cell, at) => cell.padStart(widths[at]!)).join('  '))
  const each = `each rate for ${formatDuration(planMs(plan))}, goodput within ${formatDuration(plan.sloMs)}`
  const notes = [...doubts(runs, steps), ...expectations(runs, colour)]
  return `${asked(plan)}\n${each}\n\n${table.join('\n')}\n\n${rowsText(notes)}`
}

export function stepCells({ plan, outcome }: AttackRun): string[] {
  const { okLatency, shedLatency, scheduled } = outcome
  const perSecond = (count: number): string => `${formatRate(count / loadSeconds(plan, outcome))}/s`
  const ofScheduled = (count: number): string => formatPercent(count / scheduled)
  return [
    offered(plan),
    perSecond(totalOf(outcome.answered)),
    perSecond(outcome.good),
    ofScheduled(outcome.good),
    formatMs(okLatency.percentile(50)),
    formatMs(okLatency.percentile(99)),
    formatMs(okLatency.max),
    ofScheduled(shedLatency.count),
    ofScheduled(scheduled - okLatency.count - shedLatency.count),
  ]
}

function doubts(runs: readonly AttackRun[], steps: number): Row[] {
  const rows: Row[] = []
  for (const { plan, outcome } of runs) {
    for (const failure of failures(outcome.failed)) rows.push(['Failed', `at ${offered(plan)}, ${failure}`])
  }
  const last = runs.at(-1)!
  if (last.outcome.incomplete) {
    rows.push(['Incomplete', `stopped at ${offered(last.plan)}, step ${runs.length} of ${steps}`])
  }
  const doubtful = runs.filter(({ outcome }) => !outcome.certified)
  if (doubtful.length === 0) rows.push(['Certified', 'yes, every step'])
  for (const { plan, outcome } of doubtful) rows.push(...certifiedRows(outcome, ` at ${offered(plan)}`))
  return rows
}

function expectations(runs: readonly AttackRun[], colour: boolean): Row[] {
  const texts = runs[0]!.judged.flatMap((_, at) =>
    runs.map(({ plan, judged }) => `${sign(judged[at]!.met, colour)} at ${offered(plan)}, ${judgedText(judged[at]!)}`),
  )
  return texts.map((text, at): Row => [at === 0 ? 'Expected' : '', text])
}
