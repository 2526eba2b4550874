/** Named rows of text that fit a terminal. Pure. */
import { packed, wrapWords } from './wrap-words.ts'

const COLUMNS = 80

/** A text is broken at spaces, a list between its items. */
export type Row = readonly [name: string, content: string | readonly string[]]

export function rowsText(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2
  const lines = rows.flatMap(([name, content]) => {
    const room = COLUMNS - width
    const texts = typeof content === 'string' ? wrapWords(content, room) : packed(content, '  ', room)
    return texts.map((text, at) => (at === 0 ? name : '').padEnd(width) + text)
  })
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}
