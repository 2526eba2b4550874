/** The table at the end of a run, as text. Pure. */
import { capacitySentence, finding } from './finding.ts'
import {
  formatChosen,
  formatCount,
  formatMegabytes,
  formatMs,
  formatMultiple,
  formatPercent,
  formatRate,
} from './format.ts'
import type { MeltResult, Row } from './result.ts'

interface Column {
  readonly title: string
  readonly unit: string
  readonly of: (row: Row) => string
}

const columns: readonly Column[] = [
  { title: 'load', unit: '', of: row => formatMultiple(row.multiple) },
  { title: 'offered', unit: '/s', of: row => formatRate(row.offered) },
  { title: 'goodput', unit: '/s', of: row => formatRate(row.goodput) },
  { title: 'of', unit: 'capacity', of: row => formatPercent(row.ofCapacity) },
  { title: 'admitted', unit: 'p50', of: row => formatMs(row.admittedMs.p50) },
  { title: 'admitted', unit: 'p99', of: row => formatMs(row.admittedMs.p99) },
  { title: 'shed', unit: '/s', of: row => formatRate(row.shed) },
  { title: 'shed', unit: 'p99', of: row => formatMs(row.shedMs.p99) },
  { title: 'errors', unit: '', of: row => formatCount(row.errors) },
  { title: 'rss', unit: 'peak', of: row => formatMegabytes(row.peakRssBytes) + (row.died ? ' died' : '') },
]

export function tableOf(rows: readonly Row[]): string {
  const arms = [...new Set(rows.map(row => row.arm))]
  const head = [
    ['', ...columns.map(column => column.title)],
    ['', ...columns.map(column => column.unit)],
  ]
  const body = arms.flatMap(arm =>
    rows.filter(row => row.arm === arm).map((row, i) => [i === 0 ? arm : '', ...columns.map(column => column.of(row))]),
  )
  const widths = head[0]!.map((_, at) => Math.max(...[...head, ...body].map(cells => cells[at]!.length)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
      .join('  ')
      .trimEnd()
  const rule = '─'.repeat(widths.reduce((sum, width) => sum + width + 2, -2))
  const lines = [...head.map(line), rule]
  for (const [at, cells] of body.entries()) {
    if (at > 0 && cells[0] !== '') lines.push('')
    lines.push(line(cells))
  }
  return lines.join('\n')
}

/** All that the terminal shows at the end, but the path of the report. */
export function terminalSummary(result: MeltResult): string {
  const { window, sloMs } = result.conditions
  const parts: string[] = []
  if (result.rows.length > 0) parts.push(tableOf(result.rows))
  parts.push(finding(result))
  parts.push(
    [
      capacitySentence(result),
      `Goodput: 2xx/3xx within ${formatChosen(sloMs)}, counted from the scheduled send time, of the requests scheduled ` +
        `in seconds ${window.from} to ${window.to} after a cold start. Errors: connection errors and timeouts of the whole step.`,
    ].join('\n'),
  )
  if (result.incomplete) parts.push('INCOMPLETE: the run was cut short.')
  if (!result.certified)
    parts.push(['Not certified:', ...shortened(result.why).map(reason => `  - ${reason}`)].join('\n'))
  return parts.join('\n\n')
}

/** A terminal has room for the gist; the report has every word. */
function shortened(why: readonly string[]): string[] {
  const most = 6
  const widest = 180
  const gist = why.slice(0, most).map(reason => (reason.length > widest ? `${reason.slice(0, widest - 1)}…` : reason))
  return why.length > most ? [...gist, `and ${why.length - most} more, in the report`] : gist
}
