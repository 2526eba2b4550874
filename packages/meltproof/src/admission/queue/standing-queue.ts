/**
 * Who waits, who is next, and who is shed. A queue that drains is a burst: first come, first served, nobody shed. A queue
 * that stands is overload: newest first, and whoever has waited too long is told so at once. This is CoDel's distinction
 * (Nichols & Jacobson, ACM Queue 2012) with adaptive LIFO (Maurer, "Fail at Scale", ACM Queue 2015).
 *
 * Entries wait in lines, the best first: classes where requests have levels (criticality.ts); else those within their fair
 * shares before the others (fairness/), clients before kinds.
 */
import { ClientShares } from '../fairness/client-shares.ts'
import { FairShares } from '../fairness/fair-shares.ts'
import { KINDS } from '../fairness/known-kinds.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { ShedReason } from '../shed-reason.ts'
import { ClassQueue } from './class-queue.ts'
import { CRITICALITIES, classOf, LEVELS, levelOf } from './criticality.ts'
import { Cutoff } from './cutoff.ts'
import { DeparturePace } from './departure-pace.ts'
import type { Waiting } from './wait-queue.ts'

/** Milliseconds unless the name says otherwise. docs/admission-curves.md has the curves. */
export interface StandingTuning {
  /** CoDel's interval: how long a queue must fail to drain before it is called standing. */
  readonly intervalMs: number
  /** What is promised: an answer within this. */
  readonly promiseMs: number
  /** A backlog below this share of the promise drains before anybody is told no. */
  readonly drains: number
  /** The same once a queue has stood within {@link rememberMs}, ms of waiting. */
  readonly targetMs: number
  /** For so long after a queue has stood, it is not given another chance to drain. */
  readonly rememberMs: number
  /** Nobody waits longer than this, standing or not: most of the usual SLO of one second. */
  readonly maxWaitMs: number
  /** In a standing queue nobody waits longer than this, or than {@link staleDepartures} departures take. */
  readonly staleMs: number
  /** How many departures' worth of time a request may wait in a standing queue, so that slow services stay busy. */
  readonly staleDepartures: number
  /** The last few in a standing queue may be so many times as old: they take the permits that come free next. */
  readonly keptLonger: number
  /**
   * In a standing queue a request is kept only when this share of the time between two departures has passed since the
   * last one was: at 0.25 there are four to choose from for every permit, and everybody else is told on arrival.
   */
  readonly freshGaps: number
  /** So many intervals in a row without shrinking call a queue standing; chance alone manages that rarely. */
  readonly intervalsToStand: number
  /** The same once a queue has stood within {@link rememberMs}. */
  readonly intervalsToStandAgain: number
  /** Requests that may wait at once; each holds a socket and its parsed head. */
  readonly maxQueued: number
}

export const STANDING_TUNING: StandingTuning = {
  intervalMs: 100,
  promiseMs: 1000,
  drains: 0.35,
  targetMs: 50,
  rememberMs: 10_000,
  maxWaitMs: 800,
  staleMs: 40,
  staleDepartures: 8,
  keptLonger: 3,
  freshGaps: 0.25,
  intervalsToStand: 5,
  intervalsToStandAgain: 2,
  maxQueued: 4096,
}

/** What the queue asks and does outside. An entry is shed, taken or removed once. */
export interface QueueHooks<E extends Waiting> {
  /** Answers a request that waited, and was just taken out, that it is shed. */
  readonly shed: (entry: E, reason: ShedReason) => void
  /** The level of a request (criticality.ts); absent when all are alike. */
  readonly level?: ((entry: E) => number) | undefined
  /** The kind of a request, a small whole number (known-kinds.ts); absent where nobody is to be fair between kinds. */
  readonly kind?: ((entry: E) => number) | undefined
  /** Whose request it is, as a hash (client-shares.ts); absent where nobody is to be fair between clients. */
  readonly client?: ((entry: E) => number) | undefined
}

export class StandingQueue<E extends Waiting> {
  readonly #limiter: Limiter
  readonly #hooks: QueueHooks<E>
  readonly #tuning: StandingTuning
  readonly #queue: ClassQueue<E>
  readonly #pace: DeparturePace
  /** Undefined when all are alike. */
  readonly #cutoff: Cutoff | undefined
  /** Undefined when there are levels, or no kinds. */
  readonly #shares: FairShares | undefined
  /** Undefined when there are levels, or clients are not told apart. */
  readonly #clients: ClientShares | undefined
  /** Requests in one of the first so many lines can be served, and waiting is chance. */
  readonly #wantedLines: number
  /** When somebody of this line or a better one was last kept. */
  readonly #lastKeptAt: number[]
  #intervalEndsAt = 0
  /** At the end of the last intervals, as long as it is more than may drain, ms. */
  readonly #backlogs: number[] = []
  #stoodAt = Number.NEGATIVE_INFINITY
  #standing = false
  #emptySince = 0

  constructor(limiter: Limiter, hooks: QueueHooks<E>, tuning: StandingTuning = STANDING_TUNING) {
    this.#limiter = limiter
    this.#hooks = hooks
    this.#tuning = tuning
    this.#pace = new DeparturePace(tuning.intervalMs)
    const alike = hooks.level === undefined
    this.#shares = alike && hooks.kind !== undefined ? new FairShares(KINDS) : undefined
    this.#clients = alike && hooks.client !== undefined ? new ClientShares() : undefined
    this.#cutoff = alike ? undefined : new Cutoff()
    const lines = (this.#clients === undefined ? 1 : 2) * (this.#shares === undefined ? 1 : 2)
    this.#wantedLines = lines === 1 ? 0 : lines / 2
    const classes = alike ? lines : CRITICALITIES.length
    this.#queue = new ClassQueue(classes)
    this.#lastKeptAt = new Array<number>(classes).fill(0)
  }

  /** How many wait. */
  get size(): number {
    return this.#queue.size
  }

  /** True while waiting is overload and not merely a burst. */
  get standing(): boolean {
    return this.#standing && this.#queue.size > 0
  }

  /** How long one that came now would wait, as far as is known, ms: in a standing queue the newest is next. */
  get expectedWaitMs(): number {
    return this.#standing ? 0 : this.#backlogMs
  }

  /** A request that can not start came: it waits from now on, or is told a reason at once. */
  push(entry: E, nowMs: number): 'wait' | ShedReason {
    const line = this.#lineFor(entry, nowMs)
    entry.line = line
    const above = this.#cutoff === undefined || this.#queue.size === 0 || this.#cutoff.arrived(entry.level!)
    if ((this.#standing && !above) || (!this.#wanted(entry) && this.#enoughWait(line, nowMs))) {
      this.#expire(nowMs)
      return 'standing'
    }
    if (this.#queue.size === 0) this.#beginWaiting(nowMs)
    else if (this.#queue.size >= this.#tuning.maxQueued) {
      // First come, first served: the newest has the longest wait ahead. Newest first: the oldest has no hope left.
      const worst = this.#queue.worstClass()
      if (line > worst || (line === worst && !this.#standing)) return 'full'
      this.#hooks.shed(this.#queue.takeOldestOf(worst)!, 'full')
    }
    entry.arrivedAt = nowMs
    this.#lastKeptAt.fill(nowMs, line)
    this.#queue.push(entry, line)
    // Hopeless growth is seen at once, without waiting for an interval to pass.
    if (!this.#limiter.searching && this.#backlogMs > 2 * this.#tuning.maxWaitMs) this.#standing = true
    if (this.#standing) this.#expire(nowMs)
    return 'wait'
  }

  /**
   * What {@link push} would tell anybody who came now, asked before anything was spent on the request; undefined when
   * that is not known without it.
   */
  refuses(nowMs: number, kind?: number, client?: number): ShedReason | undefined {
    if (this.#hooks.level !== undefined) return undefined
    if (this.#shares !== undefined && kind === undefined) return undefined
    if (this.#clients !== undefined && client === undefined) return undefined
    const line = this.#lineOf(kind!, client!, nowMs)
    if (line < this.#wantedLines || !this.#enoughWait(line, nowMs)) return undefined
    this.#expire(nowMs)
    return 'standing'
  }

  /** Somebody of this kind and client was told what {@link refuses} said. */
  refused(nowMs: number, kind: number, client = 0): void {
    this.#shares?.arrived(kind, nowMs, this.#limiter.limit)
    this.#clients?.arrived(client, nowMs, this.#limiter.limit)
  }

  /** Takes out who starts next; undefined when nobody waits. */
  next(nowMs: number): E | undefined {
    const entry = this.#queue.takeBest(this.#standing ? 'newest' : 'oldest')
    if (this.#queue.size === 0) this.#emptySince = nowMs
    return entry
  }

  /** Takes out one whose client went away. False when it did not wait any more. */
  remove(entry: E, nowMs: number): boolean {
    if (entry.left || !this.#queue.remove(entry, entry.line!)) return false
    if (this.#queue.size === 0) this.#emptySince = nowMs
    return true
  }

  /** A request left service while somebody waits; with who it was and its time in service if it was answered. */
  departed(nowMs: number, entry?: E, serviceMs = 0): void {
    this.#cutoff?.departed(nowMs)
    if (entry !== undefined) {
      this.#shares?.served(this.#hooks.kind!(entry), serviceMs)
      this.#clients?.served(this.#hooks.client!(entry), serviceMs)
    }
    this.#pace.departed(nowMs)
  }

  /** Time passed: sheds those who have waited too long. */
  expire(nowMs: number): void {
    this.#observe(nowMs)
    this.#expire(nowMs)
  }

  /** {@link expire} must be called again within so many milliseconds; Infinity when nobody waits. */
  dueInMs(nowMs: number): number {
    const oldest = this.#queue.oldest()
    if (oldest === undefined) return Number.POSITIVE_INFINITY
    return Math.max(1, Math.min(this.#longestWait(oldest) - (nowMs - oldest.arrivedAt), this.#tuning.intervalMs))
  }

  #lineFor(entry: E, nowMs: number): number {
    const { level, kind, client } = this.#hooks
    if (level !== undefined) {
      const given = level(entry)
      // A level that is none is a default one: the queue has nobody to complain to.
      entry.level = given >= 0 && given < LEVELS ? Math.floor(given) : levelOf()
      return classOf(entry.level)
    }
    const kindOf = this.#shares === undefined ? 0 : kind!(entry)
    const clientOf = this.#clients === undefined ? 0 : client!(entry)
    this.refused(nowMs, kindOf, clientOf)
    const line = this.#lineOf(kindOf, clientOf, nowMs)
    if (line === 0) this.#shares?.comesFirst(kindOf)
    if (line < this.#wantedLines) this.#clients?.comesFirst(clientOf)
    return line
  }

  /** The best one for those whose client and kind are within their shares; and rather the client than the kind. */
  #lineOf(kind: number, client: number, nowMs: number): number {
    const clientFits = this.#clients === undefined || (this.#standing && this.#clients.within(client, nowMs))
    const kindFits = this.#shares === undefined || (this.#standing && this.#shares.within(kind, nowMs))
    return (kindFits ? 0 : 1) + (clientFits ? 0 : this.#shares === undefined ? 1 : 2)
  }

  /** Above the cutoff, not on it, or of a kind that fits: all of these can be served, and waiting is chance. */
  #wanted(entry: E): boolean {
    if (this.#wantedLines > 0) return entry.line! < this.#wantedLines
    return this.#cutoff !== undefined && entry.level! < this.#cutoff.line && this.#cutoff.drawn
  }

  /**
   * Newest first is only worth the newest there is once per permit: where far more arrive than leave, most can be told
   * on arrival, without the cost of waiting.
   */
  #enoughWait(line: number, nowMs: number): boolean {
    return (
      this.#standing &&
      this.#queue.sizeThrough(line) > this.#limiter.limit &&
      nowMs - this.#lastKeptAt[line]! < this.#pace.gapMs * this.#tuning.freshGaps
    )
  }

  #beginWaiting(nowMs: number): void {
    // Empty for a moment is not over: under load that hardly exceeds capacity a queue runs empty now and then.
    if (nowMs - this.#emptySince > this.#tuning.intervalMs) {
      this.#standing = false
      this.#backlogs.length = 0
      this.#cutoff?.open(nowMs)
      this.#shares?.open(nowMs)
      this.#clients?.open(nowMs)
    }
    this.#pace.begin(nowMs, nowMs - this.#emptySince)
    this.#intervalEndsAt = nowMs + this.#tuning.intervalMs
  }

  /** How long a request that arrives now would wait if everybody before it is served first, ms. */
  get #backlogMs(): number {
    return this.#queue.size * this.#pace.gapMs
  }

  /**
   * Closes the observation interval when it is over: the queue stands when its backlog stays up and does not shrink.
   * CoDel watches the shortest wait instead; but after a stall all requests arrive at one instant, and their waits
   * grow one by one while the queue in truth drains.
   */
  #observe(nowMs: number): void {
    if (nowMs < this.#intervalEndsAt) return
    const tuning = this.#tuning
    const backlog = this.#backlogMs
    if (this.#standing) this.#stoodAt = nowMs
    const stood = nowMs - this.#stoodAt < tuning.rememberMs
    const tolerated = stood ? tuning.targetMs : tuning.promiseMs * tuning.drains
    if (this.#limiter.searching || backlog <= tolerated) this.#backlogs.length = 0
    else {
      const intervals = stood ? tuning.intervalsToStandAgain : tuning.intervalsToStand
      const before = this.#backlogs.length < intervals ? undefined : this.#backlogs.shift()!
      this.#backlogs.push(backlog)
      if (backlog > tuning.maxWaitMs || (before !== undefined && backlog >= before)) this.#standing = true
    }
    this.#intervalEndsAt = nowMs + tuning.intervalMs
  }

  /** How long the request that has waited longest may still be kept, at the most, ms since it arrived. */
  #longestWait(entry: E): number {
    const { maxWaitMs, staleMs, staleDepartures, keptLonger } = this.#tuning
    if (!this.#standing) return maxWaitMs
    const stale = Math.max(staleMs, staleDepartures * this.#pace.gapMs)
    const few = this.#queue.size <= this.#limiter.limit
    return Math.min(maxWaitMs, few || this.#wanted(entry) ? stale * keptLonger : stale)
  }

  #expire(nowMs: number): void {
    for (let oldest = this.#queue.oldest(); oldest !== undefined; oldest = this.#queue.oldest()) {
      if (nowMs - oldest.arrivedAt < this.#longestWait(oldest)) return
      this.#queue.remove(oldest, oldest.line!)
      if (this.#queue.size === 0) this.#emptySince = nowMs
      this.#hooks.shed(oldest, this.#standing ? 'stale' : 'late')
    }
  }
}
