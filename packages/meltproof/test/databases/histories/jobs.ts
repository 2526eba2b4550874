/** Derives the expected content of a job queue from the outcomes that its users saw. Pure. */
import type { Outcome } from './ledger.ts'

interface Job {
  readonly by: string
  pushed: Outcome
  readonly got: string[]
}

export class Jobs {
  /** Immediate pops (LPOP) with an unknown outcome. Each may have taken a job. */
  inDoubt = 0
  readonly #jobs: Job[] = []

  /** Returns the numbers of `count` new jobs. */
  make(by: string, count: number): number[] {
    return Array.from({ length: count }, () => this.#jobs.push({ by, pushed: 'pending', got: [] }))
  }

  pushed(ids: readonly number[], outcome: Outcome): void {
    for (const id of ids) this.#jobs[id - 1]!.pushed = outcome
  }

  got(id: number, by: string): void {
    this.#jobs[id - 1]?.got.push(by)
  }

  /** `waiting` is the queue. `claimed` is the list to which a user moves the job that it takes. */
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
