/**
 * The reported outcomes of a history's writes, and the expected content of the database. Pure: knows no database.
 *
 * A statement that resolved was done. One that rejected was refused if its error says that it did not run. After any
 * other error its outcome is unknown, and the write may be there or not.
 */

export type Outcome = 'pending' | 'done' | 'refused' | 'unknown'
export type Expected = 'there' | 'absent' | 'either'

export class Transaction {
  /**
   * The outcome of COMMIT; `pending` also if none was sent. A COMMIT that the database answered with a rollback is
   * `refused`.
   */
  commit: Outcome = 'pending'
  /** Names the transaction in messages. */
  readonly id: number

  constructor(id: number) {
    this.id = id
  }
}

export class Write {
  readonly id: number
  readonly by: string
  readonly transaction: Transaction | undefined
  outcome: Outcome = 'pending'
  /** The outcome of a later ROLLBACK TO a savepoint before the write. */
  undone: Outcome | undefined

  constructor(id: number, by: string, transaction: Transaction | undefined) {
    this.id = id
    this.by = by
    this.transaction = transaction
  }

  get expected(): Expected {
    if (this.outcome === 'refused') return 'absent'
    const committed = this.transaction === undefined ? 'done' : this.transaction.commit
    if (committed === 'pending' || committed === 'refused' || this.undone === 'done') return 'absent'
    if (committed === 'unknown' || this.undone !== undefined) return 'either'
    return this.outcome === 'done' ? 'there' : 'either'
  }

  /** Only the outcome of its transaction decides whether the write is there. */
  get isCertain(): boolean {
    return this.outcome === 'done' && this.undone === undefined
  }

  get said(): string {
    const own = `${this.by} wrote ${this.id}, reported as ${this.outcome}`
    if (this.transaction === undefined) return own
    const undone = this.undone === undefined ? '' : `, its ROLLBACK TO as ${this.undone}`
    const { commit } = this.transaction
    return `${own}${undone}, ${commit === 'pending' ? 'without a COMMIT' : `its COMMIT as ${commit}`}`
  }
}

export class Ledger {
  readonly writes: Write[] = []
  #transactions = 0

  write(by: string, transaction?: Transaction): Write {
    const write = new Write(this.writes.length + 1, by, transaction)
    this.writes.push(write)
    return write
  }

  begin(): Transaction {
    return new Transaction(++this.#transactions)
  }

  /** `found` has the number of times each write is in the database. Returns one line for each fault. */
  faults(found: ReadonlyMap<number, number>): string[] {
    const faults: string[] = []
    for (const write of this.writes) {
      const times = found.get(write.id) ?? 0
      if (times > 1) faults.push(`doubled: ${write.said}; it is there ${times} times`)
      else if (times === 0 && write.expected === 'there') faults.push(`lost: ${write.said}; it is not there`)
      else if (times === 1 && write.expected === 'absent') faults.push(`undead: ${write.said}; it is there`)
    }
    for (const id of found.keys()) {
      if (id > this.writes.length) faults.push(`invented: write ${id} is there, and nothing wrote it`)
    }
    return [...faults, ...this.#torn(found)]
  }

  /** Finds transactions of unknown outcome that are only partly there. */
  #torn(found: ReadonlyMap<number, number>): string[] {
    const parts = new Map<Transaction, { there: number; absent: number }>()
    for (const { transaction, isCertain, id } of this.writes) {
      if (transaction?.commit !== 'unknown' || !isCertain) continue
      const part = parts.get(transaction) ?? { there: 0, absent: 0 }
      if (found.has(id)) part.there++
      else part.absent++
      parts.set(transaction, part)
    }
    return [...parts]
      .filter(([, { there, absent }]) => there > 0 && absent > 0)
      .map(
        ([{ id }, { there, absent }]) => `torn: transaction ${id} is there with ${there} of ${there + absent} writes`,
      )
  }
}
