/** Once an hour, deletes positions beyond their retention time, then the names of walkers without positions. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Store } from './store.ts'

const EVERY_MS = 3_600_000
/** Maximum number of rows deleted by one statement: a second of work at most. */
const MOST_ROWS = 20_000
/** Walkers checked, and deleted, at once: this takes some milliseconds, in which nothing else is stored. */
const MOST_WALKERS = 1000

/** Returns the function that ends it. */
export function startCleanUp(reader: Pool, store: Store, keepDays: number): () => void {
  const timer = setInterval(() => {
    void cleanUp(reader, store, keepDays).catch(error => {
      console.error(`human-tide: old positions were not deleted: ${error.message}`)
    })
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Works in small statements, so that none of them delays other queries for long. */
export async function cleanUp(reader: Pool, store: Store, keepDays: number): Promise<void> {
  while ((await reader.query(OLD, [keepDays])).rowCount === MOST_ROWS) await sleep(100)
  for (let after = BEFORE_ALL_IDS; ; ) {
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
const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'
/** With LIMIT, each walker costs one index lookup, however many positions it has. */
const WALKERS = `
  SELECT id, coalesce((SELECT true FROM positions WHERE walker = id LIMIT 1), false) AS walks
  FROM walkers WHERE id > $1 ORDER BY id LIMIT ${MOST_WALKERS}`
