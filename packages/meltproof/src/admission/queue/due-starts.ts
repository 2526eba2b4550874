/** Waiting requests with a time by which they must start, the earliest first. Pure. */
import type { Waiting } from './wait-queue.ts'

export interface DueStart extends Waiting {
  startBy: number
}

/**
 * Nearly all requests have the same time budget, so nearly all are added at the end. Entries that left the queue early
 * are skipped later.
 */
export class DueStarts<E extends DueStart> {
  #due: E[] = []

  get nextAt(): number {
    this.#dropDequeued()
    return this.#due[0]?.startBy ?? Number.POSITIVE_INFINITY
  }

  add(entry: E, waiting: number): void {
    if (this.#due.length > 2 * waiting + 64) this.#due = this.#due.filter(({ dequeued }) => !dequeued)
    let at = this.#due.length
    while (at > 0 && this.#due[at - 1]!.startBy > entry.startBy) at--
    if (at === this.#due.length) this.#due.push(entry)
    else this.#due.splice(at, 0, entry)
  }

  takePassed(nowMs: number): E | undefined {
    return this.nextAt < nowMs ? this.#due.shift() : undefined
  }

  #dropDequeued(): void {
    let gone = 0
    while (gone < this.#due.length && this.#due[gone]!.dequeued) gone++
    if (gone > 0) this.#due.splice(0, gone)
  }
}
