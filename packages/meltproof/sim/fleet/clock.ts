/**
 * The one clock of a fleet. It orders the events between processes and the turns of their loops by time. While a loop
 * works, its own time is ahead of the clock: it sends at its own time, and messages that arrive for it wait for its
 * next turn.
 */
import { EventHeap } from '../event-heap.ts'
import type { Loop } from '../loop.ts'

export class FleetClock {
  nowMs = 0
  readonly #events = new EventHeap<() => void>()

  at(atMs: number, what: () => void): void {
    this.#events.push(Math.max(this.nowMs, atMs), what)
  }

  /** Runs `what` at `fromMs` and then every `everyMs`, until it returns false. */
  every(everyMs: number, fromMs: number, what: () => unknown): void {
    this.at(fromMs, () => {
      if (what() !== false) this.every(everyMs, this.nowMs + everyMs, what)
    })
  }

  run(untilMs: number): void {
    while (this.#events.nextAt < untilMs) {
      this.nowMs = this.#events.nextAt
      this.#events.pop()!()
    }
    this.nowMs = untilMs
  }
}

/** Runs one loop on the clock of the fleet. */
export class Driver {
  readonly #clock: FleetClock
  readonly #loop: Loop
  #dueAt = Number.POSITIVE_INFINITY
  #halted = false

  constructor(clock: FleetClock, loop: Loop) {
    this.#clock = clock
    this.#loop = loop
    loop.nowMs = clock.nowMs
  }

  /** Must be called after something outside has scheduled a task on the loop. */
  wake(): void {
    const at = this.#loop.nextAt
    if (this.#halted || at >= this.#dueAt) return
    this.#dueAt = at
    this.#clock.at(at, () => {
      if (at !== this.#dueAt || this.#halted) return
      this.#dueAt = Number.POSITIVE_INFINITY
      this.#loop.turn()
      this.wake()
    })
  }

  /** Stops the loop like SIGSTOP, or for good. */
  halt(): void {
    this.#halted = true
  }

  /** Resumes the loop. The lost time counts as busy, as it does for Node. */
  goOn(): void {
    this.#halted = false
    this.#dueAt = Number.POSITIVE_INFINITY
    const lostMs = Math.max(0, this.#clock.nowMs - this.#loop.nowMs)
    this.#loop.nowMs += lostMs
    this.#loop.busyMs += lostMs
    this.wake()
  }
}
