/**
 * The gate: decides for each request whether it starts now, waits, or is shed. Pure: it is told the time, and it
 * reaches the outside only through the hooks it is given.
 *
 * Three rules, each with one job:
 *
 * 1. **The turn budget** protects the event loop. One poll batch can hold a thousand ready requests, and nothing a
 *    sampled signal says can change inside it; so once this turn has spent its budget on starting handlers, further
 *    requests wait for the next one.
 * 2. **The limit** protects what lies behind the loop (a pool, a disk, a neighbour): a law learns how many requests in
 *    service still raise throughput.
 * 3. **The queue discipline** alone sheds. A queue that drains is a burst: first come, first served, nobody shed. A
 *    queue that stands is overload: newest first, and whoever has waited too long is told so at once. This is CoDel's
 *    distinction (Nichols & Jacobson, ACM Queue 2012) with adaptive LIFO (Maurer, "Fail at Scale", ACM Queue 2015).
 */
import type { LimitLaw } from './limit.ts'
import { type Waiting, WaitQueue } from './queue.ts'

/** Why a request was shed. */
export type ShedReason =
  /** The queue was standing, and enough as fresh as this one waited already. The usual reason under heavy overload. */
  | 'standing'
  /** It waited in a standing queue until fresher ones made its turn hopeless. */
  | 'stale'
  /** It would have waited longer than anybody waits, even in first-come order. */
  | 'late'
  /** The queue held as many as it may. */
  | 'full'
  /** The guard is draining or the process is out of memory headroom. */
  | 'closing'

/** What the gate does to the outside. */
export interface GateHooks<E extends Waiting> {
  /** Start this request's handler now. */
  readonly start: (entry: E) => void
  /** Answer this request that it is shed. */
  readonly shed: (entry: E, reason: ShedReason) => void
  /** Call {@link Gate.turnEnded} at the end of this turn of the loop. */
  readonly wakeAtTurnEnd: () => void
  /** Call {@link Gate.timeCame} after about this many milliseconds, instead of any time asked for before. */
  readonly wakeAfter: (ms: number) => void
  readonly now: () => number
}

/** Tuning of the discipline. Milliseconds unless the name says otherwise. Nobody should need to change these. */
export interface GateTuning {
  /** How long one turn may keep starting handlers. Longer delays every other event; shorter only adds turns. */
  readonly turnBudgetMs: number
  /** CoDel's interval: how long a queue must fail to drain before it is called standing. */
  readonly intervalMs: number
  /** A backlog below this is not congestion, ms of waiting. */
  readonly targetMs: number
  /** Nobody waits longer than this, standing or not: most of the usual SLO of one second. */
  readonly maxWaitMs: number
  /** In a standing queue nobody waits longer than this, or than {@link staleDepartures} departures take. */
  readonly staleMs: number
  /** How many departures' worth of time a request may wait in a standing queue, so that slow services stay busy. */
  readonly staleDepartures: number
  /** Requests that may wait at once; each holds a socket and its parsed head. */
  readonly maxQueued: number
}

export const GATE_TUNING: GateTuning = {
  turnBudgetMs: 10,
  intervalMs: 100,
  targetMs: 50,
  maxWaitMs: 800,
  staleMs: 40,
  staleDepartures: 8,
  maxQueued: 4096,
}

/** What becomes of a request on arrival: it starts, it waits, or it is shed for a reason. */
export type Decision = 'start' | 'wait' | ShedReason

export class Gate<E extends Waiting> {
  readonly #law: LimitLaw
  readonly #hooks: GateHooks<E>
  readonly #tuning: GateTuning
  readonly #queue = new WaitQueue<E>()
  #inflight = 0
  #bound = false
  #pumpAtTurnEnd = false
  #wakeAt = Number.POSITIVE_INFINITY
  #closed = false

  // The turn budget. Asking to be called at the end of every turn would cost each quiet turn a system call, so a turn
  // is first guessed: requests whose handlers follow each other without a gap form a run. Only a run that lasts is
  // checked against the real end of the turn.
  #runStartedAt = Number.NEGATIVE_INFINITY
  #lastHandlerEndedAt = Number.NEGATIVE_INFINITY

  // The observation interval, after CoDel's.
  #intervalEndsAt = 0
  #previousBacklogMs = 0
  #intervalsStanding = 0
  #standing = false
  #lastQueuedAt = 0
  #emptySince = 0

  // Departures while anybody waits: the usual time between two, and the count under way. 0: not known yet.
  #departureGapMs = 0
  #lastDepartureAt = 0
  #countingSince = 0
  #departures = 0
  #stalls = 0

  constructor(law: LimitLaw, hooks: GateHooks<E>, tuning: GateTuning = GATE_TUNING) {
    this.#law = law
    this.#hooks = hooks
    this.#tuning = tuning
  }

  /** Requests in service. */
  get inflight(): number {
    return this.#inflight
  }

  /** Requests waiting. */
  get queued(): number {
    return this.#queue.size
  }

  get limit(): number {
    return this.#law.limit
  }

  /** True while the queue is standing: the service is overloaded, not merely bursty. */
  get standing(): boolean {
    return this.#standing && this.#queue.size > 0
  }

  /**
   * A request arrived at `nowMs`. `start`: run its handler, then call {@link handlerReturned}. `wait`: the gate keeps
   * the entry and later calls a hook with it. A reason: answer it now that it is shed.
   */
  offer(entry: E, nowMs: number): Decision {
    if (this.#closed) return 'closing'
    if (this.#queue.size === 0 && this.#inflight < this.#law.limit && !this.#turnSpent(nowMs)) {
      this.#enter(nowMs)
      return 'start'
    }
    if (this.#enoughWait(nowMs)) {
      this.#expire(nowMs)
      return 'standing'
    }
    entry.arrivedAt = nowMs
    this.#lastQueuedAt = nowMs
    if (this.#queue.size === 0) this.#beginWaiting(nowMs)
    else if (this.#queue.size >= this.#tuning.maxQueued) {
      // First come, first served: the newest has the longest wait ahead. Newest first: the oldest has no hope left.
      if (!this.#standing) return 'full'
      this.#shed(this.#queue.takeOldest()!, 'full')
    }
    this.#queue.push(entry)
    this.#wakeForOldest(nowMs)
    // Recognise hopeless growth at once, without waiting for an interval to pass.
    if (!this.#standing && !this.#law.searching && this.#backlogMs() > this.#tuning.maxWaitMs) this.#standing = true
    if (this.#standing) this.#expire(nowMs)
    if (this.#inflight < this.#law.limit) this.#wakeAtTurnEnd()
    else this.#setBound(nowMs)
    return 'wait'
  }

  /** The synchronous part of a handler started by `offer` has returned; keeps the turn budget honest. */
  handlerReturned(nowMs: number): void {
    this.#lastHandlerEndedAt = nowMs
  }

  /** A request that was in service has left it, `serviceMs` after it started. */
  release(nowMs: number, serviceMs: number): void {
    this.#inflight--
    this.#law.completed(nowMs, serviceMs)
    if (this.#queue.size === 0) return
    this.#departed(nowMs)
    this.#wakeAtTurnEnd()
  }

  /** Its client went away while it waited. False when it was not waiting any more. */
  abandon(entry: E, nowMs: number): boolean {
    if (!this.#queue.remove(entry)) return false
    if (this.#queue.size === 0) this.#endWaiting(nowMs)
    return true
  }

  /** The turn that {@link GateHooks.wakeAtTurnEnd} asked about is over. */
  turnEnded(nowMs: number): void {
    this.#pumpAtTurnEnd = false
    this.#lastHandlerEndedAt = Number.NEGATIVE_INFINITY
    this.#pump(nowMs)
  }

  /** The time that {@link GateHooks.wakeAfter} asked for has passed. */
  timeCame(nowMs: number): void {
    this.#wakeAt = Number.POSITIVE_INFINITY
    this.#pump(nowMs)
  }

  /** Starts whoever may start, sheds whoever waited too long. */
  #pump(nowMs: number): void {
    if (this.#queue.size === 0) return
    this.#law.tick(nowMs)
    this.#observe(nowMs)
    this.#expire(nowMs)
    const until = nowMs + this.#tuning.turnBudgetMs
    let now = nowMs
    while (this.#inflight < this.#law.limit && now < until) {
      const entry = this.#standing ? this.#queue.takeNewest() : this.#queue.takeOldest()
      if (entry === undefined) break
      this.#enter(now)
      this.#hooks.start(entry)
      now = this.#hooks.now()
    }
    if (this.#queue.size === 0) this.#endWaiting(now)
    else if (this.#inflight < this.#law.limit) this.#wakeAtTurnEnd()
    else this.#setBound(now)
    this.#wakeForOldest(now)
  }

  /** Shed everybody who waits, and everybody who comes from now on. */
  close(): void {
    this.#closed = true
    for (let entry = this.#queue.takeOldest(); entry !== undefined; entry = this.#queue.takeOldest()) {
      this.#shed(entry, 'closing')
    }
    this.#endWaiting(this.#hooks.now())
  }

  /**
   * Newest first is only worth the newest there is once per permit: where far more arrive than leave, most can be told
   * on arrival, without the cost of waiting, and who is served is hardly older for it.
   */
  #enoughWait(nowMs: number): boolean {
    return (
      this.#standing &&
      this.#queue.size > this.#law.limit &&
      nowMs - this.#lastQueuedAt < this.#departureGapMs * FRESH_GAPS
    )
  }

  #enter(nowMs: number): void {
    this.#inflight++
    this.#law.admitted(nowMs)
  }

  #shed(entry: E, reason: ShedReason): void {
    this.#hooks.shed(entry, reason)
  }

  /** True when this turn has used its budget on handlers. */
  #turnSpent(nowMs: number): boolean {
    if (nowMs - this.#lastHandlerEndedAt >= SAME_BATCH_GAP_MS) {
      this.#runStartedAt = nowMs
      return false
    }
    const ranFor = nowMs - this.#runStartedAt
    if (ranFor < this.#tuning.turnBudgetMs / 4) return false
    this.#wakeAtTurnEnd()
    return ranFor >= this.#tuning.turnBudgetMs
  }

  #beginWaiting(nowMs: number): void {
    // Empty for a moment is not over: under load that hardly exceeds capacity a queue runs empty now and then.
    if (nowMs - this.#emptySince > this.#tuning.intervalMs) {
      this.#standing = false
      this.#intervalsStanding = 0
    }
    this.#intervalEndsAt = nowMs + this.#tuning.intervalMs
    this.#previousBacklogMs = 0
    this.#lastDepartureAt = nowMs
    this.#countDeparturesFrom(nowMs)
  }

  #endWaiting(nowMs: number): void {
    this.#emptySince = nowMs
    if (!this.#bound) return
    this.#bound = false
    this.#law.unbound(nowMs)
  }

  #setBound(nowMs: number): void {
    if (this.#bound) return
    this.#bound = true
    this.#law.bound(nowMs)
  }

  /** Counts a departure while somebody waits; from enough of them comes the time between two. */
  #departed(nowMs: number): void {
    const stalled = nowMs - this.#lastDepartureAt > STALL_GAPS * this.#departureGapMs
    this.#lastDepartureAt = nowMs
    // One long gap is a stall of the loop and says nothing of the pace; several in a row are the new pace.
    this.#stalls = stalled ? this.#stalls + 1 : 0
    if (stalled && this.#stalls === 1) {
      this.#countDeparturesFrom(nowMs)
      return
    }
    this.#departures++
    const elapsed = nowMs - this.#countingSince
    if (this.#departures < DEPARTURES_COUNTED || elapsed < this.#tuning.intervalMs) return
    const gap = elapsed / this.#departures
    this.#departureGapMs = this.#departureGapMs === 0 ? gap : (this.#departureGapMs + gap) / 2
    this.#countDeparturesFrom(nowMs)
  }

  #countDeparturesFrom(nowMs: number): void {
    this.#countingSince = nowMs
    this.#departures = 0
  }

  /** How long a request that arrives now would wait if everybody before it is served first, ms. */
  #backlogMs(): number {
    return this.#queue.size * this.#departureGapMs
  }

  /**
   * Closes the observation interval when it is over: the queue stands when its backlog stays up and does not shrink.
   * CoDel watches the shortest wait instead; but after a stall all requests arrive at one instant, and their waits
   * grow one by one while the queue in truth drains.
   */
  #observe(nowMs: number): void {
    if (nowMs < this.#intervalEndsAt) return
    const backlog = this.#backlogMs()
    if (!this.#law.searching && backlog > this.#tuning.targetMs && backlog >= this.#previousBacklogMs)
      this.#intervalsStanding++
    else this.#intervalsStanding = 0
    if (this.#intervalsStanding >= INTERVALS_TO_STAND) this.#standing = true
    this.#previousBacklogMs = backlog
    this.#intervalEndsAt = nowMs + this.#tuning.intervalMs
  }

  /** How long the request that has waited longest may still be kept, at the most, ms since it arrived. */
  #longestWait(): number {
    const { maxWaitMs, staleMs, staleDepartures } = this.#tuning
    if (!this.#standing) return maxWaitMs
    const stale = Math.max(staleMs, staleDepartures * this.#departureGapMs)
    // The newest few are kept longer, for the permits that come free next: without them the service would idle.
    return Math.min(maxWaitMs, this.#queue.size <= this.#law.limit ? stale * KEPT_LONGER : stale)
  }

  #expire(nowMs: number): void {
    for (let oldest = this.#queue.oldest(); oldest !== undefined; oldest = this.#queue.oldest()) {
      if (nowMs - oldest.arrivedAt < this.#longestWait()) return
      this.#queue.takeOldest()
      this.#shed(oldest, this.#standing ? 'stale' : 'late')
    }
  }

  #wakeAtTurnEnd(): void {
    if (this.#pumpAtTurnEnd) return
    this.#pumpAtTurnEnd = true
    this.#hooks.wakeAtTurnEnd()
  }

  /** Somebody must be shed in time even when nothing else happens. */
  #wakeForOldest(nowMs: number): void {
    const oldest = this.#queue.oldest()
    if (oldest === undefined) return
    const due = Math.max(1, Math.min(this.#longestWait() - (nowMs - oldest.arrivedAt), this.#tuning.intervalMs))
    if (this.#wakeAt <= nowMs + due) return
    this.#wakeAt = nowMs + due
    this.#hooks.wakeAfter(due)
  }
}

/** The last few in a standing queue may be so many times as old as the others. */
const KEPT_LONGER = 3
/** In a standing queue a request is kept this often for each departure: four chances for every permit. */
const FRESH_GAPS = 0.25
/** The pace of departures is taken over at least so many. */
const DEPARTURES_COUNTED = 8
/** A gap so many times the usual one is a stall. */
const STALL_GAPS = 20

/** So many intervals in a row without shrinking call a queue standing; chance alone manages that rarely. */
const INTERVALS_TO_STAND = 3

/** A handler that starts within this of the end of another ran, most likely, in the same poll batch; ms. */
const SAME_BATCH_GAP_MS = 0.2
