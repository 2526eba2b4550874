/** Once an hour, deletes what may not be kept any longer: positions by their age, then names that nothing is left of. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Store } from './store.ts'

const EVERY_MS = 3_600_000
/** Rows deleted at once: a second of work at most. */
const MOST_ROWS = 20_000
/** Walkers looked at, and deleted, at once: some milliseconds, which nothing else is stored in. */
const MOST_WALKERS = 1000

/** Returns what ends it. */
export function startCleanUp(reader: Pool, store: Store, keepDays: number): () => void {
  const timer = setInterval(() => {
    void cleanUp(reader, store, keepDays).catch(error => {
      console.error(`human-tide: old positions were not deleted: ${error.message}`)
    })
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** In pieces, so that no piece holds anything up for long. */
export async function cleanUp(reader: Pool, store: Store, keepDays: number): Promise<void> {
  while ((await reader.query(OLD, [keepDays])).rowCount === MOST_ROWS) await sleep(100)
  for (let after = NOBODY; ; ) {
    const { rows } = await reader.query<{ id: string; walks: boolean }>(WALKERS, [after])
    const idle = rows.filter(({ walks }) => !walks).map(({ id }) => id)
    if (idle.length > 0) await store.forgetNames(idle)
    if (rows.length < MOST_WALKERS) return
    after = rows.at(-1)!.id
  }
}

const OLD = `
  DELETE FROM positions WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM positions WHERE at < now() - make_interval(days => $1) LIMIT ${MOST_ROWS}))`

/** Comes before every id. */
const NOBODY = '00000000-0000-0000-0000-000000000000'
/** With LIMIT, so that it is a look into the index for each of them, however many positions there are. */
const WALKERS = `
  SELECT id, coalesce((SELECT true FROM positions WHERE walker = id LIMIT 1), false) AS walks
  FROM walkers WHERE id > $1 ORDER BY id LIMIT ${MOST_WALKERS}`
