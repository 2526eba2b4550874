/** Keeps positions. `keep` resolves after the COMMIT that holds them, never before. */
import type { Pool } from 'pg'
import { dataRefusal, isDataFault } from '../database/data-fault.ts'
import { databaseRefusal } from '../database/down.ts'
import { GroupCommit } from './group-commit.ts'
import type { Position, Report } from './report.ts'

interface Row extends Position {
  readonly walker: string
  readonly name: string
}

/** Names known to be stored already; about 100 bytes each. */
const MOST_NAMES = 20_000
/** A walker that has not been heard of for this long is no longer on the shore. */
const ON_SHORE = "interval '10 minutes'"

/**
 * One statement, so one round trip and one transaction. A position that came before, in whatever order, is the same
 * (walker, seq) and changes nothing; what is returned are those that are new. Arrays instead of a VALUES list: one plan,
 * whatever the number of rows.
 */
const KEEP = `
  WITH named AS (
    INSERT INTO walkers (id, name) SELECT * FROM unnest($1::uuid[], $2::text[])
    ON CONFLICT (id) DO UPDATE SET name = excluded.name
  )
  INSERT INTO positions (walker, seq, at, lat, lon, accuracy)
  SELECT walker, seq, to_timestamp(at / 1000), lat, lon, accuracy
  FROM unnest($3::uuid[], $4::int8[], $5::float8[], $6::float8[], $7::float8[], $8::float4[])
    AS sent (walker, seq, at, lat, lon, accuracy)
  ON CONFLICT DO NOTHING
  RETURNING walker, seq`

export interface LastSeen {
  readonly walker: string
  readonly name: string
  readonly at: number
  readonly lat: number
  readonly lon: number
}

export class Store {
  readonly #pool: Pool
  /** Tells of each row whether it is new. */
  readonly #group: GroupCommit<Row, boolean>
  /** What walkers are called, as stored. */
  readonly #names = new Map<string, string>()

  /** A pool of one connection: what is asked first is done first. */
  constructor(pool: Pool) {
    this.#pool = pool
    this.#group = new GroupCommit(rows => this.#write(rows), { isAboutRows: isDataFault })
  }

  /**
   * Resolves with those that are new; the others had been stored before. Throws a Refusal: 503 when the database can not
   * say that everything is stored, 400 when it never will be.
   */
  async keep(walker: string, { name, positions }: Report): Promise<readonly Position[]> {
    const isNew = await this.#group
      .add(positions.map(position => ({ walker, name, ...position })))
      .catch(error => (isDataFault(error) ? Promise.reject(dataRefusal(error)) : databaseRefusal(error)))
    return positions.filter((_position, index) => isNew[index])
  }

  /** Also what still waits to be stored: of no rows it is told once everything that came before is written. */
  async forget(walker: string): Promise<void> {
    await this.#group.add([]).catch(databaseRefusal)
    await this.#pool
      .query('WITH gone AS (DELETE FROM positions WHERE walker = $1) DELETE FROM walkers WHERE id = $1', [walker])
      .catch(databaseRefusal)
    this.#names.delete(walker)
  }

  /**
   * Deletes the names of those of these walkers who have no positions. A walker that comes back meanwhile keeps its name: it
   * counts as unknown from here on, so that the next report brings it again, and the pool has one connection, so that
   * a report is stored either before this looks for positions, or after the name is gone.
   */
  async forgetNames(walkers: readonly string[]): Promise<void> {
    for (const walker of walkers) this.#names.delete(walker)
    await this.#pool.query(
      'DELETE FROM walkers WHERE id = ANY($1::uuid[]) AND NOT EXISTS (SELECT FROM positions WHERE walker = id)',
      [walkers],
    )
  }

  /** Where everybody was last. */
  async latest(): Promise<LastSeen[]> {
    const { rows } = await this.#pool.query<LastSeen>(`
      SELECT DISTINCT ON (walker) walker, coalesce(name, '') AS name,
        (extract(epoch FROM at) * 1000)::float8 AS at, lat, lon
      FROM positions LEFT JOIN walkers ON walkers.id = walker
      WHERE at > now() - ${ON_SHORE} ORDER BY walker, at DESC`)
    return rows
  }

  async #write(rows: readonly Row[]): Promise<boolean[]> {
    if (rows.length === 0) return []
    const names = new Map<string, string>()
    for (const { walker, name } of rows) if (this.#names.get(walker) !== name) names.set(walker, name)
    const { rows: inserted } = await this.#pool.query<[walker: string, seq: string]>({
      name: 'keep',
      text: KEEP,
      rowMode: 'array',
      values: [
        [...names.keys()],
        [...names.values()],
        rows.map(row => row.walker),
        rows.map(row => row.seq),
        rows.map(row => row.at),
        rows.map(row => row.lat),
        rows.map(row => row.lon),
        rows.map(row => row.accuracy),
      ],
    })
    for (const [walker, name] of names) this.#remember(walker, name)
    return whichAreNew(rows, inserted)
  }

  #remember(walker: string, name: string): void {
    this.#names.delete(walker)
    this.#names.set(walker, name)
    if (this.#names.size > MOST_NAMES) this.#names.delete(this.#names.keys().next().value!)
  }
}

/** Of the same position twice in one write, it is the first that was inserted. */
function whichAreNew(rows: readonly Row[], inserted: readonly [walker: string, seq: string][]): boolean[] {
  if (inserted.length === rows.length) return rows.map(() => true)
  const left = new Set(inserted.map(([walker, seq]) => `${walker} ${seq}`))
  return rows.map(({ walker, seq }) => left.delete(`${walker} ${seq}`))
}
