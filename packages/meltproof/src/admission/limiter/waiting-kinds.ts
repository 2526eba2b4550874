/**
 * Kinds of requests that merely wait: a model gateway, long polls, a slow partner. They take longer than anybody hopes
 * for anyway, and nothing shows that they stand in each other's way, so the limit does not count them. Pure.
 *
 * A kind is new until enough of it have been answered to tell. It is slow when its answers take longer than the promise
 * from the first on, and quick when they do not. Once quick it counts for good: if nobody of it is answered any more, it
 * has come to a halt, and more of it would help nobody.
 */
import { Contention, type ContentionTuning } from './contention.ts'
import { STAY_KINDS } from '../in-service/service-times.ts'

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

type State = 'new' | 'slow' | 'quick'

interface Kind {
  state: State
  inside: number
  /** When they started, added up. */
  startsMs: number
  /** New, and hardly any of it have been answered. */
  unanswered: boolean
  /** Answers within the promise. */
  quick: number
  /** Share of the last answers that were quick. */
  quickShare: number
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
  readonly #kinds: (Kind | undefined)[] = new Array(STAY_KINDS)
  #slowInside = 0
  #newInside = 0
  /** So many of new kinds are not counted. */
  #allowed = 0
  #allowedAt = 0
  #newSince = 0
  /** When somebody of another kind was last answered. */
  #othersAnsweredAt = Number.NEGATIVE_INFINITY
  /** Clients that left new kinds before anybody was answered. */
  #newGaveUp = 0

  constructor(tuning: WaitingTuning) {
    this.#tuning = tuning
  }

  /** How many in service are not counted. */
  get uncounted(): number {
    return this.#slowInside + Math.min(this.#newInside, Math.floor(this.#allowed))
  }

  /** Whether requests of this kind count. */
  counts(kind: number): boolean {
    return this.#kinds[kind]?.state !== 'slow'
  }

  /** How many of a kind are in service. */
  inService(kind: number): number {
    return this.#kinds[kind]?.inside ?? 0
  }

  admitted(nowMs: number, kind: number): void {
    const known = this.#kindOf(kind)
    known.inside++
    known.startsMs += nowMs
    if (known.state === 'slow') {
      this.#slowInside++
    } else if (known.state === 'new') {
      if (known.unanswered) this.#newInside++
      this.#noteUnanswered(known, nowMs)
    }
  }

  #kindOf(kind: number): Kind {
    let known = this.#kinds[kind]
    if (known === undefined) {
      known = {
        state: 'new',
        inside: 0,
        startsMs: 0,
        unanswered: false,
        quick: 0,
        quickShare: 0,
        slow: 0,
        leftAt: 0,
        firstCame: 0,
        lastCame: 0,
        judgedFrom: 0,
        contention: new Contention(this.#tuning),
      }
      this.#kinds[kind] = known
    }
    return known
  }

  #noteUnanswered(known: Kind, nowMs: number): void {
    const unanswered = known.state === 'new' && SOME * known.quick < known.inside
    if (unanswered === known.unanswered) return
    known.unanswered = unanswered
    if (unanswered && this.#newInside === 0) this.#allow(nowMs, 0)
    this.#newInside += unanswered ? known.inside : -known.inside
  }

  /** Somebody was answered who found so many of his kind there. */
  completed(nowMs: number, serviceMs: number, kind: number, loopRests: boolean): void {
    const known = this.#kinds[kind]
    if (known === undefined) return
    this.left(kind, nowMs - serviceMs)
    if (!known.unanswered) this.#othersAnsweredAt = nowMs
    const isQuick = serviceMs < this.#tuning.promiseMs
    if (known.state === 'quick') return
    known.quickShare += ((isQuick ? 1 : 0) - known.quickShare) * WEIGHT
    if (known.state === 'slow') {
      if (known.quickShare > MOSTLY) this.#become(known, 'quick')
    } else if (nowMs - serviceMs < known.judgedFrom) return
    else if (isQuick) {
      known.quick++
      this.#noteUnanswered(known, nowMs)
      if (known.quick >= ENOUGH && !known.unanswered) this.#become(known, 'quick')
    } else if (loopRests || serviceMs > SLOWER * this.#tuning.promiseMs) this.#judge(known, nowMs, nowMs - serviceMs)
  }

  /**
   * From how many on those of this kind wait for each other, as a share of how many there are; undefined when nothing
   * says that they do.
   */
  contended(nowMs: number, kind: number, among: number, serviceMs: number): number | undefined {
    const known = this.#kinds[kind]
    if (known === undefined) return undefined
    const agesMs = known.state === 'slow' ? undefined : known.inside * nowMs - known.startsMs
    const knee = known.contention.completed(among, serviceMs, agesMs)
    if (knee === undefined) return undefined
    if (known.state === 'slow') this.#become(known, 'quick')
    return known.inside === 0 ? 1 : Math.min(1, knee / known.inside)
  }

  /** Something has changed. */
  forget(): void {
    for (const known of this.#kinds) known?.contention.clear()
  }

  /** Somebody left. `startedMs`: where it is not known, one of usual age. */
  left(kind: number, startedMs?: number): void {
    const known = this.#kinds[kind]
    if (known === undefined || known.inside === 0) return
    known.startsMs -= startedMs ?? known.startsMs / known.inside
    if (--known.inside === 0) known.startsMs = 0
    if (known.state === 'slow') this.#slowInside--
    else if (known.unanswered) this.#newInside--
  }

  /** A client left one of this kind that is still in service. */
  gaveUp(kind: number): void {
    if (this.#kinds[kind]?.unanswered) this.#newGaveUp++
  }

  /**
   * Those of new kinds that nobody was answered of yet may become more, unless somebody has waited for long, since
   * `boundSinceMs`, and no other kind is answered either.
   */
  grow(nowMs: number, boundSinceMs: number, loopRests: boolean): boolean {
    const { promiseMs, patienceMs, blindPerMs, blindMs } = this.#tuning
    if (this.#newInside === 0 || nowMs - this.#newSince < (loopRests ? patienceMs : SLOWER * promiseMs)) return false
    // Where clients leave before anybody is answered more of it helps nobody.
    const wanted = SOME * this.#newGaveUp < this.#newInside
    const waitedMs = nowMs - Math.max(boundSinceMs, this.#othersAnsweredAt)
    const grows = wanted && waitedMs < blindMs && this.#allowed <= this.#newInside
    if (grows) this.#allowed += (nowMs - this.#allowedAt) * blindPerMs
    this.#allowedAt = nowMs
    return grows
  }

  #allow(nowMs: number, allowed: number): void {
    this.#allowed = allowed
    this.#allowedAt = nowMs
    this.#newSince = nowMs
    this.#newGaveUp = 0
  }

  /**
   * Whether the first slow answers of a kind are slow by themselves or had been held by something that has ended: then
   * they leave in less time than they came in.
   */
  #judge(known: Kind, nowMs: number, startedMs: number): void {
    if (known.slow++ === 0) {
      known.leftAt = nowMs
      known.firstCame = startedMs
      known.lastCame = startedMs
    }
    known.firstCame = Math.min(known.firstCame, startedMs)
    known.lastCame = Math.max(known.lastCame, startedMs)
    if (known.slow < ENOUGH) return
    known.slow = 0
    if (nowMs - known.leftAt < HELD * (known.lastCame - known.firstCame)) {
      known.judgedFrom = nowMs
      this.#allow(nowMs, 0)
    } else if (!known.unanswered) this.#become(known, 'quick')
    else this.#become(known, 'slow')
  }

  #become(known: Kind, state: State): void {
    if (known.unanswered) this.#newInside -= known.inside
    else if (known.state === 'slow') this.#slowInside -= known.inside
    known.state = state
    known.unanswered = false
    known.quickShare = 0
    if (state === 'slow') this.#slowInside += known.inside
  }
}

/** Fewer answers than one for so many in service are hardly any. */
const SOME = 8
/** What takes so many times the promise is slow even where it had to wait for the loop. */
const SLOWER = 4
/** So many answers tell what a kind is. */
const ENOUGH = 8
/** Whoever leaves within this share of the time in which they came has been held. */
const HELD = 0.5
/** Weight of one more answer. */
const WEIGHT = 0.05
/** A slow kind becomes quick when more than this share of its answers are. */
const MOSTLY = 0.9
