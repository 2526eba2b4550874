/**
 * Combines many small writes into few large ones; each caller waits for the write that contains its rows. Rows that
 * arrive during a write are in the next one, so writes grow with the load. With `isAboutRows`, rows that cannot be
 * written fail only for their own caller. Pure but for timers.
 */

export interface GroupCommitOptions {
  /**
   * Time to wait for more rows before a write, ms, if none is under way. At 100 calls a second, 20 ms combine two or
   * three writes into one, which saves wake-ups of both processes; a phone that sends once a second does not notice.
   */
  readonly gatherMs?: number
  /** Maximum number of rows in one write, to bound its time and memory. A call with more rows is written alone. */
  readonly mostRows?: number
  /** Maximum number of waiting rows; beyond it, add() rejects with TooManyWaiting. */
  readonly mostWaiting?: number
  /**
   * Whether a write failed because of its rows, not because of the database. It is then repeated in halves, down to the
   * caller with the bad rows. By default no write is repeated, and all its rows fail together.
   */
  readonly isAboutRows?: (error: unknown) => boolean
}

export class TooManyWaiting extends Error {
  override name = 'TooManyWaiting'
}

/** Writes these rows, and resolves with a result for each. */
export type Write<Row, Result> = (rows: readonly Row[]) => Promise<readonly Result[]>

interface Waiting<Row, Result> {
  readonly rows: readonly Row[]
  readonly resolve: (results: readonly Result[]) => void
  readonly reject: (error: unknown) => void
}

export class GroupCommit<Row, Result> {
  readonly #write: Write<Row, Result>
  readonly #gatherMs: number
  readonly #mostRows: number
  readonly #mostWaiting: number
  readonly #isAboutRows: (error: unknown) => boolean
  #waiting: Waiting<Row, Result>[] = []
  #waitingRows = 0
  #busy = false
  #timer: NodeJS.Timeout | undefined

  constructor(write: Write<Row, Result>, options: GroupCommitOptions = {}) {
    this.#write = write
    this.#gatherMs = options.gatherMs ?? 20
    this.#mostRows = options.mostRows ?? 1000
    this.#mostWaiting = options.mostWaiting ?? 20_000
    this.#isAboutRows = options.isAboutRows ?? (() => false)
  }

  /**
   * Resolves with the results of `rows` once they are written. Rejects if the write failed (the rows may or may not be
   * stored), and at once with TooManyWaiting if too many rows wait.
   */
  add(rows: readonly Row[]): Promise<readonly Result[]> {
    if (this.#waitingRows + rows.length > this.#mostWaiting) {
      return Promise.reject(new TooManyWaiting(`positions that wait to be stored: ${this.#waitingRows}`))
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rows, resolve, reject })
      this.#waitingRows += rows.length
      if (this.#busy || this.#timer !== undefined) return
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        void this.#writeAll()
      }, this.#gatherMs)
    })
  }

  /** One write at a time: two could wait for each other's row locks, and a larger one gains as much as a second one. */
  async #writeAll(): Promise<void> {
    this.#busy = true
    while (this.#waiting.length > 0) await this.#writeGroup(this.#take())
    this.#busy = false
  }

  /** With halves, one bad call among a thousand costs twenty writes, and calls are still written in order. */
  async #writeGroup(group: readonly Waiting<Row, Result>[]): Promise<void> {
    try {
      const results = await this.#write(group.flatMap(waiting => waiting.rows))
      let from = 0
      for (const { rows, resolve } of group) {
        resolve(results.slice(from, from + rows.length))
        from += rows.length
      }
    } catch (error) {
      if (group.length > 1 && this.#isAboutRows(error)) {
        const half = group.length >> 1
        await this.#writeGroup(group.slice(0, half))
        await this.#writeGroup(group.slice(half))
        return
      }
      for (const waiting of group) waiting.reject(error)
    }
  }

  /** Takes the calls that have waited longest: at most the rows of one write, but at least one call. */
  #take(): Waiting<Row, Result>[] {
    let rows = 0
    let count = 0
    for (const waiting of this.#waiting) {
      if (count > 0 && rows + waiting.rows.length > this.#mostRows) break
      rows += waiting.rows.length
      count++
    }
    this.#waitingRows -= rows
    return this.#waiting.splice(0, count)
  }
}
