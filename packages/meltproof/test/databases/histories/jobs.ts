/** What a queue of jobs must have left, from what its users were told. Pure. */
import type { Outcome } from './ledger.ts'

interface Job {
  readonly by: string
  pushed: Outcome
  readonly got: string[]
}

export class Jobs {
  /** Pops at once (LPOP) whose outcome was reported as unknown: each may have taken one. */
  inDoubt = 0
  readonly #jobs: Job[] = []

  /** The numbers of `count` new jobs. */
  make(by: string, count: number): number[] {
    return Array.from({ length: count }, () => this.#jobs.push({ by, pushed: 'pending', got: [] }))
  }

  pushed(ids: readonly number[], outcome: Outcome): void {
    for (const id of ids) this.#jobs[id - 1]!.pushed = outcome
  }

  got(id: number, by: string): void {
    this.#jobs[id - 1]?.got.push(by)
  }

  /** `waiting` is the queue; `claimed` a list to which a job is moved by the one who gets it. */
  faults(waiting: readonly number[], claimed: readonly number[]): string[] {
    const faults: string[] = []
    const missing: string[] = []
    for (const [index, { by, pushed, got }] of this.#jobs.entries()) {
      const id = index + 1
      const times = got.length + waiting.filter(each => each === id).length
      const job = `job ${id}, pushed by ${by} and reported as ${pushed}`
      if (times > 1) faults.push(`doubled: ${job}: got by ${got.join(', ') || 'no user'} and in the queue`)
      if (pushed === 'refused' && times > 0) faults.push(`undead: ${job}, is there`)
      if (pushed === 'done' && times === 0 && !claimed.includes(id)) missing.push(`lost: ${job}: no user got it`)
    }
    return [...faults, ...missing.slice(0, Math.max(0, missing.length - this.inDoubt))]
  }
}
