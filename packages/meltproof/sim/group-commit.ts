/**
 * Writes that share a commit: what comes while one write is under way is the next, so throughput grows with the number
 * in service at nearly constant service times. The first after a pause waits a little for company.
 */
import type { Loop } from './loop.ts'

export interface GroupCommitCosts {
  /** The first waits so long for company, ms, on a timer of the loop. */
  readonly gatherMs: number
  /** What a commit takes however many rows it has, ms. */
  readonly commitMs: (nowMs: number) => number
  /** What each row adds, ms. */
  readonly perRowMs: number
  /** Rows of one write at most. */
  readonly mostRows: number
}

export class GroupCommit {
  readonly #loop: Loop
  readonly #costs: GroupCommitCosts
  #waiting: (() => void)[] = []
  #underWay = false

  constructor(loop: Loop, costs: GroupCommitCosts) {
    this.#loop = loop
    this.#costs = costs
  }

  /** Calls back once the write that holds this row is committed. */
  add(committed: () => void): void {
    this.#waiting.push(committed)
    if (this.#underWay) return
    this.#underWay = true
    this.#loop.setTimer(this.#costs.gatherMs, () => this.#write())
  }

  #write(): void {
    const rows = this.#waiting.splice(0, this.#costs.mostRows)
    this.#underWay = rows.length > 0
    if (!this.#underWay) return
    const takesMs = this.#costs.commitMs(this.#loop.nowMs) + rows.length * this.#costs.perRowMs
    this.#loop.readyAt(this.#loop.nowMs + takesMs, () => {
      for (const committed of rows) committed()
      this.#write()
    })
  }
}
