/**
 * The concurrency limiter. It has two states.
 *
 * - open: nothing is known to be scarce. The limit keeps ahead of what is asked for; it may double in the time that those
 *   in service take (TCP's slow start).
 * - limited: something is scarce: the loop never rests (loop-load.ts), or those in service wait for each other
 *   (contention.ts). Throughput X is flat in the limit L from a knee K on (Kleinrock's optimal operating point), so halving
 *   L finds K: X stays above it and falls below it. Then the limit rests somewhat above K, and is halved again from time
 *   to time to see whether that still holds.
 *
 * A loop that rests and service times that do not rise with how many are in service are no reason to make anybody wait.
 * Kinds of requests that merely wait for something are not counted at all (waiting-kinds.ts).
 *
 * While it is limited it learns from the time in which the limit binds, and from answers alone: an idle service and
 * requests that were given up teach nothing.
 */
import { LIMITER_TUNING, type LimiterTuning } from './tuning.ts'
import type { Limiter } from './limiter.ts'
import { LoopLoad } from './loop-load.ts'
import { Throughput } from './throughput.ts'
import { WaitingKinds } from './waiting-kinds.ts'

/** Weight of one more answer, or of one more measurement, in a mean of the last few. */
const ANSWER_WEIGHT = 0.1
const RATE_WEIGHT = 0.2
/** A search starts so many times above where they are said to begin to wait for each other. */
const ABOVE_KNEE = 1.5
/** A knee no further below where a look began: throughput is in proportion to the limit, and nothing is scarce. */
const PROPORTION = 0.8
/** Two measurements in a row that differ from the mean by so much: something else is going on. */
const CHANGED = [0.7, 1.4] as const
/** After so many measurements the limit is raised when it is worth less than the floor by more than this factor. */
const SURE = 5
const RAISED = 1.25
/** By this where the loop is scarce: there the rate is also a matter of how many cheap ones are served. */
const RAISED_BY_LOOP = 2
/** A measurement is begun anew at most so many times: a loop that never turns in time would never be measured at all. */
const MOST_INVALIDATIONS = 3
/** Evidence that was found false so often in a row is not believed for so long, ms, at the most. */
const MOST_DISTRUST_MS = 16_000

/** In a halt the limit is raised by this factor each time, and by this at the most. */
const HALT_BY = 1.5
const HALT_MOST = 4

type Phase = 'open' | 'reference' | 'probe' | 'rest'

export class ConcurrencyLimiter implements Limiter {
  readonly #tuning: LimiterTuning
  readonly #busyMs: () => number
  readonly #loop: LoopLoad
  readonly #kinds: WaitingKinds
  /** Of those who count. */
  #limit: number
  #phase: Phase = 'open'
  #inService = 0
  #bound = false
  #boundSince = 0
  #unboundAt = Number.NEGATIVE_INFINITY
  /** Of the last answers: mean service time, and mean of its squares. */
  #meanMs = 0
  #squareMs = 0
  #answeredAt = 0
  #someGaveUp = false
  /** When it was last noticed that nobody had been answered for long: answers of those who came before say nothing of the limit. */
  #haltedAt = -1
  /** While it is limited: the limit before the halt; 0 when there is none. */
  #limitBeforeHalt = 0

  // Open.
  #grewAt = 0
  #growing = true
  /** Until then nobody is believed to wait for the others: that was found to be wrong. */
  #distrustUntil = 0
  #distrustMs = 0

  // Limited.
  /** What is scarce is the loop. */
  #byLoop = false
  /** The search began because they wait for each other. */
  #contended = false
  readonly #window = new Throughput()
  #countedUntil = 0
  #busyThen = 0
  #invalidations = 0
  /** Those admitted under the limit before are still to leave. */
  #settling = false
  #changedAt = 0
  /** What throughput at a lower limit is compared with. */
  #reference = { rate: 0, limit: 0 }
  /**
   * While it rests: the mean rate, of how many measurements, how many differed in a row, and whether the loop, which was
   * scarce, rests.
   */
  readonly #steady = { rate: 0, count: 0, changes: 0, rested: false }
  #lookAt = 0

  constructor(busyMs: () => number, tuning: LimiterTuning = LIMITER_TUNING) {
    this.#busyMs = busyMs
    this.#tuning = tuning
    this.#limit = tuning.initial
    this.#loop = new LoopLoad(busyMs, tuning)
    this.#kinds = new WaitingKinds(tuning)
  }

  get limit(): number {
    return Math.min(this.#tuning.max, Math.floor(this.#limit) + this.#kinds.uncounted)
  }

  get phase(): string {
    return this.#phase
  }

  get searching(): boolean {
    return this.#phase === 'open' && this.#growing && !this.#loop.scarce
  }

  /** In service, and counted. */
  get #inflight(): number {
    return this.#inService - this.#kinds.uncounted
  }

  admitted(nowMs: number, kind = 0): void {
    this.#pass(nowMs)
    if (this.#inService++ === 0) this.#answeredAt = nowMs
    this.#kinds.admitted(nowMs, kind)
    this.#growKinds(nowMs)
  }

  among(kind: number): number {
    return this.#kinds.inside(kind)
  }

  completed(nowMs: number, serviceMs: number, kind = 0, among = 0): void {
    this.#pass(nowMs)
    this.#inService--
    this.#answeredAt = nowMs
    this.#haltEnds(nowMs - serviceMs)
    this.#loop.judge(nowMs)
    const counts = this.#kinds.counts(kind)
    this.#kinds.completed(nowMs, serviceMs, kind, !this.#loop.busy)
    if (!this.#loop.busy && (this.#phase === 'open' || !counts)) this.#lookForContention(nowMs, serviceMs, kind, among)
    if (!counts) return
    const weight = this.#meanMs === 0 ? 1 : ANSWER_WEIGHT
    this.#meanMs += (serviceMs - this.#meanMs) * weight
    this.#squareMs += (serviceMs * serviceMs - this.#squareMs) * weight
    if (this.#phase === 'open') {
      this.#grow(nowMs, serviceMs)
      this.#lookForLoop(nowMs)
    } else if (this.#settled(nowMs) && this.#measures) {
      this.#window.count(serviceMs)
      if (this.#suffices) this.#learn(nowMs)
    }
  }

  dropped(nowMs: number, serviceMs?: number, kind = 0): void {
    this.#pass(nowMs)
    this.#inService--
    this.#someGaveUp = true
    this.#kinds.left(kind, serviceMs === undefined ? undefined : nowMs - serviceMs)
  }

  gaveUp(kind = 0): void {
    this.#someGaveUp = true
    this.#kinds.gaveUp(kind)
  }

  limitReached(nowMs: number): void {
    this.#pass(nowMs)
    this.#bound = true
    this.#boundSince = nowMs
    // What was learned may be another traffic's.
    if (this.#phase !== 'open' && nowMs - this.#unboundAt > this.#tuning.forgetMs) this.#open()
    // A burst is no overload before growth has been tried.
    if (this.#phase === 'open') this.#grewAt = nowMs
    this.#growing = true
    this.#loop.judge(nowMs)
  }

  limitCleared(nowMs: number): void {
    this.#pass(nowMs)
    this.#bound = false
    this.#unboundAt = nowMs
  }

  tick(nowMs: number): void {
    this.#loop.judge(nowMs)
    this.#growKinds(nowMs)
    if (this.#phase === 'open') this.#lookForLoop(nowMs)
    else this.#settled(nowMs)
    if (this.#bound && !this.#loop.busy) this.#lookForHalt(nowMs)
  }

  invalidated(nowMs: number): void {
    if (this.#phase !== 'open' && this.#invalidations++ < MOST_INVALIDATIONS) this.#beginWindow(nowMs)
  }

  /** What service takes those who are there at some moment, ms: of the quick ones few are. */
  get #typicalMs(): number {
    return this.#meanMs === 0 ? 0 : this.#squareMs / this.#meanMs
  }

  /** Nobody is answered though the loop rests: something has come to a halt, or slow ones hold all the permits. */
  #lookForHalt(nowMs: number): void {
    const { haltMs, initial } = this.#tuning
    const quietMs = nowMs - this.#answeredAt
    if (quietMs <= Math.max(haltMs, 2 * this.#meanMs)) return
    this.#haltedAt = nowMs
    if (this.#someGaveUp) {
      // Under this limit all take longer than their clients wait.
      this.#limit = Math.max(Math.min(initial, this.#limit), Math.floor(this.#limit / 2))
      this.#someGaveUp = false
      this.#answeredAt = nowMs
    } else if (this.#phase !== 'open') {
      this.#limitBeforeHalt ||= this.#limit
      this.#limit = Math.min(Math.ceil(this.#limit * HALT_BY), HALT_MOST * this.#limitBeforeHalt)
      this.#answeredAt = nowMs
    }
  }

  /**
   * Somebody was answered who came at `startedMs`. Whoever came before a halt was held by it: it is over, and the limit is
   * what it was. Whoever came later tells that there was none: slow ones hold the permits, and more are needed.
   */
  #haltEnds(startedMs: number): void {
    if (this.#limitBeforeHalt === 0) return
    if (startedMs < this.#haltedAt) this.#limit = this.#limitBeforeHalt
    this.#limitBeforeHalt = 0
  }

  // Open ----------------------------------------------------------------------------------------------------------

  #open(): void {
    this.#phase = 'open'
    this.#settling = false
    this.#kinds.forget()
  }

  /** The limit doubles in the time that those who are there take, however many quick ones come and go beside. */
  #grow(nowMs: number, serviceMs: number): void {
    if (this.#loop.busy || 2 * this.#inflight <= this.#limit || this.#limit >= this.#tuning.max) return
    if (nowMs - serviceMs <= this.#haltedAt) return
    this.#limit += Math.min(1, serviceMs / this.#typicalMs)
    this.#grewAt = nowMs
  }

  #growKinds(nowMs: number): void {
    if (this.#kinds.grow(nowMs, this.#bound ? this.#boundSince : nowMs, !this.#loop.busy)) this.#grewAt = nowMs
    this.#growing = nowMs - this.#grewAt < this.#tuning.haltMs
  }

  #lookForContention(nowMs: number, serviceMs: number, kind: number, among: number): void {
    const share = this.#kinds.contended(nowMs, kind, among, serviceMs)
    if (share === undefined || nowMs < this.#distrustUntil || this.#phase !== 'open') return
    // A few that wait for each other are no reason for a limit, which a burst would meet.
    if (!this.#bound && 2 * this.#inflight < this.#tuning.initial) return
    // So little is in service at any limit.
    if (2 * serviceMs < this.#tuning.workElsewhereMs) return
    this.#byLoop = false
    this.#contended = true
    this.#limitTo(Math.min(this.#inflight, Math.ceil(this.#inflight * share * ABOVE_KNEE)), nowMs)
  }

  #lookForLoop(nowMs: number): void {
    if (!this.#loop.scarce || !this.#bound) return
    this.#byLoop = true
    this.#contended = false
    this.#limitTo(Math.min(this.#limit, Math.max(this.#inflight, this.#tuning.initial)), nowMs)
  }

  // Limited -------------------------------------------------------------------------------------------------------

  #limitTo(limit: number, nowMs: number): void {
    this.#phase = 'reference'
    if (!this.#bound) this.#unboundAt = nowMs
    this.#reference = { rate: 0, limit: Math.max(this.#inflight, limit) }
    this.#limit = Math.max(1, Math.floor(limit))
    // While those above the limit leave throughput is what it can be.
    this.#settling = false
    this.#beginWindow(nowMs)
  }

  #probeAt(limit: number, nowMs: number): void {
    this.#phase = 'probe'
    this.#limit = Math.max(1, Math.round(limit))
    this.#settling = true
    this.#changedAt = nowMs
  }

  #restAt(limit: number, nowMs: number): void {
    this.#phase = 'rest'
    this.#contended = false
    this.#limit = Math.max(1, Math.min(this.#tuning.max, Math.ceil(limit)))
    Object.assign(this.#steady, { rate: 0, count: 0, changes: 0, rested: false })
    this.#lookAt = nowMs + this.#tuning.lookEveryMs
    this.#settling = true
    this.#changedAt = nowMs
  }

  /** True once those admitted under the limit before have left, so that what is measured belongs to the new one. */
  #settled(nowMs: number): boolean {
    if (!this.#settling) return true
    const since = nowMs - this.#changedAt
    if (this.#inflight > this.#limit) {
      // A look that keeps everybody out for long costs more than it can teach.
      if (this.#phase === 'probe' && !this.#contended && since > this.#tuning.probeMs)
        this.#restAt(this.#reference.limit, nowMs)
      return false
    }
    if (since < Math.min(this.#typicalMs, this.#tuning.maxWindowMs)) return false
    this.#settling = false
    this.#beginWindow(nowMs)
    return true
  }

  /** Whether what happens now says something about the limit. */
  get #measures(): boolean {
    return this.#bound || (this.#byLoop && this.#loop.busy) || this.#phase === 'reference'
  }

  #pass(nowMs: number): void {
    if (this.#phase === 'open') return
    const busyMs = this.#busyMs()
    if (this.#measures) this.#window.pass(nowMs - this.#countedUntil, busyMs - this.#busyThen)
    this.#countedUntil = nowMs
    this.#busyThen = busyMs
  }

  #beginWindow(nowMs: number): void {
    this.#pass(nowMs)
    this.#window.clear()
  }

  /** So many answers over so long are enough to compare throughputs. */
  get #suffices(): boolean {
    const { samples, busyWindowMs, maxWindowMs } = this.#tuning
    const { answers, overMs } = this.#window
    // While a limit is searched for, what service took under the one before says nothing; a mix of cheap and heavy ones does
    // not show in one window.
    const meanMs = this.#byLoop ? this.#meanMs : this.#window.meanMs
    // Requests that share a pool leave in volleys, one a service time: whole ones must fit in. And in one turn of the loop,
    // all of it busy, dozens of cheap ones may be answered.
    if (overMs < Math.max(busyWindowMs, Math.min(3 * meanMs, maxWindowMs))) return false
    return answers >= samples || overMs >= Math.max(maxWindowMs, 4 * meanMs)
  }

  #learn(nowMs: number): void {
    const { loopBusy, fell } = this.#tuning
    // What was scarce when a search began may rest because of the search.
    const byLoop = this.#phase === 'probe' ? this.#byLoop : this.#window.busy >= loopBusy
    const rests = this.#byLoop && !byLoop
    this.#byLoop = byLoop
    this.#invalidations = 0
    const { busy } = this.#window
    const rate = byLoop ? this.#window.rateByWork : this.#window.rate
    this.#beginWindow(nowMs)
    if (this.#phase === 'rest') this.#stay(rate, rests, nowMs)
    else if (this.#phase === 'reference') {
      this.#reference.rate = rate
      // Half of where they are said to begin to wait for each other shows whether they do.
      if (this.#contended) this.#probeAt(this.#limit / 2, nowMs)
      else if (byLoop) this.#goDown(rate, nowMs)
      // It was a burst of work, and nothing else.
      else this.#open()
    } else if (this.#limit > this.#reference.limit) {
      this.#found((this.#reference.limit * rate) / this.#reference.rate, this.#limit, rate, nowMs)
    } else {
      this.#reference.rate = Math.max(rate, this.#reference.rate)
      // A loop that is as busy as before does as much as before, whatever the mix of cheap and heavy ones is by now.
      const kept = byLoop ? busy / loopBusy : rate / (fell * this.#reference.rate)
      if (kept >= 1) this.#goDown(rate, nowMs)
      else if (byLoop) this.#restAt(Math.max(this.#worth(rate), (2 * this.#limit) / busy), nowMs)
      else this.#found((this.#limit * this.#reference.rate) / rate, this.#reference.limit, this.#reference.rate, nowMs)
    }
  }

  /** Where throughput ceases to be in proportion to the limit, going by what it is at this limit and at a lower one. */
  #found(knee: number, limit: number, rate: number, nowMs: number): void {
    // A limit that was made by a knee is not far above it.
    const byKnee = !this.#contended && limit === this.#reference.limit
    if (knee < (byKnee ? 1 : PROPORTION) * limit) {
      this.#distrustMs = 0
      // No more above it than what may be in service anyway, or who waits for a slow service would wait for two.
      const above = Math.min(knee, rate * this.#tuning.workElsewhereMs)
      this.#restAt(Math.max(this.#worth(rate), knee + above), nowMs)
    } else if (byKnee) this.#probeAt(2 * limit, nowMs)
    else this.#nothingIsScarce(nowMs)
  }

  /** The limit that is so much work at this throughput: none lower is worth a look. */
  #worth(rate: number): number {
    return Math.max(1, Math.round(rate * (this.#byLoop ? this.#tuning.workMs : this.#tuning.workElsewhereMs)))
  }

  /** Looks at half the limit; at a quarter where the loop is scarce, for there the knee is one or two. */
  #goDown(rate: number, nowMs: number): void {
    const floor = this.#worth(rate)
    const next = Math.max(floor, Math.round(this.#limit / (this.#byLoop ? 4 : 2)))
    if (next < this.#limit) this.#probeAt(next, nowMs)
    else this.#restAt(Math.max(floor, this.#limit), nowMs)
  }

  #nothingIsScarce(nowMs: number): void {
    this.#distrustMs = Math.min(this.#distrustMs * 2 || this.#tuning.distrustMs, MOST_DISTRUST_MS)
    this.#distrustUntil = nowMs + this.#distrustMs
    this.#limit = Math.max(this.#limit, this.#reference.limit)
    this.#open()
  }

  /** One more measurement at the limit where it rests. `rests`: so does the loop, which was scarce before. */
  #stay(rate: number, rests: boolean, nowMs: number): void {
    const steady = this.#steady
    const before = steady.rate
    steady.rate = before === 0 ? rate : before + (rate - before) * RATE_WEIGHT
    steady.count++
    const [less, more] = CHANGED
    // Where the loop is scarce another rate is another mix.
    steady.rested = rests || (steady.rested && !this.#byLoop)
    const changed = steady.rested || (!this.#byLoop && before > 0 && (rate < before * less || rate > before * more))
    steady.changes = changed ? steady.changes + 1 : 0
    const worth = this.#worth(steady.rate)
    if (steady.changes >= 2 && steady.rested) this.#open()
    else if (steady.count >= SURE && worth > this.#limit * (this.#byLoop ? RAISED_BY_LOOP : RAISED))
      this.#restAt(worth, nowMs)
    else if (steady.changes >= 2 || nowMs >= this.#lookAt) {
      this.#reference = { rate: steady.rate, limit: this.#limit }
      this.#goDown(steady.rate, nowMs)
    }
  }
}
