/** Why a point lies above the ideal: a reader who sees that, and is told nothing, believes nothing else. Pure. */
import { formatMultiple, formatRate } from '../report/format.ts'
import type { Remark } from '../report/result.ts'
import { idealAt } from './ideal.ts'
import type { Capacity, MeltMeasured, Row } from './measured.ts'

/** What is drawn of a row, and the most that it can be at a load. */
export interface Drawn {
  readonly value: (row: Row) => number
  readonly ideal: (multiple: number) => number
  /** What else the ideal goes by above the capacity, such as the cost of a shed. */
  readonly goesBy?: string
}

/** A request more or less in the window is no difference. */
export function remarks(
  rows: readonly Row[],
  { window }: Pick<MeltMeasured['setup'], 'window'>,
  capacity: Capacity,
  { value, ideal, goesBy }: Drawn = { value: row => row.goodput, ideal: idealAt(capacity.rate) },
): readonly Remark[] {
  const oneRequest = 1 / Math.max(1, window.to - window.from)
  const above = rows.filter(row => value(row) * (1 - oneRequest / row.goodput) > ideal(row.multiple))
  return [...Map.groupBy(above, row => row.multiple)].map(([multiple, those]) => {
    const highest = those.reduce((a, b) => (value(b) > value(a) ? b : a))
    const names = those.map(row => row.arm).join(', ')
    const most = `${(100 * (value(highest) / ideal(multiple) - 1)).toFixed(1)} %`
    return {
      at: [multiple, value(highest)],
      words: `${names} at ${formatMultiple(multiple)}, ${most} above the ideal: ${why(highest, capacity, goesBy)}`,
    }
  })
}

function why({ multiple, offered }: Row, { before, after, users }: Capacity, goesBy?: string): string {
  const meant = multiple * before
  if (multiple < 1 && offered > meant) {
    return `by chance more requests were due (${formatRate(offered)}/s) than ${formatMultiple(multiple)} of the capacity (${formatRate(meant)}/s).`
  }
  const measured =
    after === null
      ? `${formatRate(before)}/s before`
      : `${formatRate(before)}/s before and ${formatRate(after)}/s after`
  const capacity = `the capacity, ${measured} the run in a closed loop of ${users === 1 ? '1 user' : `${users} users`}`
  const by = multiple > 1 && goesBy !== undefined ? `${capacity}, and ${goesBy}` : capacity
  return `the ideal goes by measurements too (${by}); this step shows that the app can do more.`
}
