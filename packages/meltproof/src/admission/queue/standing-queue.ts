/**
 * Decides which request waits, starts next or is shed. A queue that drains is a burst: first come, first served,
 * without sheds. A queue that stands is overload: newest first, and a request that waited too long is shed at once.
 * This is CoDel's distinction (Nichols & Jacobson, ACM Queue 2012) with adaptive LIFO (Maurer, "Fail at Scale", ACM
 * Queue 2015). In a slight overload the queue at first keeps its order: shedding it would cost more than that saves.
 *
 * Entries wait in priority classes, the best first. Where requests have levels, these are the classes of
 * criticality.ts. Otherwise requests within their fair shares come first (fairness/), and the client's share weighs
 * more than the kind's.
 */
import { ClientShares } from '../fairness/client-shares.ts'
import { FairShares } from '../fairness/fair-shares.ts'
import { KINDS } from '../fairness/known-kinds.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { ShedReason } from '../sheds.ts'
import { ClassQueue } from './class-queue.ts'
import { CRITICALITIES, classOf, LEVELS, levelOf } from './criticality.ts'
import { Cutoff } from './cutoff.ts'
import { DeparturePace } from './departure-pace.ts'
import type { Waiting } from './wait-queue.ts'

export type StandingTuning = { readonly [name in keyof typeof STANDING_TUNING]: number }

export const STANDING_TUNING = {
  /** CoDel's interval, ms: the queue is judged at the end of each. */
  intervalMs: 100,
  promiseMs: 1000,
  /** A backlog below this share of promiseMs drains without sheds. Answers within promiseMs, ms, are in time. */
  drains: 0.6,
  /** {@link drains} for {@link rememberMs} after a queue stood: a larger backlog would then make many answers late. */
  drainsAgain: 0.3,
  /** How long {@link drainsAgain} applies after a queue has stood, ms. */
  rememberMs: 10_000,
  /** A queue that stays empty for longer than this has ended, ms. A shorter pause does not end an overload. */
  restMs: 200,
  /** The longest wait, ms, except for {@link few}. A burst that drains within it is answered, as without meltproof. */
  maxWaitMs: 2000,
  /** The longest wait in a standing queue, ms, unless {@link staleDepartures} departures take longer. */
  staleMs: 40,
  /** A request may wait in a standing queue for this many departures, so that slow services stay busy. */
  staleDepartures: 8,
  /** Multiplies that wait within shares or the cutoff, and for all requests if no more wait than there are permits. */
  keptLonger: 3,
  /** A long queue accepts one request per this share of the time between departures: 0.25 gives four per departure. */
  freshGaps: 0.25,
  /** A queue stands if its backlog has not shrunk over this many intervals: chance rarely produces that. */
  intervalsToStand: 5,
  /** {@link intervalsToStand} for {@link rememberMs} after a queue has stood. */
  intervalsToStandAgain: 2,
  maxQueued: 16_384,
  /**
   * While at most this many requests wait, and the service makes progress, they may wait longer than {@link maxWaitMs}:
   * they can belong to one page, whose client waits for all of them. Once one has waited that long, newer requests are
   * served first. The oldest is shed when more requests wait, or when this many newer ones have overtaken it: clients
   * that keep sending requests are not loading a single page.
   */
  few: 64,
} as const

/** A backlog above maxWaitMs is hopeless once the pace is sure; while departures speed up, above this multiple. */
const HOPELESS_IF_FASTER = 1.5
/** The multiple of maxWaitMs until the pace is sure, because a queue's first mean gaps may be too long. */
const HOPELESS_IF_UNSURE = 3
/** A queue with a hopeless backlog stands unless it shrinks by at least this many ms per ms, as bursts do. */
const DRAINING = 0.7
/** The shrinking is measured over this many departures, and over at least one interval. */
const DRAIN_DEPARTURES = 8
/** An overload is slight if the requests ahead of a new one increase by less than this many ms of work per ms. */
const SLIGHT = 0.15
/** In a slight overload with short service, arrivals are shed above a backlog that falls by this, ms per ms. */
const REDUCED_BY = 0.06
/** Service is short if it takes less than this share of promiseMs. Time above that lowers the tolerated backlog. */
const SHORT = 0.1
/** At most this many requests are shed at once for waiting too long, because a shed takes up to 0.1 ms. */
const MOST_EXPIRED = 512

/** Each entry is shed, taken or removed exactly once. */
export interface QueueHooks<E extends Waiting> {
  readonly shed: (entry: E, reason: ShedReason) => void
  readonly level?: ((entry: E) => number) | undefined
  /** The kind of a request (known-kinds.ts); absent without fairness between kinds. */
  readonly kind?: ((entry: E) => number) | undefined
  /** The hash of a request's client (client-shares.ts); absent without fairness between clients. */
  readonly client?: ((entry: E) => number) | undefined
}

export class StandingQueue<E extends Waiting> {
  readonly #limiter: Limiter
  readonly #hooks: QueueHooks<E>
  readonly #tuning: StandingTuning
  readonly waiting: ClassQueue<E>
  readonly #pace: DeparturePace
  readonly #cutoff: Cutoff | undefined
  readonly #shares: FairShares | undefined
  readonly #clients: ClientShares | undefined
  /** Requests in this many best classes are within shares (of clients, if known), and never shed as `standing`. */
  readonly #wantedClasses: number
  readonly #lastKeptAt: number[]
  /**
   * True if requests wait for the limit: then departures from service give the queue's pace. Otherwise they only wait
   * for turns of the event loop, and departures of requests that started long before say nothing about the queue.
   */
  isBound = false
  #intervalEndsAt = 0
  /** The queue at the ends of the last intervals with too much backlog, without those in which departures sped up. */
  readonly #queues: { readonly atMs: number; readonly ahead: number; readonly backlogMs: number }[] = []
  /** When the backlog was last judged hopeless, ms; Infinity while it is not. */
  #hopelessAt = Number.POSITIVE_INFINITY
  /** The number of requests ahead at that time. It falls as the backlog drains. */
  #hopelessAhead = 0
  /** Cumulative: requests that left the queue without starting. They do not show that it drains. */
  #gone = 0
  #stoodAt = Number.NEGATIVE_INFINITY
  #standing = false
  /** True while a slight overload is met by serving the waiting requests in order and shedding arriving ones. */
  #reduces = false
  /** When the backlog must then be reduced to 0, ms. */
  #reducedAt = 0
  #emptySince = 0
  /** Number of starts that took the newest entry instead of the oldest. */
  #overtakes = 0

  constructor(limiter: Limiter, hooks: QueueHooks<E>, tuning: StandingTuning = STANDING_TUNING) {
    this.#limiter = limiter
    this.#hooks = hooks
    this.#tuning = tuning
    this.#pace = new DeparturePace(tuning.intervalMs)
    const hasNoLevels = hooks.level === undefined
    this.#shares = hasNoLevels && hooks.kind !== undefined ? new FairShares(KINDS) : undefined
    this.#clients = hasNoLevels && hooks.client !== undefined ? new ClientShares() : undefined
    this.#cutoff = hasNoLevels ? undefined : new Cutoff()
    const shareClasses = (this.#clients === undefined ? 1 : 2) * (this.#shares === undefined ? 1 : 2)
    this.#wantedClasses = shareClasses === 1 ? 0 : shareClasses / 2
    const classes = hasNoLevels ? shareClasses : CRITICALITIES.length
    this.waiting = new ClassQueue(classes)
    this.#lastKeptAt = new Array<number>(classes).fill(0)
  }

  get standing(): boolean {
    return this.#standing && this.waiting.size > 0
  }

  /** The expected wait of a request that arrives now, ms; 0 if the newest starts next, or the pace is unsure. */
  get expectedWaitMs(): number {
    return this.#newestFirst || !this.#pace.isSure ? 0 : this.#backlogMs
  }

  push(entry: E, nowMs: number): 'wait' | ShedReason {
    const priorityClass = this.#classFor(entry, nowMs)
    entry.priorityClass = priorityClass
    const above = this.#cutoff === undefined || this.waiting.size === 0 || this.#cutoff.arrived(entry.level!)
    if ((this.#standing && !above) || (!this.#wanted(entry) && this.#enoughWait(priorityClass, nowMs))) {
      this.#expire(nowMs)
      return 'standing'
    }
    if (this.waiting.size === 0) this.#beginWaiting(nowMs)
    else if (this.waiting.size >= this.#tuning.maxQueued) {
      // In first-come order a newcomer would wait longest, so it is shed. With newest first the oldest has no chance
      // left, so the oldest is shed.
      const worst = this.waiting.worstClass()
      if (priorityClass > worst || (priorityClass === worst && !this.#newestFirst)) return 'full'
      this.#hooks.shed(this.waiting.takeOldestOf(worst)!, 'full')
    }
    entry.arrivedAt = nowMs
    entry.overtakesThen = this.#overtakes
    this.#lastKeptAt.fill(nowMs, priorityClass)
    this.waiting.push(entry, priorityClass)
    if (this.#standing) this.#expire(nowMs)
    return 'wait'
  }

  /** A cheap check: the reason to shed a request that arrives now. Undefined if only {@link push} can decide. */
  refuses(nowMs: number, kind?: number, client?: number): ShedReason | undefined {
    if (this.#hooks.level !== undefined) return undefined
    if (this.#shares !== undefined && kind === undefined) return undefined
    if (this.#clients !== undefined && client === undefined) return undefined
    const priorityClass = this.#classOf(kind!, client!, nowMs)
    if (priorityClass < this.#wantedClasses || !this.#enoughWait(priorityClass, nowMs)) return undefined
    this.#expire(nowMs)
    return 'standing'
  }

  countArrival(nowMs: number, kind: number, client = 0): void {
    this.#shares?.arrived(kind, nowMs, this.#permits)
    this.#clients?.arrived(client, nowMs, this.#permits)
  }

  /**
   * True if an entry of this kind may start before those that wait. Under overload it may if its kind is within its
   * fair share; it may not where levels or clients decide the order.
   */
  mayOvertake(kind: number, nowMs: number): boolean {
    if (!this.#standing || (this.waiting.size === 0 && nowMs - this.#emptySince > this.#tuning.restMs)) return true
    if (this.#cutoff !== undefined || this.#clients !== undefined) return false
    return this.#shares === undefined || this.#shares.within(kind, nowMs)
  }

  /** Counts an entry that starts before those that wait. */
  overtaken(kind: number, client: number, nowMs: number): void {
    this.countArrival(nowMs, kind, client)
    this.#shares?.comesFirst(kind)
  }

  /** Called after restMs without any request: a long pause ends an overload, and the next requests may be a burst. */
  rested(): void {
    this.#stoodAt = Number.NEGATIVE_INFINITY
  }

  next(nowMs: number): E | undefined {
    const newest = this.#newestFirst || this.#someExceedLongestWait(nowMs)
    if (newest) this.#overtakes++
    const entry = this.#reduces ? this.waiting.takeOldest() : this.waiting.takeBest(newest ? 'newest' : 'oldest')
    if (!this.isBound) this.#pace.departed(nowMs)
    if (this.waiting.size === 0) this.#emptySince = nowMs
    return entry
  }

  remove(entry: E, nowMs: number): boolean {
    if (entry.dequeued || !this.waiting.remove(entry, entry.priorityClass!)) return false
    this.#gone++
    if (this.waiting.size === 0) this.#emptySince = nowMs
    return true
  }

  departed(nowMs: number, entry?: E, serviceMs = 0): void {
    this.#cutoff?.departed(nowMs)
    if (entry !== undefined) {
      this.#shares?.served(this.#hooks.kind!(entry), serviceMs)
      this.#clients?.served(this.#hooks.client!(entry), serviceMs)
    }
    if (this.isBound) this.#pace.departed(nowMs)
  }

  /** Judges the queue, and sheds requests that have waited too long. Call it as time passes. */
  expire(nowMs: number): void {
    this.#observe(nowMs)
    this.#expire(nowMs)
  }

  dueInMs(nowMs: number): number {
    const oldest = this.waiting.oldest()
    if (oldest === undefined) return Number.POSITIVE_INFINITY
    const { intervalMs } = this.#tuning
    const leftMs = this.#longestWait(oldest) - (nowMs - oldest.arrivedAt)
    // An entry that may wait longer than the longest wait is checked again at each interval.
    return leftMs <= 0 ? intervalMs : Math.max(1, Math.min(leftMs, intervalMs))
  }

  #classFor(entry: E, nowMs: number): number {
    const { level, kind, client } = this.#hooks
    if (level !== undefined) {
      const given = level(entry)
      entry.level = given >= 0 && given < LEVELS ? Math.floor(given) : levelOf()
      return classOf(entry.level)
    }
    const kindOf = this.#shares === undefined ? 0 : kind!(entry)
    const clientOf = this.#clients === undefined ? 0 : client!(entry)
    this.countArrival(nowMs, kindOf, clientOf)
    const priorityClass = this.#classOf(kindOf, clientOf, nowMs)
    if (priorityClass === 0) this.#shares?.comesFirst(kindOf)
    if (priorityClass < this.#wantedClasses) this.#clients?.comesFirst(clientOf)
    return priorityClass
  }

  /** The best class is for requests whose client and kind are within their shares; the client has more weight. */
  #classOf(kind: number, client: number, nowMs: number): number {
    const clientFits = this.#clients === undefined || (this.#standing && this.#clients.within(client, nowMs))
    const kindFits = this.#shares === undefined || (this.#standing && this.#shares.within(kind, nowMs))
    return (kindFits ? 0 : 1) + (clientFits ? 0 : this.#shares === undefined ? 1 : 2)
  }

  #wanted(entry: E): boolean {
    if (this.#wantedClasses > 0) return entry.priorityClass! < this.#wantedClasses
    return this.#cutoff !== undefined && entry.level! < this.#cutoff.level && this.#cutoff.isSet
  }

  /** Newest-first order needs one fresh request per permit, so most others can be shed on arrival. */
  #enoughWait(priorityClass: number, nowMs: number): boolean {
    if (this.#reduces) return this.#backlogMs > Math.max(this.#tuning.staleMs, REDUCED_BY * (this.#reducedAt - nowMs))
    return (
      this.#standing &&
      this.waiting.sizeThrough(priorityClass) > Math.max(this.#permits, this.#isSlow ? this.#tuning.few : 0) &&
      nowMs - this.#lastKeptAt[priorityClass]! < this.#pace.gapMs * this.#tuning.freshGaps
    )
  }

  #beginWaiting(nowMs: number): void {
    const isNew = nowMs - this.#emptySince > this.#tuning.restMs
    if (isNew) {
      this.#standing = false
      this.#reduces = false
      this.#hopelessAt = Number.POSITIVE_INFINITY
      this.#queues.length = 0
      this.#cutoff?.reset(nowMs)
      this.#shares?.reset(nowMs)
      this.#clients?.reset(nowMs)
    }
    this.#pace.begin(nowMs, isNew)
    this.#intervalEndsAt = nowMs + this.#tuning.intervalMs
  }

  /** How many counted requests may be in service. */
  get #permits(): number {
    return this.#limiter.limit - this.#limiter.uncounted
  }

  get #backlogMs(): number {
    return this.#ahead * this.#pace.gapMs
  }

  /** The number of requests that leave before one that arrives now. */
  get #ahead(): number {
    return this.waiting.size + (this.#limiter.excess ?? 0)
  }

  /**
   * Judges by the backlog: after a stall CoDel's minimum sojourn time grows although the queue drains. The backlog
   * shrinks if fewer requests wait, even if the estimated pace falls, or if the same number leaves faster.
   */
  #observe(nowMs: number): void {
    if (nowMs < this.#intervalEndsAt) return
    const tuning = this.#tuning
    if (this.#newestFirst) this.#stoodAt = nowMs
    const stood = nowMs - this.#stoodAt < tuning.rememberMs
    const shortMs = SHORT * tuning.promiseMs
    // By Little's law, if requests wait for a limit; otherwise the time of service is unknown, and counts as short.
    const serviceMs = this.isBound && this.#limiter.known !== false ? this.#permits * this.#pace.gapMs : 0
    const drainsMs = tuning.promiseMs * (stood ? tuning.drainsAgain : tuning.drains)
    const tolerated = Math.max(shortMs, drainsMs - Math.max(0, serviceMs - shortMs))
    const backlogMs = this.#backlogMs
    const ahead = this.#ahead + this.#gone
    // A backlog above promiseMs means that the service has become slower.
    if (nowMs >= this.#reducedAt || backlogMs > tuning.promiseMs) this.#reduces = false
    if (!this.#isHopeless(nowMs)) this.#hopelessAt = Number.POSITIVE_INFINITY
    else if (this.#hopelessAt === Number.POSITIVE_INFINITY) this.#beginsHopeless(nowMs, ahead)
    else if (nowMs - this.#hopelessAt >= Math.max(tuning.intervalMs, DRAIN_DEPARTURES * this.#pace.gapMs)) {
      const drainedMs = (this.#hopelessAhead - ahead) * this.#pace.gapMs
      if (drainedMs < DRAINING * (nowMs - this.#hopelessAt)) this.#standing = true
      this.#beginsHopeless(nowMs, ahead)
    }
    if (this.#limiter.searching || backlogMs <= tolerated) this.#queues.length = 0
    else if (!this.#pace.speedsUp(nowMs)) {
      const intervals = stood ? tuning.intervalsToStandAgain : tuning.intervalsToStand
      const before = this.#queues.length < intervals ? undefined : this.#queues.shift()!
      this.#queues.push({ atMs: nowMs, ahead, backlogMs })
      if (before !== undefined && ahead >= before.ahead && backlogMs >= before.backlogMs) {
        const grownMs = (ahead - before.ahead) * this.#pace.gapMs
        if (!this.#standing && grownMs < SLIGHT * (nowMs - before.atMs) && serviceMs < shortMs && !this.#isSlow) {
          this.#reduces = this.#cutoff === undefined && backlogMs <= tuning.promiseMs
          this.#reducedAt = nowMs + backlogMs / REDUCED_BY
        }
        this.#standing = true
      }
    }
    this.#intervalEndsAt = nowMs + tuning.intervalMs
  }

  #beginsHopeless(nowMs: number, ahead: number): void {
    this.#hopelessAt = nowMs
    this.#hopelessAhead = ahead
  }

  get #newestFirst(): boolean {
    return this.#standing && !this.#reduces
  }

  #isHopeless(nowMs: number): boolean {
    if (this.#limiter.searching) return false
    const times = this.#pace.isSure ? (this.#pace.speedsUp(nowMs) ? HOPELESS_IF_FASTER : 1) : HOPELESS_IF_UNSURE
    return this.#backlogMs > times * this.#tuning.maxWaitMs
  }

  #longestWait(entry: E): number {
    const { maxWaitMs, promiseMs, staleMs, staleDepartures, keptLonger } = this.#tuning
    if (!this.#standing) return maxWaitMs
    if (this.#reduces) return Math.min(maxWaitMs, (1 - SHORT) * promiseMs)
    const stale = Math.max(staleMs, staleDepartures * this.#pace.gapMs)
    const few = this.waiting.size <= this.#permits
    return Math.min(maxWaitMs, few || this.#wanted(entry) ? stale * keptLonger : stale)
  }

  /**
   * True if an entry may wait beyond the longest wait. In a standing queue it may only if the service is slow: a quick
   * service could have served these few in time.
   */
  #mayExceedLongestWait({ overtakesThen }: E, nowMs: number): boolean {
    const { few } = this.#tuning
    if (this.waiting.size > few || this.#overtakes - overtakesThen! >= few || (this.#standing && !this.#isSlow))
      return false
    return this.#limiter.isProgressing?.(nowMs) === true
  }

  /** True if even `few` requests take longer than the longest wait. */
  get #isSlow(): boolean {
    return this.#tuning.few * this.#pace.gapMs > this.#tuning.maxWaitMs
  }

  #someExceedLongestWait(nowMs: number): boolean {
    if (this.waiting.size > this.#tuning.few) return false
    const oldest = this.waiting.oldest()
    return oldest !== undefined && nowMs - oldest.arrivedAt >= this.#tuning.maxWaitMs
  }

  #expire(nowMs: number): void {
    for (let left = MOST_EXPIRED; left > 0; left--) {
      const oldest = this.waiting.oldest()
      if (oldest === undefined) return
      if (nowMs - oldest.arrivedAt < this.#longestWait(oldest) || this.#mayExceedLongestWait(oldest, nowMs)) return
      this.waiting.remove(oldest, oldest.priorityClass!)
      this.#gone++
      if (this.waiting.size === 0) this.#emptySince = nowMs
      this.#hooks.shed(oldest, this.#standing ? 'stale' : 'late')
    }
  }
}
