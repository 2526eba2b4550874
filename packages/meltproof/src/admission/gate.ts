/**
 * The gate: decides for each request whether it starts now, waits, or is shed. Pure: it is told the time, and it
 * reaches the outside only through the hooks it is given.
 *
 * Three rules, each with one job:
 *
 * 1. **The turn budget** protects the event loop. One poll batch can hold a thousand ready requests, and nothing a
 *    sampled signal says can change inside it; so once this turn has spent its budget on starting handlers, further
 *    requests wait for the next one.
 * 2. **The limit** protects what lies behind the loop (a pool, a disk, a neighbour): a law (limit.ts) learns how many
 *    requests in service still raise throughput.
 * 3. **The queue discipline** (discipline.ts) alone sheds: it tells a burst from overload.
 */
import type { MakeDiscipline, QueueDiscipline, ShedReason } from './discipline.ts'
import type { LimitLaw } from './limit.ts'
import { OUTSTAY_TUNING, type OutstayTuning } from './outstayers.ts'
import type { Waiting } from './queue.ts'
import { STANDING_TUNING, type StandingTuning, standingQueue } from './standing-queue.ts'

export type { ShedReason } from './discipline.ts'

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
  /** Which turn of the loop this is: another number in each. */
  readonly turn: () => number
  /**
   * The level of a request, see criticality.ts. Called only about requests that can not start at once, so that an
   * unloaded server never asks. Leave it out where all requests are alike: then levels cost nothing.
   */
  readonly level?: ((entry: E) => number) | undefined
  /**
   * The kind of a request (fair-shares.ts): while there is not enough for all, kinds that ask for little get it. Asked
   * only while somebody waits.
   */
  readonly kind?: ((entry: E) => number) | undefined
}

/** Tuning of the gate and of the queue discipline it comes with. Nobody should need to change these. */
export interface GateTuning extends StandingTuning, OutstayTuning {
  /** How long one turn may keep starting handlers, ms. Longer delays every other event; shorter only adds turns. */
  readonly turnBudgetMs: number
}

export const GATE_TUNING: GateTuning = { turnBudgetMs: 10, ...STANDING_TUNING, ...OUTSTAY_TUNING }

/** What becomes of a request on arrival: it starts, it waits, or it is shed for a reason. */
export type Decision = 'start' | 'wait' | ShedReason

export class Gate<E extends Waiting> {
  readonly #law: LimitLaw
  readonly #hooks: GateHooks<E>
  readonly #turnBudgetMs: number
  readonly #queue: QueueDiscipline<E>
  #inflight = 0
  #bound = false
  #pumpAtTurnEnd = false
  #wakeAt = Number.POSITIVE_INFINITY
  #closed = false
  /** Mean time in service of those who were answered; 0 before the first. */
  #usualServiceMs = 0
  /** When permits whose clients went away are given back. */
  readonly #kept: { readonly until: number; readonly kind: number | undefined }[] = []

  // The turn budget: which turn it was in which a handler was last started on arrival, and when the first one was.
  #turn = Number.NaN
  #turnStartedAt = 0

  constructor(
    law: LimitLaw,
    hooks: GateHooks<E>,
    tuning: GateTuning = GATE_TUNING,
    queue: MakeDiscipline<E> = standingQueue(tuning),
  ) {
    this.#law = law
    this.#hooks = hooks
    this.#turnBudgetMs = tuning.turnBudgetMs
    this.#queue = queue({ law, shed: hooks.shed, level: hooks.level, kind: hooks.kind })
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

  /** Whoever comes now has to wait for a permit. */
  get full(): boolean {
    return this.#inflight >= this.#law.limit
  }

  /** True while the queue is standing: the service is overloaded, not merely bursty. */
  get standing(): boolean {
    return this.#queue.standing
  }

  /**
   * A request arrived at `nowMs`. `start`: run its handler. `wait`: the gate keeps the entry and later calls a hook with
   * it. A reason: answer it now that it is shed.
   */
  offer(entry: E, nowMs: number): Decision {
    if (this.#closed) return 'closing'
    if (this.#queue.size === 0 && this.#inflight < this.#law.limit && !this.#turnSpent(nowMs)) {
      this.enter(nowMs, entry)
      return 'start'
    }
    const decision = this.#queue.push(entry, nowMs)
    if (decision !== 'wait') return decision
    this.#wakeWhenDue(nowMs)
    if (this.#inflight < this.#law.limit) this.#wakeAtTurnEnd()
    else this.#setBound(nowMs)
    return 'wait'
  }

  /**
   * The reason {@link offer} would shed anybody who came now, asked before anything was spent on the request. With
   * undefined, offer it. Without levels this answers for nearly all that are shed under heavy overload.
   */
  refuses(nowMs: number, kind?: number): ShedReason | undefined {
    if (this.#closed) return 'closing'
    return this.#queue.size === 0 ? undefined : this.#queue.refuses(nowMs, kind)
  }

  /** A request of this kind was told what {@link refuses} said. */
  refused(nowMs: number, kind: number): void {
    this.#queue.refused?.(nowMs, kind)
  }

  /**
   * A request that was in service has left it, `serviceMs` after it started. Not answered: its client went away
   * before. The handler most likely works on, so the permit is kept for as long as service usually takes: clients that
   * lose patience must not look like fast service, or more and more of it is let in behind them.
   */
  release(nowMs: number, serviceMs: number, answered = true, entry?: E): void {
    if (answered) {
      this.#usualServiceMs += (serviceMs - this.#usualServiceMs) * (this.#usualServiceMs === 0 ? 1 : USUAL_WEIGHT)
      this.#inflight--
      this.#law.completed(nowMs, serviceMs, entry?.kind, entry?.among)
    } else if (serviceMs < this.#usualServiceMs) {
      this.#kept.push({ until: nowMs + this.#usualServiceMs - serviceMs, kind: entry?.kind })
      this.#wakeWhenDue(nowMs)
      return
    } else this.#desert(nowMs, serviceMs, entry?.kind)
    this.#left(nowMs, answered ? entry : undefined, serviceMs)
  }

  /** A request in service goes on without its permit (outstayers.ts); it is not released any more. */
  goOn(nowMs: number, serviceMs: number, entry?: E): void {
    this.#desert(nowMs, serviceMs, entry?.kind)
    this.#left(nowMs, entry, serviceMs)
  }

  #desert(nowMs: number, serviceMs: number | undefined, kind: number | undefined): void {
    this.#inflight--
    this.#law.deserted(nowMs, serviceMs, kind)
  }

  #left(nowMs: number, entry: E | undefined, serviceMs: number): void {
    if (this.#queue.size === 0) return
    this.#queue.departed(nowMs, entry, serviceMs)
    this.#wakeAtTurnEnd()
  }

  /** Gives back the permits that were kept long enough. Roughly in order: one behind a later one waits for it. */
  #giveBackKept(nowMs: number): void {
    while (this.#kept.length > 0 && this.#kept[0]!.until <= nowMs) {
      this.#desert(nowMs, undefined, this.#kept.shift()!.kind)
      if (this.#queue.size > 0) this.#queue.departed(nowMs)
    }
  }

  /** Its client went away while it waited. False when it was not waiting any more. */
  abandon(entry: E, nowMs: number): boolean {
    if (!this.#queue.remove(entry, nowMs)) return false
    if (this.#queue.size === 0) this.#setUnbound(nowMs)
    return true
  }

  /** The turn that {@link GateHooks.wakeAtTurnEnd} asked about is over. */
  turnEnded(nowMs: number): void {
    this.#pumpAtTurnEnd = false
    this.#pump(nowMs)
  }

  /** The time that {@link GateHooks.wakeAfter} asked for has passed. */
  timeCame(nowMs: number): void {
    // A timer that fires this late: the loop did not turn, and whatever is being measured holds the pause.
    if (this.#bound && nowMs - this.#wakeAt > STALL_MS) this.#law.disturbed(nowMs)
    this.#wakeAt = Number.POSITIVE_INFINITY
    if (this.#kept.length > 0) this.#giveBackKept(nowMs)
    this.#pump(nowMs)
    this.#wakeWhenDue(nowMs)
  }

  /** Starts whoever may start, sheds whoever waited too long. */
  #pump(nowMs: number): void {
    if (this.#queue.size === 0) return
    this.#law.tick(nowMs)
    this.#queue.expire(nowMs)
    const until = nowMs + this.#turnBudgetMs
    let now = nowMs
    while (this.#inflight < this.#law.limit && now < until) {
      const entry = this.#queue.next(now)
      if (entry === undefined) break
      this.enter(now, entry)
      this.#hooks.start(entry)
      now = this.#hooks.now()
    }
    if (this.#queue.size === 0) this.#setUnbound(now)
    else if (this.#inflight < this.#law.limit) this.#wakeAtTurnEnd()
    else this.#setBound(now)
    this.#wakeWhenDue(now)
  }

  /** Shed everybody who waits, and everybody who comes from now on. */
  close(): void {
    this.#closed = true
    const nowMs = this.#hooks.now()
    for (let entry = this.#queue.next(nowMs); entry !== undefined; entry = this.#queue.next(nowMs)) {
      this.#hooks.shed(entry, 'closing')
    }
    this.#setUnbound(nowMs)
  }

  /** A request enters service; from outside, one that can not be turned away any more. */
  enter(nowMs: number, entry?: E): void {
    this.#inflight++
    if (entry === undefined) {
      this.#law.admitted(nowMs)
      return
    }
    entry.kind = this.#hooks.kind?.(entry) ?? 0
    this.#law.admitted(nowMs, entry.kind)
    entry.among = this.#law.among?.(entry.kind) ?? 0
  }

  /**
   * True when this turn has used its budget on handlers, and on what they do in its microtasks. Being called at the end
   * of every turn would cost each quiet one a system call, so that is asked for only when the budget runs low.
   */
  #turnSpent(nowMs: number): boolean {
    const turn = this.#hooks.turn()
    if (turn !== this.#turn) {
      this.#turn = turn
      this.#turnStartedAt = nowMs
      return false
    }
    const ranFor = nowMs - this.#turnStartedAt
    if (ranFor < this.#turnBudgetMs / 4) return false
    this.#wakeAtTurnEnd()
    return ranFor >= this.#turnBudgetMs
  }

  #setBound(nowMs: number): void {
    if (this.#bound) return
    this.#bound = true
    this.#law.bound(nowMs)
  }

  #setUnbound(nowMs: number): void {
    if (!this.#bound) return
    this.#bound = false
    this.#law.unbound(nowMs)
  }

  #wakeAtTurnEnd(): void {
    if (this.#pumpAtTurnEnd) return
    this.#pumpAtTurnEnd = true
    this.#hooks.wakeAtTurnEnd()
  }

  /** Somebody must be shed in time even when nothing else happens. */
  #wakeWhenDue(nowMs: number): void {
    let due = this.#queue.dueInMs(nowMs)
    if (this.#kept.length > 0) due = Math.min(due, Math.max(1, this.#kept[0]!.until - nowMs))
    if (this.#wakeAt <= nowMs + due) return
    this.#wakeAt = nowMs + due
    this.#hooks.wakeAfter(due)
  }
}

/** A wake-up later than this by the loop's fault is a stall, not a busy turn; ms. */
const STALL_MS = 50
/** Weight of one more service time in the usual one: the last twenty or so count. */
const USUAL_WEIGHT = 0.1
