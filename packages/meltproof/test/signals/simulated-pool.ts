/** libuv's thread pool as of 1.51 (src/threadpool.c) in virtual time: its queue, and its second one for lookups. Pure. */

interface Job {
  readonly runMs: number
  readonly isLookup: boolean
  readonly started: (atMs: number) => void
  readonly done: (atMs: number) => void
}

/** Stands in the queue for all lookups that wait. */
const LOOKUPS = 'lookups'

export class SimulatedPool {
  nowMs = 0
  readonly #threads: number
  readonly #queue: (Job | typeof LOOKUPS)[] = []
  readonly #lookups: Job[] = []
  readonly #running: { readonly job: Job; readonly endsAtMs: number }[] = []
  readonly #due: { readonly atMs: number; readonly run: () => void }[] = []

  constructor(threads: number) {
    this.#threads = threads
  }

  at(atMs: number, run: () => void): void {
    this.#due.push({ atMs, run })
    this.#due.sort((one, other) => one.atMs - other.atMs)
  }

  submit(job: Job): void {
    if (!job.isLookup) this.#queue.push(job)
    else {
      this.#lookups.push(job)
      if (!this.#queue.includes(LOOKUPS)) this.#queue.push(LOOKUPS)
    }
    this.#start()
  }

  run(): void {
    for (;;) {
      const ending = this.#running.toSorted((one, other) => one.endsAtMs - other.endsAtMs)[0]
      const due = this.#due[0]
      if (ending === undefined && due === undefined) return
      if (due !== undefined && due.atMs <= (ending?.endsAtMs ?? Number.POSITIVE_INFINITY)) {
        this.#due.shift()
        this.nowMs = due.atMs
        due.run()
      } else {
        this.nowMs = ending!.endsAtMs
        this.#running.splice(this.#running.indexOf(ending!), 1)
        this.#start()
        ending!.job.done(this.nowMs)
      }
    }
  }

  #start(): void {
    while (this.#running.length < this.#threads) {
      const job = this.#next()
      if (job === undefined) return
      job.started(this.nowMs)
      this.#running.push({ job, endsAtMs: this.nowMs + job.runMs })
    }
  }

  /** Half of the threads may run lookups; the place of those beyond is the end of the queue. */
  #next(): Job | undefined {
    const most = Math.floor((this.#threads + 1) / 2)
    const isFull = this.#running.filter(({ job }) => job.isLookup).length >= most
    for (let looked = this.#queue.length; looked > 0; looked--) {
      const next = this.#queue.shift()!
      if (next !== LOOKUPS) return next
      if (isFull) {
        this.#queue.push(LOOKUPS)
        continue
      }
      const lookup = this.#lookups.shift()!
      if (this.#lookups.length > 0) this.#queue.push(LOOKUPS)
      return lookup
    }
    return undefined
  }
}
