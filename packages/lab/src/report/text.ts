/** What the terminal shows at the end of a scenario. Pure. */
import type { ScenarioResult, Table, Verdict } from './result.ts'

const signs: Readonly<Record<Verdict['verdict'], string>> = { pass: 'pass', fail: 'FAIL', 'not judged': '  - ' }

export function scenarioText(result: ScenarioResult): string {
  const parts = [result.finding, ...result.tables.map(tableText)]
  for (const { title, text } of result.printouts ?? []) parts.push(`${title}\n${indented(text)}`)
  if (result.verdicts.length > 0) parts.push(['Expected:', ...result.verdicts.map(verdictLine)].join('\n'))
  if (result.incomplete) parts.push('INCOMPLETE: the run was cut short.')
  if (!result.certified) {
    parts.push(['Not certified:', ...shortened(result.why).map(reason => `  - ${reason}`)].join('\n'))
  }
  return parts.join('\n\n')
}

function verdictLine({ name, verdict, measured }: Verdict): string {
  return `  ${signs[verdict]}  ${name}\n          ${verdict === 'not judged' ? 'not judged: ' : ''}${measured}`
}

export function tableText({ title, note, columns, rows }: Table): string {
  const all = [columns, ...rows.map(row => row.cells)]
  const widths = columns.map((_, at) => Math.max(...all.map(cells => (cells[at] ?? '').length)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (at === 0 || widths[at]! > wordy ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
      .join('  ')
      .trimEnd()
  const rule = '─'.repeat(
    Math.min(
      longestRule,
      widths.reduce((sum, width) => sum + width + 2, -2),
    ),
  )
  return [title, ...(note === undefined ? [] : [note]), line(columns), rule, ...rows.map(row => line(row.cells))].join(
    '\n',
  )
}

const longestRule = 160

/** Cells longer than this hold sentences, not figures, and begin on the left. */
export const wordy = 40

function indented(text: string): string {
  return text.trimEnd().replace(/^/gm, '  ')
}

/** A terminal has room for the gist; the report has every word. */
function shortened(why: readonly string[]): string[] {
  const most = 6
  const widest = 180
  const gist = why.slice(0, most).map(reason => (reason.length > widest ? `${reason.slice(0, widest - 1)}…` : reason))
  return why.length > most ? [...gist, `and ${why.length - most} more, in the report`] : gist
}
