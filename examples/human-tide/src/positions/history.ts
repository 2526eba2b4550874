/** Reads stored positions, one page at a time, thinned to the steps that a replay shows. */
import type { Pool } from 'pg'

/** Approximate number of steps of a replay; the page interpolates between them. */
const STEPS = 600
/** Maximum number of rows read for a page, so that no page costs the database more than about 50 ms. */
const MOST_READ = 50_000

export interface HistoryQuery {
  /** ms since 1970. */
  readonly from: number
  readonly to: number
  /** The step to begin with. */
  readonly after: number
}

export interface HistoryPage {
  readonly from: number
  readonly to: number
  readonly stepMs: number
  /** The walkers on this page; `moves` refer to them by index. */
  readonly walkers: readonly { readonly key: string; readonly name: string }[]
  /** [step, walker, lat, lon], by step: one position per walker and step, the latest in it. */
  readonly moves: readonly (readonly [number, number, number, number])[]
  /** The `after` of the next page; null on the last page. */
  readonly next: number | null
}

interface Row {
  readonly step: number
  readonly walker: string
  readonly name: string
  readonly lat: number
  readonly lon: number
  readonly read: number
  readonly lastStep: number
}

/** Reads in the order of the index, stops after MOST_READ rows, then picks the latest of each walker and step. */
const PAGE = `
  WITH read AS (
    SELECT floor((extract(epoch FROM at)::float8 * 1000 - $1) / $4)::int AS step, walker, at, lat, lon
    FROM positions WHERE at >= to_timestamp($2::float8 / 1000) AND at <= to_timestamp($3::float8 / 1000)
    ORDER BY at LIMIT ${MOST_READ}
  )
  SELECT DISTINCT ON (step, walker) step, walker, coalesce(name, '') AS name, lat, lon,
    (SELECT count(*)::int FROM read) AS read, (SELECT max(step) FROM read) AS "lastStep"
  FROM read LEFT JOIN walkers ON walkers.id = walker
  ORDER BY step, walker, at DESC`

export async function history(pool: Pool, { from, to, after }: HistoryQuery): Promise<HistoryPage> {
  const stepMs = Math.max(1000, Math.ceil((to - from) / STEPS))
  const values = [from, from + after * stepMs, to, stepMs]
  const { rows } = await pool.query<Row>({ name: 'history', text: PAGE, values })
  const { next, shown } = pageOf(rows, after)

  const numbers = new Map<string, number>()
  const walkers: { key: string; name: string }[] = []
  const moves = shown.map(({ step, walker, name, lat, lon }) => {
    const number = numbers.get(walker) ?? walkers.push({ key: walker.slice(0, 13), name }) - 1
    numbers.set(walker, number)
    return [step, number, lat, lon] as const
  })
  return { from, to, stepMs, walkers, moves, next }
}

/** The step in which reading stopped is left to the next page, unless it alone fills this one. */
function pageOf(rows: readonly Row[], after: number): { next: number | null; shown: readonly Row[] } {
  const [first] = rows
  if (first === undefined || first.read < MOST_READ) return { next: null, shown: rows }
  const { lastStep } = first
  if (lastStep <= after) return { next: lastStep + 1, shown: rows }
  return { next: lastStep, shown: rows.filter(row => row.step < lastStep) }
}

/** Times of the first and the last position; null if there are none. Takes two index lookups. */
export async function span(pool: Pool): Promise<{ first: number | null; last: number | null }> {
  const { rows } = await pool.query<{ first: number | null; last: number | null }>(`
    SELECT (extract(epoch FROM min(at)) * 1000)::float8 AS first, (extract(epoch FROM max(at)) * 1000)::float8 AS last
    FROM positions`)
  return rows[0]!
}
