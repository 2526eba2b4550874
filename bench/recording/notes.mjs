/**
 * The notes of a recorded app: for each request that starts, its slices of CPU and its waits between them; pauses for
 * garbage; and how busy the loop was. A slice is timed by the wall clock, and the kernel reports for how much of it the
 * thread was ready to run and had no core. Costs about 3 us per slice.
 */
import { openSync, readSync } from 'node:fs'
import { PerformanceObserver, performance } from 'node:perf_hooks'

/** Interval at which the account of the loop is recorded, ms. */
const ACCOUNT_EVERY_MS = 100

/** Returns a function that reads how long this thread has waited for a core, ms; 0 where the kernel does not count. */
function waitedForCore() {
  let file
  try {
    file = openSync('/proc/thread-self/schedstat')
  } catch {
    return () => 0
  }
  const bytes = Buffer.alloc(128)
  const [SPACE, ZERO] = [32, 48]
  return () => {
    readSync(file, bytes, 0, bytes.length, 0)
    let at = bytes.indexOf(SPACE) + 1
    let ns = 0
    for (; bytes[at] !== SPACE; at++) ns = ns * 10 + bytes[at] - ZERO
    return ns / 1e6
  }
}

export class Notes {
  /** One entry per request, in the order of their starts: its kind, and steps of four numbers each (see OwnNotes). */
  requests = []
  /** Pauses for garbage, as pairs of start and duration. */
  garbage = []
  /** Cumulative figures of the loop: time, busy time, wait for a core, started, shed. */
  account = []
  #stolenMs = waitedForCore()
  #shed
  #accountedAt = Number.NEGATIVE_INFINITY
  #depth = 0
  #sliceAt = 0
  #stolenBefore = 0

  /** `shed` returns the number of sheds since the start. */
  constructor(shed) {
    this.#shed = shed
    new PerformanceObserver(list => {
      for (const { startTime, duration } of list.getEntries()) this.garbage.push(startTime, duration)
    }).observe({ entryTypes: ['gc'] })
  }

  /** A request starts. */
  starts(kind) {
    const nowMs = performance.now()
    if (nowMs >= this.#accountedAt + ACCOUNT_EVERY_MS) this.#settle(nowMs)
    const own = new OwnNotes(this, kind)
    this.requests.push(own)
    return own
  }

  /** A slice of CPU begins. A slice within another is part of the outer one. */
  begins() {
    if (this.#depth++ > 0) return
    this.#stolenBefore = this.#stolenMs()
    this.#sliceAt = performance.now()
  }

  ends(steps) {
    if (--this.#depth > 0) return
    const endedAt = performance.now()
    steps.push(CPU, this.#sliceAt, endedAt - this.#sliceAt, this.#stolenMs() - this.#stolenBefore)
  }

  all() {
    this.#settle(performance.now())
    return {
      requests: this.requests.map(({ kind, steps }) => ({ kind, steps })),
      garbage: this.garbage,
      account: this.account,
    }
  }

  #settle(nowMs) {
    this.#accountedAt = nowMs
    const { active } = performance.eventLoopUtilization()
    this.account.push(nowMs, active, this.#stolenMs(), this.requests.length, this.#shed())
  }
}

export const [CPU, YIELD, POOL] = [0, 1, 2]

/** Notes of one request. Each step has four numbers: type, start, duration, and the wait for a core in it. */
class OwnNotes {
  steps = []
  #notes

  constructor(notes, kind) {
    this.#notes = notes
    this.kind = kind
  }

  /** No wrapper around the work, because V8 would compile the two together, and misjudge busy loops for seconds. */
  begins() {
    this.#notes.begins()
  }

  ends() {
    this.#notes.ends(this.steps)
  }

  async yields() {
    this.steps.push(YIELD, performance.now(), 0, 0)
    await new Promise(resolve => setImmediate(resolve))
  }

  /** Notes how long a connection was held. */
  async holding(use) {
    const startedAt = performance.now()
    const held = await use()
    this.steps.push(POOL, startedAt, performance.now() - startedAt, 0)
    return held
  }
}
