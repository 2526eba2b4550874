/** Tells that a dependency has halted: requests wait and the loop rests, but none is answered. Pure. */
export class IdleProbe {
  #answeredAt = 0
  #idleAt = -1
  #someGaveUp = false

  answered(nowMs: number): void {
    this.#answeredAt = nowMs
  }

  gaveUp(): void {
    this.#someGaveUp = true
  }

  since(nowMs: number, longestMs: number): boolean {
    return nowMs - this.#answeredAt > longestMs
  }

  /** Called while requests wait and the loop rests. Idle: no answer for longer than `longestMs`. */
  look(nowMs: number, longestMs: number): 'no' | 'idle' | 'given up' {
    if (!this.since(nowMs, longestMs)) return 'no'
    this.#idleAt = nowMs
    if (!this.#someGaveUp) return 'idle'
    this.#someGaveUp = false
    this.#answeredAt = nowMs
    return 'given up'
  }

  wasHeld(startedAt: number): boolean {
    return startedAt <= this.#idleAt
  }
}
