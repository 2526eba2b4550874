/**
 * Many small writes become few large ones, and each caller waits for the one that carries its own. What comes while a
 * write is under way is the next write, so the busier it gets the larger they are. A caller whose rows can not be written
 * spoils nobody else's write. Pure but for timers.
 */

export interface GroupCommitOptions {
  /**
   * Wait for company before a write, ms, when none is under way. At 100 a second 20 ms make two or three writes one, which
   * saves as many wake-ups of both processes; a phone that sends once a second does not notice.
   */
  readonly gatherMs?: number
  /** Rows of one write at most: bounds its time and the memory it takes. */
  readonly mostRows?: number
  /** Rows that may wait; beyond this callers are told to come back. */
  readonly mostWaiting?: number
  /**
   * Whether a write failed because of what its rows say, not because of the database: it is then made again in halves,
   * down to the caller whose rows they are. Default: never, all of a write fail together.
   */
  readonly isAboutRows?: (error: unknown) => boolean
}

export class TooManyWaiting extends Error {
  override name = 'TooManyWaiting'
}

/** Writes these rows, and tells something of each. */
export type Write<Row, Told> = (rows: readonly Row[]) => Promise<readonly Told[]>

interface Waiting<Row, Told> {
  readonly rows: readonly Row[]
  readonly resolve: (told: readonly Told[]) => void
  readonly reject: (error: unknown) => void
}

export class GroupCommit<Row, Told> {
  readonly #write: Write<Row, Told>
  readonly #gatherMs: number
  readonly #mostRows: number
  readonly #mostWaiting: number
  readonly #isAboutRows: (error: unknown) => boolean
  #waiting: Waiting<Row, Told>[] = []
  #waitingRows = 0
  #busy = false
  #timer: NodeJS.Timeout | undefined

  constructor(write: Write<Row, Told>, options: GroupCommitOptions = {}) {
    this.#write = write
    this.#gatherMs = options.gatherMs ?? 20
    this.#mostRows = options.mostRows ?? 1000
    this.#mostWaiting = options.mostWaiting ?? 20_000
    this.#isAboutRows = options.isAboutRows ?? (() => false)
  }

  /** Resolves with what is told of `rows` once they are written; rejects when they may not be, or with TooManyWaiting at once. */
  add(rows: readonly Row[]): Promise<readonly Told[]> {
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

  /** One write at a time: two could wait for each other's rows, and a second gains nothing that a larger one does not. */
  async #writeAll(): Promise<void> {
    this.#busy = true
    while (this.#waiting.length > 0) await this.#writeGroup(this.#take())
    this.#busy = false
  }

  /** In halves, one culprit among a thousand costs twenty small writes; and who came first is written first. */
  async #writeGroup(group: readonly Waiting<Row, Told>[]): Promise<void> {
    try {
      const told = await this.#write(group.flatMap(waiting => waiting.rows))
      let from = 0
      for (const { rows, resolve } of group) {
        resolve(told.slice(from, from + rows.length))
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

  /** Those that have waited longest, as many as one write takes; always at least one. */
  #take(): Waiting<Row, Told>[] {
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
