/**
 * How long name lookups waited for a thread of this process. `dns.lookup` runs in libuv's thread pool, like fs, zlib
 * and the slow functions of crypto. While those occupy all threads a lookup waits, although the network is fine. Pure.
 *
 * A probe, a job that takes no time, enters the pool just before each lookup. The pool is first in, first out: when the
 * probe has run, the lookup is next. So a lookup waits until its probe has run, and the rest of its time is the
 * resolver's. This is exact for a single lookup. Among several, a lookup may wait longer: libuv keeps all lookups
 * behind one entry of its queue, which moves to the end whenever one of them has started. Then further probes measure
 * how long the pool stayed busy, and the time of the last single lookup of this name shows for how much of that time
 * the lookup ran.
 */
import type { Interval } from '../record.ts'

interface Wait extends Interval {
  readonly host: string
}

export interface Lookup {
  readonly host: string
  readonly fromMs: number
  /** True if no other lookup was in progress when this one began. */
  readonly alone: boolean
  /** When its probe had run; NaN before. */
  probedAtMs: number
  /** Total busy time of the pool at that moment, as {@link LookupWaits} counts it, ms. */
  busyBeforeMs: number
}

/** Shorter waits are ignored, ms: threads and the loop need some time to start a job. */
const FREE_MS = 2
/** Pause between further probes of a free pool, ms. */
const PAUSE_MS = 5
const MOST_WAITS = 512
const MOST_HOSTS = 256

export class LookupWaits {
  readonly #underWay = new Set<Lookup>()
  /** How many lookups in progress began while others were in progress. */
  #beside = 0
  readonly #waits: Wait[] = []
  /** The time of the last single lookup of each name, without its wait, ms. */
  readonly #runMs = new Map<string, number>()
  /** When the current further probe entered the pool; NaN without one. */
  #probingSinceMs = Number.NaN
  /** Total time for which further probes have found the pool busy, ms. */
  #busyMs = 0

  begin(host: string, atMs: number): Lookup {
    const alone = this.#underWay.size === 0
    const lookup = { host: host.toLowerCase(), fromMs: atMs, alone, probedAtMs: Number.NaN, busyBeforeMs: 0 }
    this.#underWay.add(lookup)
    if (!alone) this.#beside++
    return lookup
  }

  probed(lookup: Lookup, atMs: number): void {
    lookup.probedAtMs = atMs
    lookup.busyBeforeMs = this.#busyUpTo(atMs)
  }

  /** Whether a further probe is needed; if so, it enters the pool now. */
  beginProbe(atMs: number): boolean {
    if (this.#beside === 0 || !Number.isNaN(this.#probingSinceMs)) return false
    this.#probingSinceMs = atMs
    return true
  }

  /** The further probe has run. Returns the pause before the next one, ms. */
  endProbe(atMs: number): number {
    const tookMs = atMs - this.#probingSinceMs
    this.#busyMs = this.#busyUpTo(atMs)
    this.#probingSinceMs = Number.NaN
    return tookMs > FREE_MS ? 0 : PAUSE_MS
  }

  end(lookup: Lookup, atMs: number): void {
    if (!this.#underWay.delete(lookup)) return
    if (!lookup.alone) this.#beside--
    // The lookup ended before its probe, which entered the pool first, so the lookup did not use the pool.
    if (Number.isNaN(lookup.probedAtMs)) return
    if (lookup.alone) this.#learn(lookup.host, atMs - lookup.probedAtMs)
    const wait = this.#waitOf(lookup, atMs)
    if (wait.toMs - wait.fromMs > FREE_MS && this.#waits.push(wait) > MOST_WAITS) this.#waits.shift()
  }

  /** When lookups of `host` waited between these two times; those in progress wait until now, `toMs`. */
  between(host: string, fromMs: number, toMs: number): Interval[] {
    if (this.#waits.length === 0 && this.#underWay.size === 0) return []
    const name = host.toLowerCase()
    const pending = Array.from(this.#underWay, lookup => this.#waitOf(lookup, toMs))
    return [...this.#waits, ...pending]
      .filter(wait => wait.host === name && wait.toMs > fromMs && wait.fromMs < toMs)
      .filter(wait => wait.toMs - wait.fromMs > FREE_MS)
      .map(wait => ({ fromMs: wait.fromMs, toMs: wait.toMs }))
  }

  #waitOf({ host, fromMs, alone, probedAtMs, busyBeforeMs }: Lookup, atMs: number): Wait {
    if (Number.isNaN(probedAtMs)) return { host, fromMs, toMs: atMs }
    const busyMs = alone ? 0 : this.#busyUpTo(atMs) - busyBeforeMs
    const runMs = Math.max(this.#runMs.get(host) ?? 0, this.#runningMs(atMs))
    const waitedOnMs = Math.max(0, Math.min(busyMs, atMs - probedAtMs - runMs))
    return { host, fromMs, toMs: Math.min(probedAtMs + waitedOnMs, atMs) }
  }

  /** How long the single lookup in progress has been running: the resolver takes at least that long. */
  #runningMs(atMs: number): number {
    for (const { alone, probedAtMs } of this.#underWay) if (alone && probedAtMs < atMs) return atMs - probedAtMs
    return 0
  }

  /** A probe that has been in the pool for a while shows a busy pool, whether or not it has run. */
  #busyUpTo(atMs: number): number {
    const probingMs = atMs - this.#probingSinceMs
    return probingMs > FREE_MS ? this.#busyMs + probingMs : this.#busyMs
  }

  #learn(host: string, runMs: number): void {
    this.#runMs.delete(host)
    this.#runMs.set(host, runMs)
    if (this.#runMs.size > MOST_HOSTS) this.#runMs.delete(this.#runMs.keys().next().value!)
  }
}
