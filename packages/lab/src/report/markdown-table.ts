/** A table in Markdown. Pure. */

/** A column with a longer cell contains words, not figures. */
const LONGEST_FIGURE = 24

/** Missing cells are empty. The first column contains words; other columns with only short cells contain figures. */
export function markdownTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const longest = columns.map((_, at) => Math.max(0, ...rows.map(row => (row[at] ?? '').length)))
  const rule = longest.map((length, at) => (at === 0 || length > LONGEST_FIGURE ? '---' : '---:'))
  const escaped = (cell: string): string => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')
  const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`
  return [line(columns), line(rule), ...rows.map(row => line(columns.map((_, at) => row[at] ?? '')))].join('\n')
}
