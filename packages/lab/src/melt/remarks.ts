/** Why a point lies above the ideal: a reader who sees that, and is told nothing, believes nothing else. Pure. */
import { formatMultiple, formatRate } from '../report/format.ts'
import type { Remark } from '../report/result.ts'
import type { Capacity, Row, Window } from './measured.ts'

type Point = Pick<Row, 'arm' | 'multiple' | 'offered' | 'goodput'>

/** What is drawn of a row, and the most that it can be at a load. */
export interface Drawn<R extends Point> {
  readonly value: (row: R) => number
  readonly ideal: (multiple: number) => number
  /** What else the ideal goes by above the capacity, such as the cost of a shed. */
  readonly goesBy?: string
  /** Seconds that the figures of a row are of. */
  readonly lengthS: (row: R) => number
  /** The capacity that the loads are multiples of, and how it was found. */
  readonly capacity: number
  readonly found: string
}

export const lengthOf = ({ from, to }: Window): number => Math.max(1, to - from)

/** How melt finds it. */
export function foundInWords({ before, after, users }: Capacity): string {
  const rates = [`${formatRate(before)}/s before`, ...(after === null ? [] : [`${formatRate(after)}/s after`])]
  return `${rates.join(' and ')} the run in a closed loop of ${users === 1 ? '1 user' : `${users} users`}`
}

/** A request more or less in the window is no difference. */
export function remarks<R extends Point>(rows: readonly R[], drawn: Drawn<R>): readonly Remark[] {
  const { value, ideal, lengthS } = drawn
  const above = rows.filter(row => value(row) * (1 - 1 / lengthS(row) / row.goodput) > ideal(row.multiple))
  return [...Map.groupBy(above, row => row.multiple)].map(([multiple, those]) => {
    const highest = those.reduce((a, b) => (value(b) > value(a) ? b : a))
    const names = those.map(row => row.arm).join(', ')
    const most = `${(100 * (value(highest) / ideal(multiple) - 1)).toFixed(1)} %`
    return {
      at: [multiple, value(highest)],
      words: `${names} at ${formatMultiple(multiple)}, ${most} above the ideal: ${why(highest, drawn)}`,
    }
  })
}

function why({ multiple, offered }: Point, { capacity, found, goesBy }: Drawn<never>): string {
  const meant = multiple * capacity
  if (multiple < 1 && offered > meant) {
    return `by chance more requests were due (${formatRate(offered)}/s) than ${formatMultiple(multiple)} of the capacity (${formatRate(meant)}/s).`
  }
  const by = `the capacity, ${found}${multiple > 1 && goesBy !== undefined ? `, and ${goesBy}` : ''}`
  return `the ideal goes by measurements too (${by}); this step shows that the app can do more.`
}
