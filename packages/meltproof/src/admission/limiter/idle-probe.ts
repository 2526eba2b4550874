/** Whether nobody is answered though somebody waits and the loop rests: whatever is behind has come to a halt. Pure. */
export class IdleProbe {
  #answeredAt = 0
  #idleAt = -1
  #someGaveUp = false

  /** Somebody was answered, or the first one entered service. */
  answered(nowMs: number): void {
    this.#answeredAt = nowMs
  }

  /** A client did not wait for its answer. */
  gaveUp(): void {
    this.#someGaveUp = true
  }

  /** Asked while somebody waits and the loop rests; idle is no answer for longer than `longestMs`. */
  look(nowMs: number, longestMs: number): 'no' | 'idle' | 'given up' {
    if (nowMs - this.#answeredAt <= longestMs) return 'no'
    this.#idleAt = nowMs
    if (!this.#someGaveUp) return 'idle'
    this.#someGaveUp = false
    this.#answeredAt = nowMs
    return 'given up'
  }

  /** It came before a halt: what it took says nothing of the limit. */
  wasHeld(startedAt: number): boolean {
    return startedAt <= this.#idleAt
  }
}
