/** Builds tables from rows by column. Pure. */
import type { Table } from './result.ts'

/** Each column has a title, and a function that returns its text for a row. */
export type Columns<Row> = readonly (readonly [title: string, of: (row: Row) => string])[]

/** One table row for each of `rows`, in the colour of its arm. */
export function tableOf<Row extends { readonly arm: string }>(
  words: Pick<Table, 'title' | 'note'>,
  rows: readonly Row[],
  columns: Columns<Row>,
): Table {
  return {
    ...words,
    columns: columns.map(([title]) => title),
    rows: rows.map(row => ({ arm: row.arm, cells: columns.map(([, of]) => of(row)) })),
  }
}
