/** A table as text of limited width. Pure. */
import { sumOf } from '../load/added.ts'
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
  const ends = widths.map((_, at) => sumOf(widths.slice(0, at + 1), each => each) + at * GAP.length)
  const shown = Math.max(1, ends.filter(each => each <= width).length)
  // A column of sentences gets the remaining width.
  const sentences = wide.slice(0, shown).findIndex(each => each > wordy)
  if (sentences !== -1) widths[sentences] = Math.min(wide[sentences]!, widths[sentences]! + width - ends[shown - 1]!)
  const block = (row: readonly string[]): string[] => {
    const wrapped = row.slice(0, shown).map((cell, at) => wrapWords(cell, widths[at]!))
    const tall = Math.max(...wrapped.map(lines => lines.length))
    return Array.from({ length: tall }, (_, line) =>
      wrapped
        .map((lines, at) => {
          const text = lines[line] ?? ''
          return at === 0 || wide[at]! > wordy ? text.padEnd(widths[at]!) : text.padStart(widths[at]!)
        })
        .join(GAP)
        .trimEnd(),
    )
  }
  const [head, body] = [block(columns), cells.flatMap(block)]
  const rule = '─'.repeat(Math.max(...[...head, ...body].map(line => line.length)))
  const left = columns.slice(shown).filter(column => column !== '')
  return [
    title,
    ...(note === undefined ? [] : wrapWords(note, width)),
    ...head,
    rule,
    ...body,
    ...(left.length === 0 ? [] : wrapWords(`(in the report: ${left.join(', ')})`, width)),
  ].join('\n')
}
