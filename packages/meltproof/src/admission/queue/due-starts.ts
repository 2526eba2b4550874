/** Those who wait and have a time by which they must start, the earliest first. Pure. */
import type { Waiting } from './wait-queue.ts'

/** A waiting request that must start by a time. */
export interface DueStart extends Waiting {
  /** On the gate's clock, ms; Infinity when it may start at any time. */
  startBy: number
}

/**
 * Nearly all come with the same budget, so nearly all are added at the end. Who leaves the queue stays here until its time
 * comes or the list is mostly made of such.
 */
export class DueStarts<E extends DueStart> {
  #due: E[] = []

  /** When the first must start; Infinity when nobody must. */
  get nextAt(): number {
    this.#dropLeft()
    return this.#due[0]?.startBy ?? Number.POSITIVE_INFINITY
  }

  /** `waiting`: how many wait in all. */
  add(entry: E, waiting: number): void {
    if (this.#due.length > 2 * waiting + 64) this.#due = this.#due.filter(({ left }) => !left)
    let at = this.#due.length
    while (at > 0 && this.#due[at - 1]!.startBy > entry.startBy) at--
    if (at === this.#due.length) this.#due.push(entry)
    else this.#due.splice(at, 0, entry)
  }

  /** Takes out one that still waits and whose time has passed. */
  takePassed(nowMs: number): E | undefined {
    return this.nextAt < nowMs ? this.#due.shift() : undefined
  }

  #dropLeft(): void {
    let gone = 0
    while (gone < this.#due.length && this.#due[gone]!.left) gone++
    if (gone > 0) this.#due.splice(0, gone)
  }
}
