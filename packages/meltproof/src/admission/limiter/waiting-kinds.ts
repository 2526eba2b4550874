/**
 * Kinds of requests that merely wait: a model gateway, long polls, a slow partner. They take longer than anybody hopes
 * for anyway, and nothing shows that they stand in each other's way, so the limit does not count them. Pure.
 *
 * A kind is new until enough of it have been answered to tell. It is slow when its answers take longer than the promise
 * from the first on, and quick when they do not. Once quick it counts for good: if nobody of it is answered any more, it
 * has come to a halt, and more of it would help nobody.
 */
import { KINDS_IN_SERVICE } from '../in-service/service-times.ts'
import { Contention, type ContentionTuning } from './contention.ts'

export interface WaitingTuning extends ContentionTuning {
  /** An answer that takes longer is slow, ms: nobody who hopes for less can be helped by a limit. */
  readonly promiseMs: number
  /** So long, ms, new kinds are taken for quick ones. */
  readonly patienceMs: number
  /** Then so many more of them a ms may be in service, though none was answered. */
  readonly blindPerMs: number
  /** Unless some have waited for so long, ms: they are shed anyway. */
  readonly blindMs: number
}

/** Fewer answers than one for so many in service are hardly any. */
const SOME = 8
/** Where the loop is busy a new kind is given so many times the promise. */
const SLOWER = 4
/** So many answers tell what a kind is. */
const ENOUGH = 8
/** Requests that leave within this share of the time in which they came had been held. */
const HELD = 0.5

interface Kind {
  state: 'new' | 'slow' | 'quick'
  inService: number
  /** When they started, added up. */
  startsMs: number
  /** New, and hardly any of it have been answered. */
  unanswered: boolean
  /** Answers within the promise. */
  quick: number
  /** Of the first slow answers: how many, when the first of them left, and when the first and the last had come. */
  slow: number
  leftAt: number
  firstCame: number
  lastCame: number
  /** Slow answers of those who came before say nothing. */
  judgedFrom: number
  readonly contention: Contention
}

export class WaitingKinds {
  readonly #tuning: WaitingTuning
  readonly #kinds: (Kind | undefined)[] = new Array(KINDS_IN_SERVICE)
  #slowInService = 0
  /** Of new kinds of which hardly any have been answered. */
  #newInService = 0
  /** So many of these are not counted. */
  #allowed = 0
  #allowedAt = 0
  #newSince = 0
  /** When somebody of another kind was last answered. */
  #othersAnsweredAt = Number.NEGATIVE_INFINITY

  constructor(tuning: WaitingTuning) {
    this.#tuning = tuning
  }

  /** How many in service are not counted. */
  get uncounted(): number {
    return this.#slowInService + Math.min(this.#newInService, Math.floor(this.#allowed))
  }

  /** Whether requests of this kind count. */
  counts(kind: number): boolean {
    return this.#kinds[kind]?.state !== 'slow'
  }

  /** How many of a kind are in service. */
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
   * From how many on those of this kind wait for each other, as a share of how many there are; undefined when nothing
   * says that they do.
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

  /** Something has changed. */
  forget(): void {
    for (const known of this.#kinds) known?.contention.clear()
  }

  /** Somebody left. `startedAt`: where it is not known, one of usual age. */
  left(kind: number, startedAt?: number): void {
    const known = this.#kinds[kind]
    if (known === undefined || known.inService === 0) return
    known.startsMs -= startedAt ?? known.startsMs / known.inService
    if (--known.inService === 0) known.startsMs = 0
    if (known.state === 'slow') this.#slowInService--
    else if (known.unanswered) this.#newInService--
  }

  /**
   * Those of new kinds that nobody was answered of yet may become more, unless somebody has waited for long, since
   * `boundSinceMs`, and no other kind is answered either.
   */
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

  /** Slow by itself, or held by something that has ended: then the first slow ones leave in less time than they came in. */
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
