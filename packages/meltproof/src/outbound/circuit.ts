/**
 * Whether a dependency is dead: ten calls in a row got no answer. Then only a probe now and then goes out, and the first
 * answer ends it. An answer of any status counts: a server that answers 500 is alive. Pure.
 */

/** Failures in a row. At 200 calls/s of which 30 % fail by chance, ten in a row come about every 15 minutes. */
const FAILURES = 10
/** No answer for this long either, ms: of calls that go out together, those that are refused end first. */
const FAILING_MS = 100
/**
 * Between probes, ms: as long as the last failure took, within these. So few probes hang at a time, and one that refuses at
 * once is soon found to be back.
 */
const LEAST_PAUSE_MS = 100
const MOST_PAUSE_MS = 1000

export class Circuit {
  #failures = 0
  #failingSince = 0
  #pauseMs = 0
  #probeAt = 0
  #probing = false

  get open(): boolean {
    return this.#pauseMs > 0
  }

  get failures(): number {
    return this.#failures
  }

  answered(): void {
    this.#failures = 0
    this.#pauseMs = 0
    this.#probing = false
  }

  /** @param tookMs from its start to its failure */
  failed(nowMs: number, tookMs: number): void {
    if (this.#failures++ === 0) this.#failingSince = nowMs
    if (this.#failures < FAILURES || nowMs - this.#failingSince < FAILING_MS) return
    // While it pauses, calls fail that had begun before.
    if (this.open && !this.#probing) return
    this.#probing = false
    this.#pauseMs = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, tookMs))
    this.#probeAt = nowMs + this.#pauseMs
  }

  /** Whether a call that comes now must not start. One that may start while it is open is a probe. */
  refuses(nowMs: number): boolean {
    if (!this.open) return false
    if (nowMs < this.#probeAt) return true
    // A probe may hang: the next one does not wait for it.
    this.#probeAt = nowMs + this.#pauseMs
    this.#probing = true
    return false
  }
}
