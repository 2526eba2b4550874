/** Tables made of rows, a column at a time. Pure. */
import type { Table } from './result.ts'

/** Each has a title and says how a row reads there. */
export type Columns<Row> = readonly (readonly [title: string, of: (row: Row) => string])[]

/** A row of the table for each of `rows`, in the colour of its arm. */
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
