/** A table as text of limited width. Pure. */
import type { Table } from './result.ts'
import { wrapWords } from './wrap-words.ts'

/** Longer cells contain sentences, not figures: they are left-aligned and wrapped. */
export const wordy = 40

const GAP = '  '

/** Headings are wrapped. Columns are ordered by importance: the last line names those without room. */
export function tableText({ title, note, columns, rows }: Table, width: number): string {
  const cells = rows.map(row => columns.map((_, at) => row.cells[at] ?? ''))
  const wide = columns.map((_, at) => Math.max(0, ...cells.map(row => row[at]!.length)))
  const widths = columns.map((column, at) => {
    const words = Math.max(0, ...column.split(' ').map(word => word.length))
    return wide[at]! > wordy ? wordy : Math.max(wide[at]!, words)
  })
  const shown = fitting(widths, width)
  const room = width - shown.reduce((sum, at) => sum + widths[at]! + GAP.length, -GAP.length)
  // A column of sentences gets the remaining width.
  const sentences = shown.find(at => wide[at]! > wordy)
  if (sentences !== undefined) widths[sentences] = Math.min(wide[sentences]!, widths[sentences]! + room)
  const block = (row: readonly string[]): string[] => {
    const wrapped = shown.map(at => wrapWords(row[at]!, widths[at]!))
    const tall = Math.max(...wrapped.map(lines => lines.length))
    return Array.from({ length: tall }, (_, line) =>
      shown
        .map((at, n) => {
          const text = wrapped[n]![line] ?? ''
          return at === 0 || wide[at]! > wordy ? text.padEnd(widths[at]!) : text.padStart(widths[at]!)
        })
        .join(GAP)
        .trimEnd(),
    )
  }
  const [head, body] = [block(columns), cells.flatMap(block)]
  const rule = '─'.repeat(Math.max(...[...head, ...body].map(line => line.length)))
  const left = columns.filter((column, at) => !shown.includes(at) && column !== '')
  return [
    title,
    ...(note === undefined ? [] : wrapWords(note, width)),
    ...head,
    rule,
    ...body,
    ...(left.length === 0 ? [] : wrapWords(`(in the report: ${left.join(', ')})`, width)),
  ].join('\n')
}

/** The first columns that fit side by side, at least one. */
function fitting(widths: readonly number[], width: number): readonly number[] {
  let used = 0
  const shown: number[] = []
  for (const [at, each] of widths.entries()) {
    used += each + (at === 0 ? 0 : GAP.length)
    if (used > width && at > 0) break
    shown.push(at)
  }
  return shown
}
