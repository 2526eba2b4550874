/** Stores positions. `keep` resolves after the COMMIT that contains them, never before. */
import type { Pool } from 'pg'
import { dataRefusal, isDataFault } from '../database/data-fault.ts'
import { databaseRefusal } from '../database/down.ts'
import { GroupCommit } from './group-commit.ts'
import type { Position, Report } from './report.ts'

interface Row extends Position {
  readonly walker: string
  readonly name: string
}

/** Maximum number of names in memory that are known to be stored, about 100 bytes each. */
const MOST_NAMES = 20_000
/** A walker that has been silent for this long is no longer on the shore. */
const ON_SHORE = "interval '10 minutes'"

/**
 * One statement, so one round trip and one transaction. A position that was stored before has the same (walker, seq)
 * and changes nothing; only new ones are returned. With arrays instead of a VALUES list, any number of rows has the
 * same plan.
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
  /** The result of a row is true if the row is new. */
  readonly #group: GroupCommit<Row, boolean>
  /** Stored names of walkers. */
  readonly #names = new Map<string, string>()

  /** `pool` must have one connection, so that queries run in order. */
  constructor(pool: Pool) {
    this.#pool = pool
    this.#group = new GroupCommit(rows => this.#write(rows), { isAboutRows: isDataFault })
  }

  /**
   * Resolves with the new positions; the others were stored before. Throws a Refusal: 503 if the database does not
   * confirm that everything is stored, 400 if it can never be stored.
   */
  async keep(walker: string, { name, positions }: Report): Promise<readonly Position[]> {
    const isNew = await this.#group
      .add(positions.map(position => ({ walker, name, ...position })))
      .catch(error => (isDataFault(error) ? Promise.reject(dataRefusal(error)) : databaseRefusal(error)))
    return positions.filter((_position, index) => isNew[index])
  }

  /** Also deletes what still waits to be stored: adding no rows resolves after all earlier rows are written. */
  async forget(walker: string): Promise<void> {
    await this.#group.add([]).catch(databaseRefusal)
    await this.#pool
      .query('WITH gone AS (DELETE FROM positions WHERE walker = $1) DELETE FROM walkers WHERE id = $1', [walker])
      .catch(databaseRefusal)
    this.#names.delete(walker)
  }

  /**
   * Deletes the names of these walkers if they have no positions. A walker that returns meanwhile keeps its name: the
   * name counts as unknown from here on, so the next report stores it again. And the pool has one connection, so a
   * report is stored either before this query looks for positions, or after it has deleted the name.
   */
  async forgetNames(walkers: readonly string[]): Promise<void> {
    for (const walker of walkers) this.#names.delete(walker)
    await this.#pool.query(
      'DELETE FROM walkers WHERE id = ANY($1::uuid[]) AND NOT EXISTS (SELECT FROM positions WHERE walker = id)',
      [walkers],
    )
  }

  /** The last position of each walker on the shore. */
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

/** If a write contains a position twice, the first one was inserted. */
function whichAreNew(rows: readonly Row[], inserted: readonly [walker: string, seq: string][]): boolean[] {
  if (inserted.length === rows.length) return rows.map(() => true)
  const left = new Set(inserted.map(([walker, seq]) => `${walker} ${seq}`))
  return rows.map(({ walker, seq }) => left.delete(`${walker} ${seq}`))
}
