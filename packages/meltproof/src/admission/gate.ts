/**
 * Decides for each request whether it starts, waits or is shed. Time and side effects come through arguments and hooks.
 *
 * 1. The turn budget protects the event loop. One poll can return a thousand ready requests, and no sampled signal
 * changes while they are handled. So once a turn has spent its budget on starting handlers, further requests wait.
 * 2. The concurrency limit protects the loop, and resources outside the loop, such as a database (limiter/).
 * 3. The queue distinguishes a burst from overload, and sheds (queue/standing-queue.ts). The gate itself sheds only
 * requests that cannot meet their deadlines, resumed requests that waited too long, and, once it is closed, all.
 */
import type { Ticket } from './limiter/cohorts.ts'
import type { Limiter, LimitReason } from './limiter/limiter.ts'
import type { ClassQueue } from './queue/class-queue.ts'
import { type DueStart, DueStarts } from './queue/due-starts.ts'
import { type QueueHooks, STANDING_TUNING, StandingQueue, type StandingTuning } from './queue/standing-queue.ts'
import { WaitQueue } from './queue/wait-queue.ts'
import type { ShedReason } from './sheds.ts'

export interface Entry extends DueStart {
  readonly resumesUpload: boolean
  /** The limiter's ticket of the request, written when the request enters service. */
  ticket?: Ticket | undefined
  /** True for quick work admitted above the limit. Its departure does not show how soon waiting requests start. */
  startedAboveLimit?: boolean
}

type Ticketed = Pick<Entry, 'ticket' | 'startedAboveLimit'>

export interface GateHooks<E extends Entry> extends QueueHooks<E> {
  readonly start: (entry: E) => void
  /** Must call {@link Gate.turnEnded} at the end of this turn of the loop. */
  readonly wakeAtTurnEnd: () => void
  /** Must call {@link Gate.wakeUp} after about this many milliseconds. A new call replaces an earlier one. */
  readonly wakeAfter: (ms: number) => void
  readonly now: () => number
  readonly turn: () => number
  /** How long the entry's work takes, ms, if its kind is known to be quick; Infinity otherwise. */
  readonly quickMs?: ((entry: E) => number) | undefined
  /** Latest start that meets the entry's deadline; Infinity without a deadline. */
  readonly startBy?: ((entry: E) => number) | undefined
}

export interface GateTuning extends StandingTuning {
  /** How long one turn may start handlers, ms. More would delay every other event; less would only add turns. */
  readonly turnBudgetMs: number
}

export const GATE_TUNING: GateTuning = {
  turnBudgetMs: 10,
  ...STANDING_TUNING,
}

/** For limiter.run() and outbound calls: no entry waits longer than `maxWaitMs`, however slow the service is. */
export const PROMPT_TUNING: GateTuning = { ...GATE_TUNING, few: 0 }

/** For work that may wait without a time limit: the queue never counts as standing. Callers must limit its length. */
export const PATIENT_TUNING: GateTuning = {
  ...GATE_TUNING,
  drains: Number.POSITIVE_INFINITY,
  maxWaitMs: Number.POSITIVE_INFINITY,
  maxQueued: 100_000,
}

/** Without a known limit, a service is assumed to have room for this multiple of the requests in service. */
const ROOM_UNKNOWN = 1.25
/** The estimate assumes at least this many in service, so that a service with one request reports little load. */
const FEW_UNKNOWN = 16
/** While the loop is busy, quick work above the limit may take this share of the loop's time. */
const PASSING_SHARE = 0.2
/** Quick work may accumulate at most this much unused loop time, and exceed its share by at most this much, ms. */
const MOST_PASSING_MS = 20
/** Approximate time that Node itself needs for a request, in addition to the handler, ms. */
const REQUEST_MS = 0.1
/** The turn number is read only after this share of the budget: reading it takes a tenth of a short request's time. */
const ASK_TURN_AFTER = 0.25

export type Decision = 'start' | 'wait' | ShedReason

export class Gate<E extends Entry> {
  readonly #limiter: Limiter
  readonly #hooks: GateHooks<E>
  readonly #tuning: GateTuning
  readonly #queue: StandingQueue<E>
  readonly #waiting: ClassQueue<E>
  readonly #resumed = new WaitQueue<E>()
  #resumedIsNext = true
  readonly #dueStarts = new DueStarts<E>()
  inflight = 0
  #inServiceMs = 0
  #changedAt = 0
  #bound = false
  #pumpAtTurnEnd = false
  /** When requests began to wait, or when waiting requests were last started. */
  #pumpedAt = 0
  #pumped = 0
  #wakeAt = Number.POSITIVE_INFINITY
  #closed = false
  #held = false
  /** Loop time that quick work may still take while the loop is busy, ms, at `#passedAt`. */
  #passingMs = MOST_PASSING_MS
  #passedAt = 0
  #turn = Number.NaN
  #turnStartedAt = Number.NEGATIVE_INFINITY

  constructor(limiter: Limiter, hooks: GateHooks<E>, tuning: GateTuning = GATE_TUNING) {
    this.#limiter = limiter
    this.#hooks = hooks
    this.#tuning = tuning
    this.#queue = new StandingQueue(limiter, hooks, tuning)
    this.#waiting = this.#queue.waiting
  }

  get queued(): number {
    return this.#waiting.size + this.#resumed.size
  }

  get limit(): number {
    return this.#limiter.limit
  }

  /**
   * The limit on which load figures are based. It excludes uncounted requests and limits that are only being probed.
   * While the limit is unknown, it assumes room for a quarter more requests than are in service.
   */
  get countedLimit(): number {
    if (this.#limiter.known === false) return ROOM_UNKNOWN * Math.max(FEW_UNKNOWN, this.inflight)
    return Math.max(1, (this.#limiter.usualLimit ?? this.limit) - this.uncounted)
  }

  /** {@link countedLimit}, or undefined while the limit is unknown. */
  get knownLimit(): number | undefined {
    return this.#limiter.known ? this.countedLimit : undefined
  }

  /** Cumulative: requests in service that {@link countedLimit} counts, times their durations, ms. */
  inServiceMs(nowMs: number): number {
    return this.#inServiceMs + (this.inflight - this.#limiter.uncounted) * (nowMs - this.#changedAt)
  }

  /** Requests in service that the limit does not count. */
  get uncounted(): number {
    return this.#limiter.uncounted
  }

  get full(): boolean {
    return this.#held || this.inflight >= this.#limiter.limit
  }

  get limitReason(): LimitReason {
    return this.#limiter.reason ?? 'set'
  }

  get standing(): boolean {
    return this.#queue.standing
  }

  /** `wait`: the gate has queued the entry, and calls a hook later. A ShedReason: the caller must shed it. */
  offer(entry: E, nowMs: number): Decision {
    if (this.#closed) return 'closing'
    entry.startBy = this.#hooks.startBy?.(entry) ?? Number.POSITIVE_INFINITY
    if (entry.startBy < nowMs) return 'deadline'
    if (this.queued === 0) {
      const idleMs = nowMs - this.#changedAt
      if (idleMs > this.#tuning.restMs && this.inflight <= this.#limiter.uncounted) this.#queue.rested()
      if (this.#startsNow(nowMs, entry)) return 'start'
    }
    if (this.#startsAboveLimit(entry, nowMs)) {
      entry.startedAboveLimit = true
      this.enter(nowMs, entry)
      return 'start'
    }
    if (entry.startBy < nowMs + this.#queue.expectedWaitMs) return 'deadline'
    const decision = this.#queue.push(entry, nowMs)
    if (decision !== 'wait') return decision
    if (entry.startBy < nowMs + this.#tuning.maxWaitMs) this.#dueStarts.add(entry, this.#waiting.size)
    this.#beginWaiting(nowMs)
    return 'wait'
  }

  /** Offers a request that gave up its permit while it waited for its client. Such requests get every second permit. */
  offerResumed(entry: E, nowMs: number): Decision {
    if (this.#closed) return 'closing'
    if (this.queued === 0 && this.#startsNow(nowMs, entry)) return 'start'
    entry.arrivedAt = nowMs
    this.#resumed.push(entry)
    this.#beginWaiting(nowMs)
    return 'wait'
  }

  #startsNow(nowMs: number, entry: E): boolean {
    if (this.full || this.#turnSpent(nowMs)) return false
    this.enter(nowMs, entry)
    return true
  }

  /** True if quick work may start above the limit, up to its double. On a busy loop it gets a fifth of the time. */
  #startsAboveLimit(entry: E, nowMs: number): boolean {
    const { kind, client, quickMs } = this.#hooks
    if (this.#held || this.inflight - this.uncounted >= 2 * this.countedLimit) return false
    const takesMs = quickMs?.(entry) ?? Number.POSITIVE_INFINITY
    if (takesMs === Number.POSITIVE_INFINITY || this.#turnSpent(nowMs)) return false
    if (this.loopHasRoom) return true
    const kindOf = kind?.(entry) ?? 0
    if (!this.mayStartAboveLimit(kindOf, nowMs)) return false
    this.#passingMs = Math.max(-MOST_PASSING_MS, this.#passingMs - takesMs - REQUEST_MS)
    this.#queue.overtaken(kindOf, client?.(entry) ?? 0, nowMs)
    return true
  }

  /** True if quick work of this kind may exceed the limit now, while the loop is busy. */
  mayStartAboveLimit(kind: number, nowMs: number): boolean {
    if (this.#held || this.#limiter.loopHasRoom === undefined) return false
    this.#passingMs = Math.min(MOST_PASSING_MS, this.#passingMs + PASSING_SHARE * (nowMs - this.#passedAt))
    this.#passedAt = nowMs
    return this.#passingMs > 0 && this.#queue.mayOvertake(kind, nowMs)
  }

  get loopHasRoom(): boolean {
    return this.#limiter.loopHasRoom === true
  }

  #beginWaiting(nowMs: number): void {
    if (this.queued === 1) {
      this.#pumpedAt = nowMs
      this.#queue.isBound = this.full
    }
    this.#wakeWhenDue(nowMs)
    if (this.full) this.#setBound(nowMs)
    // The limiter may have found just now that the loop has room again.
    if (!this.full) this.#wakeAtTurnEnd()
  }

  get admitsAll(): boolean {
    return this.#waiting.size === 0 && !this.#closed
  }

  /** A cheap check: the reason to shed a request that arrives now. Undefined if only {@link offer} can decide. */
  refuses(nowMs: number, kind?: number, client?: number): ShedReason | undefined {
    if (this.#closed) return 'closing'
    return this.#waiting.size === 0 ? undefined : this.#queue.refuses(nowMs, kind, client)
  }

  countArrival(nowMs: number, kind: number, client?: number): void {
    this.#queue.countArrival(nowMs, kind, client)
  }

  release(nowMs: number, serviceMs: number, entry: E): void {
    this.#change(nowMs, -1)
    this.#limiter.completed(nowMs, serviceMs, entry.ticket)
    this.#left(nowMs, entry, serviceMs)
  }

  /** Frees the permit of a request without an answer, whose duration says nothing about the limit. */
  drop(nowMs: number, serviceMs: number, entry: Ticketed): void {
    this.#dropped(nowMs, serviceMs, entry)
    this.#left(nowMs, undefined, serviceMs, entry.startedAboveLimit)
  }

  /** Frees the permit of an abandoned request whose handler has ended. This counts as a departure. */
  releaseOrphan(nowMs: number, serviceMs: number, { ticket }: Ticketed): void {
    this.#change(nowMs, -1)
    this.#limiter.completed(nowMs, serviceMs, ticket)
    this.#left(nowMs, undefined, serviceMs)
  }

  /**
   * Frees the permit of a streaming answer that waits, or has waited, for its client (streams.ts). The time in service
   * counts for the request's kind, but not for the limit.
   */
  runWithoutPermit(nowMs: number, serviceMs: number, entry: E): void {
    this.#dropped(nowMs, serviceMs, entry)
    this.#left(nowMs, entry, serviceMs)
  }

  #dropped(nowMs: number, serviceMs: number, { ticket }: Ticketed): void {
    this.#change(nowMs, -1)
    this.#limiter.dropped(nowMs, serviceMs, ticket)
  }

  #left(nowMs: number, entry: E | undefined, serviceMs: number, startedAboveLimit = entry?.startedAboveLimit): void {
    if (this.queued === 0) return
    if (this.#waiting.size > 0 && !startedAboveLimit) this.#queue.departed(nowMs, entry, serviceMs)
    this.#wakeAtTurnEnd()
  }

  withdraw(entry: E, nowMs: number): boolean {
    if (!(entry.resumesUpload ? this.#resumed.remove(entry) : this.#queue.remove(entry, nowMs))) return false
    if (this.queued === 0) this.#setUnbound(nowMs)
    return true
  }

  turnEnded(nowMs: number): void {
    this.#pumpAtTurnEnd = false
    this.#pump(nowMs)
  }

  wakeUp(nowMs: number): void {
    this.#wakeAt = Number.POSITIVE_INFINITY
    this.#pump(nowMs)
    this.#wakeWhenDue(nowMs)
  }

  #pump(nowMs: number): void {
    if (this.queued === 0) return
    this.#limiter.tick(nowMs)
    this.#shedTooLate(nowMs)
    // While nothing was in service, other work of this process used the loop. Waiting requests may now use the loop for
    // the same time, divided by the number of requests started just before, which may have caused the other work.
    const idleMs = this.inflight === 0 ? nowMs - Math.max(this.#pumpedAt, this.#changedAt) : 0
    const otherMs = idleMs / Math.max(1, this.#pumped)
    this.#pumped = 0
    const until = nowMs + Math.max(this.#tuning.turnBudgetMs, otherMs)
    let now = nowMs
    while (!this.full && now < until) {
      const entry = this.#next(now)
      if (entry === undefined) break
      if (entry.startBy < now) {
        this.#hooks.shed(entry, 'deadline')
        continue
      }
      this.enter(now, entry)
      this.#hooks.start(entry)
      this.#pumped++
      now = this.#hooks.now()
    }
    this.#pumpedAt = now
    this.#queue.isBound = this.full
    if (this.queued === 0) this.#setUnbound(now)
    else if (this.full) this.#setBound(now)
    else this.#wakeAtTurnEnd()
    this.#wakeWhenDue(now)
  }

  #next(nowMs: number): E | undefined {
    this.#resumedIsNext = !this.#resumedIsNext
    const resumed = this.#resumedIsNext || this.#waiting.size === 0 ? this.#resumed.takeOldest() : undefined
    return resumed ?? this.#queue.next(nowMs) ?? this.#resumed.takeOldest()
  }

  #shedTooLate(nowMs: number): void {
    for (let late = this.#dueStarts.takePassed(nowMs); late !== undefined; late = this.#dueStarts.takePassed(nowMs)) {
      if (this.#queue.remove(late, nowMs)) this.#hooks.shed(late, 'deadline')
    }
    for (let oldest = this.#resumed.oldest(); oldest !== undefined; oldest = this.#resumed.oldest()) {
      if (nowMs - oldest.arrivedAt < this.#tuning.maxWaitMs) break
      this.#hooks.shed(this.#resumed.takeOldest()!, 'late')
    }
    if (this.#waiting.size > 0) this.#queue.expire(nowMs)
  }

  /** Nothing starts until {@link resume} is called: arriving requests wait. */
  hold(): void {
    this.#held = true
  }

  resume(): void {
    this.#held = false
    if (this.queued > 0) this.#wakeAtTurnEnd()
  }

  /** Sheds all waiting requests, and all that arrive later. */
  close(): void {
    this.#closed = true
    const nowMs = this.#hooks.now()
    for (let entry = this.#next(nowMs); entry !== undefined; entry = this.#next(nowMs)) {
      this.#hooks.shed(entry, 'closing')
    }
    this.#setUnbound(nowMs)
  }

  /** Puts a request into service. Callers use this directly for requests that can no longer be shed. */
  enter(nowMs: number, entry?: E): void {
    this.#change(nowMs, 1)
    this.#limiter.admitted(nowMs)
    if (entry !== undefined) entry.ticket = this.#limiter.ticket
  }

  #change(nowMs: number, by: 1 | -1): void {
    this.#inServiceMs += (this.inflight - this.#limiter.uncounted) * (nowMs - this.#changedAt)
    this.#changedAt = nowMs
    this.inflight += by
  }

  /** Requests a wake-up at the end of the turn only after a quarter of the budget: a wake-up costs a system call. */
  #turnSpent(nowMs: number): boolean {
    const ranFor = nowMs - this.#turnStartedAt
    if (ranFor < this.#tuning.turnBudgetMs * ASK_TURN_AFTER) return false
    const turn = this.#hooks.turn()
    if (turn !== this.#turn) {
      this.#turn = turn
      this.#turnStartedAt = nowMs
      return false
    }
    this.#wakeAtTurnEnd()
    return ranFor >= this.#tuning.turnBudgetMs
  }

  #setBound(nowMs: number): void {
    if (this.#bound) return
    this.#bound = true
    this.#limiter.limitReached(nowMs)
  }

  #setUnbound(nowMs: number): void {
    if (!this.#bound) return
    this.#bound = false
    this.#limiter.limitCleared(nowMs)
  }

  #wakeAtTurnEnd(): void {
    if (this.#pumpAtTurnEnd) return
    this.#pumpAtTurnEnd = true
    this.#hooks.wakeAtTurnEnd()
  }

  #wakeWhenDue(nowMs: number): void {
    let due = this.#queue.dueInMs(nowMs)
    const firstResumed = this.#resumed.oldest()
    if (firstResumed !== undefined)
      due = Math.min(due, Math.max(1, firstResumed.arrivedAt + this.#tuning.maxWaitMs - nowMs))
    due = Math.min(due, Math.max(1, this.#dueStarts.nextAt - nowMs))
    if (this.#wakeAt <= nowMs + due) return
    this.#wakeAt = nowMs + due
    this.#hooks.wakeAfter(due)
  }
}
