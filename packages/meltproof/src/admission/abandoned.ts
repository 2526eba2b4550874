/**
 * Requests whose answer nobody waits for any more, while their handlers work on: the client has left, or was told that
 * the deadline has passed. Each keeps its permit, or a dependency that hangs would fill up with the work of clients that
 * have lost patience. Pure.
 *
 * The permit comes back when the handler ends. Node does not always tell when that is, so a permit comes back as well
 *
 * - once the request has been overtaken: it has then stayed twice as long as its like does at the moment (stays.ts);
 * - after five minutes;
 * - one by one after a half, 1, 2, 4, ... seconds in which no handler ended: where handlers end without a word and nobody else is
 *   let in, nobody could ever overtake. Behind a dependency that hangs for an hour that lets a dozen more in.
 */
import type { Stay, Stays } from './stays.ts'

/** Overtaken by so many times as many as there are beside it. */
const OVERTAKEN_BY = 2
/** After so long without a sign the oldest gives its permit back, ms; then after twice as long, and so on. */
const FIRST_PROBE_MS = 500
const MOST_PROBE_MS = 60_000
/** Nobody keeps a permit for longer than this after it was abandoned, ms. */
const LONGEST_MS = 300_000

export class Abandoned<S extends Stay> {
  readonly #stays: Stays<S>
  /** Since when each was abandoned, in that order. */
  readonly #working = new Map<S, number>()
  #probeMs = FIRST_PROBE_MS
  #probeAt = 0

  constructor(stays: Stays<S>) {
    this.#stays = stays
  }

  /** How many handlers work on. */
  get count(): number {
    return this.#working.size
  }

  add(stay: S, nowMs: number): void {
    if (this.#working.size === 0) {
      this.#probeMs = FIRST_PROBE_MS
      this.#probeAt = nowMs + FIRST_PROBE_MS
    }
    this.#working.set(stay, nowMs)
  }

  /** Its handler has ended. False for one that is none of these; then nothing changes. */
  ended(stay: S, nowMs: number): boolean {
    if (!this.#working.delete(stay)) return false
    this.#probeAt = nowMs + this.#probeMs
    return true
  }

  /** Takes out those that are to give their permits back though nobody has said that they ended. */
  takePresumedOver(nowMs: number): S[] {
    const over: S[] = []
    for (const [stay, sinceMs] of this.#working) {
      if (nowMs - sinceMs >= LONGEST_MS || this.#stays.overtaken(stay, OVERTAKEN_BY)) over.push(stay)
    }
    if (over.length > 0) this.#probeAt = nowMs + this.#probeMs
    else if (this.#working.size > 0 && nowMs >= this.#probeAt) {
      over.push(this.#working.keys().next().value!)
      this.#probeMs = Math.min(2 * this.#probeMs, MOST_PROBE_MS)
      this.#probeAt = nowMs + this.#probeMs
    }
    for (const stay of over) this.#working.delete(stay)
    return over
  }
}
