/**
 * Kinds that merely wait: a model gateway, long polls, a slow partner. They are slower than any client hopes for, and
 * nothing shows that they hold each other up, so the limit does not count them. Pure.
 *
 * A kind is new until enough answers show what it is: slow when they exceed the promise from the first on, else quick.
 * A quick kind counts for good: if its answers stop, its dependency has halted, and more requests would not help.
 */
import { KINDS_IN_SERVICE } from '../in-service/service-times.ts'
import { Contention, type ContentionTuning } from './contention.ts'

export interface WaitingTuning extends ContentionTuning {
  /** A slow answer takes longer than this, ms: a limit cannot make it quick. */
  readonly promiseMs: number
  /** New kinds count as quick for this long, ms. */
  readonly patienceMs: number
  /** Then this many more of them per ms may be in service without an answer, */
  readonly blindPerMs: number
  /** until some have waited for this long, ms: they are shed anyway. */
  readonly blindMs: number
}

/** A kind with fewer quick answers than one for this many in service counts as unanswered. */
const SOME = 8
/** While the loop is busy, a new kind gets this multiple of the promise. */
const SLOWER = 4
/** Answers that tell what a kind is. */
const ENOUGH = 8
/** Requests that leave within this share of the time in which they came were held up. */
const HELD = 0.5

interface Kind {
  state: 'new' | 'slow' | 'quick'
  inService: number
  startsMs: number
  unanswered: boolean
  quick: number
  slow: number
  leftAt: number
  firstCame: number
  lastCame: number
  /** Slow answers of requests that came before say nothing. */
  judgedFrom: number
  readonly contention: Contention
}

export class WaitingKinds {
  readonly #tuning: WaitingTuning
  readonly #kinds: (Kind | undefined)[] = new Array(KINDS_IN_SERVICE)
  #slowInService = 0
  #newInService = 0
  #allowed = 0
  #allowedAt = 0
  #newSince = 0
  #othersAnsweredAt = Number.NEGATIVE_INFINITY

  constructor(tuning: WaitingTuning) {
    this.#tuning = tuning
  }

  get uncounted(): number {
    return this.#slowInService + Math.min(this.#newInService, Math.floor(this.#allowed))
  }

  counts(kind: number): boolean {
    return this.#kinds[kind]?.state !== 'slow'
  }

  inService(kind: number): number {
    return this.#kinds[kind]?.inService ?? 0
  }

  admitted(nowMs: number, kind: number): void {
    const known = this.#kindOf(kind)
    known.inService++
    known.startsMs += nowMs
    if (known.state === 'slow') this.#slowInService++
    if (known.state !== 'new') return
    if (known.unanswered) this.#newInService++
    this.#noteUnanswered(known, nowMs)
  }

  #kindOf(kind: number): Kind {
    this.#kinds[kind] ??= {
      state: 'new',
      inService: 0,
      startsMs: 0,
      unanswered: false,
      quick: 0,
      slow: 0,
      leftAt: 0,
      firstCame: 0,
      lastCame: 0,
      judgedFrom: 0,
      contention: new Contention(this.#tuning),
    }
    return this.#kinds[kind]
  }

  #noteUnanswered(known: Kind, nowMs: number): void {
    const unanswered = SOME * known.quick < known.inService
    if (unanswered === known.unanswered) return
    known.unanswered = unanswered
    if (unanswered && this.#newInService === 0) this.#allowNone(nowMs)
    this.#newInService += unanswered ? known.inService : -known.inService
  }

  completed(nowMs: number, serviceMs: number, kind: number): void {
    const known = this.#kinds[kind]
    if (known === undefined) return
    const startedAt = nowMs - serviceMs
    this.left(kind, startedAt)
    if (!known.unanswered) this.#othersAnsweredAt = nowMs
    if (known.state !== 'new' || startedAt < known.judgedFrom) return
    if (serviceMs >= this.#tuning.promiseMs) {
      this.#slowAnswer(known, nowMs, startedAt)
      return
    }
    known.quick++
    this.#noteUnanswered(known, nowMs)
    if (known.quick >= ENOUGH && !known.unanswered) this.#become(known, 'quick')
  }

  /**
   * Where requests of this kind begin to wait for each other, as a share of how many there are; undefined if unknown.
   */
  contended(nowMs: number, kind: number, inServiceThen: number, serviceMs: number): number | undefined {
    const known = this.#kinds[kind]
    if (known === undefined) return undefined
    const agesMs = known.state === 'slow' ? undefined : known.inService * nowMs - known.startsMs
    const knee = known.contention.completed(inServiceThen, serviceMs, agesMs)
    if (knee === undefined) return undefined
    if (known.state === 'slow') this.#become(known, 'quick')
    return known.inService === 0 ? 1 : Math.min(1, knee / known.inService)
  }

  forget(): void {
    for (const known of this.#kinds) known?.contention.clear()
  }

  left(kind: number, startedAt?: number): void {
    const known = this.#kinds[kind]
    if (known === undefined || known.inService === 0) return
    known.startsMs -= startedAt ?? known.startsMs / known.inService
    if (--known.inService === 0) known.startsMs = 0
    if (known.state === 'slow') this.#slowInService--
    else if (known.unanswered) this.#newInService--
  }

  /** Allows more of unanswered kinds, unless one has waited for long and no other kind is answered either. */
  grow(nowMs: number, boundSinceMs: number, loopRests: boolean): boolean {
    const { promiseMs, patienceMs, blindPerMs, blindMs } = this.#tuning
    if (this.#newInService === 0) return false
    if (nowMs - this.#newSince < (loopRests ? patienceMs : SLOWER * promiseMs)) return false
    const waitedMs = nowMs - Math.max(boundSinceMs, this.#othersAnsweredAt)
    const grows = waitedMs < blindMs
    if (grows) this.#allowed += (nowMs - this.#allowedAt) * blindPerMs
    this.#allowedAt = nowMs
    return grows
  }

  #allowNone(nowMs: number): void {
    this.#allowed = 0
    this.#allowedAt = nowMs
    this.#newSince = nowMs
  }

  /**
   * Slow by itself, or held up by something that ended: then the first slow ones leave in less time than they came in.
   */
  #slowAnswer(known: Kind, nowMs: number, startedAt: number): void {
    if (known.slow++ === 0) {
      known.leftAt = nowMs
      known.firstCame = startedAt
      known.lastCame = startedAt
    }
    known.firstCame = Math.min(known.firstCame, startedAt)
    known.lastCame = Math.max(known.lastCame, startedAt)
    if (known.slow < ENOUGH) return
    known.slow = 0
    if (nowMs - known.leftAt < HELD * (known.lastCame - known.firstCame)) {
      known.judgedFrom = nowMs
      this.#allowNone(nowMs)
    } else this.#become(known, 'slow')
  }

  #become(known: Kind, state: 'slow' | 'quick'): void {
    if (known.unanswered) this.#newInService -= known.inService
    else if (known.state === 'slow') this.#slowInService -= known.inService
    known.state = state
    known.unanswered = false
    if (state === 'slow') this.#slowInService += known.inService
  }
}
