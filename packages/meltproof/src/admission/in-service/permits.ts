/**
 * The permits of a gate: the only place in which they are given, lent and ended. A permit lasts as long as the work,
 * even if no client waits for it any more (abandoned.ts). A streaming answer lends its permit while it needs none
 * (streams.ts). Pure.
 */
import { LinkedList } from '../../linked-list.ts'
import type { Entry, Gate } from '../gate.ts'
import { Abandoned, type Outlook } from './abandoned.ts'
import { Orphan, type Permit } from './permit.ts'
import { type Serving, ServiceTimes } from './service-times.ts'
import type { Streams } from './streams.ts'

/** Objects that can have a permit. */
export type Admitted<E> = Permit<E> & Entry

export interface PermitHooks<E> {
  readonly onAnswered?: (entry: E, nowMs: number) => void
  /** When the caller stops waiting for an answer to begin, ms; absent without deadlines. */
  readonly answerBy?: ((entry: E) => number) | undefined
  /** The kind of work, below KINDS_IN_SERVICE. @default 0 for all */
  readonly kindOf?: (entry: E) => number
  /** Called when the permit of an entry has passed to an orphan. */
  readonly onOrphaned?: (entry: E, orphan: Orphan) => void
  /** Learns how streaming answers behave. @default no answer streams */
  readonly streams?: Streams
  /** True if the client has received the whole of a streaming answer. */
  readonly isFinished?: (entry: E) => boolean
}

/** Minimum interval between searches for work that is treated as finished, ms. */
const PRESUME_MS = 10

export class Permits<E extends Admitted<E>> {
  readonly inService: LinkedList<E> = new LinkedList()
  /** Streams that lent their permits, and may work again. */
  readonly lent: LinkedList<E> = new LinkedList()
  readonly #times: ServiceTimes<E> = new ServiceTimes()
  readonly #gate: Gate<E>
  readonly #hooks: PermitHooks<E>
  readonly #kindOf: (entry: E) => number
  readonly #orphans: Abandoned<Orphan> = new Abandoned(this.#times)
  #presumeAgainAt = 0

  constructor(gate: Gate<E>, hooks: PermitHooks<E> = {}) {
    this.#gate = gate
    this.#hooks = hooks
    this.#kindOf = hooks.kindOf ?? (() => 0)
  }

  get abandoned(): number {
    return this.#orphans.count
  }

  /** The shortest time that work of the entry's kind takes, ms; 0 if unknown, or if none of that kind is in service. */
  leastServiceMs(entry: E): number {
    return this.#times.leastMs(this.#kindOf(entry))
  }

  /** How long work of the entry's kind takes, ms, if it is known to be quick; Infinity otherwise, and without kinds. */
  quickMs(entry: E): number {
    return this.#hooks.kindOf === undefined ? Number.POSITIVE_INFINITY : this.#times.quickMs(this.#kindOf(entry))
  }

  isQuick(kind: number): boolean {
    return this.#times.quickMs(kind) !== Number.POSITIVE_INFINITY
  }

  give(entry: E, nowMs: number): void {
    if (this.#orphans.count > 0) this.reclaim(nowMs)
    this.#hold(entry, nowMs)
    if (entry.abandoned) this.giveUp(entry, nowMs)
  }

  #hold(entry: E, nowMs: number): void {
    entry.holdPermit(nowMs)
    this.inService.add(entry)
    this.#times.started(entry, this.#kindOf(entry))
  }

  answered(entry: E, nowMs: number): void {
    const { stream } = entry
    if (stream !== undefined && this.#hooks.isFinished?.(entry)) this.#hooks.streams?.ended(stream)
    const was = this.#end(entry)
    if (was === undefined) return
    if (was === 'held') this.#release(entry, nowMs)
    this.#hooks.onAnswered?.(entry, nowMs)
  }

  #release(entry: E, nowMs: number): void {
    const serviceMs = nowMs - entry.startedAt
    const hasRested = entry.stream?.rested === true
    // The time since a stream regained its permit is not its service time. Nor is the time of an answer that ends after
    // its deadline: it must have begun before the deadline, so it is a stream, a download or an upload.
    if (hasRested || nowMs > (this.#hooks.answerBy?.(entry) ?? nowMs)) this.#times.gone(entry)
    else this.#times.answered(entry, nowMs)
    if (hasRested) this.#gate.runWithoutPermit(nowMs, serviceMs, entry)
    else this.#gate.release(nowMs, serviceMs, entry)
  }

  /** Ends work without a useful answer. Does nothing if its permit has ended. */
  drop(entry: E, nowMs: number): void {
    if (entry.stream !== undefined) this.#hooks.streams?.gone(entry.stream)
    if (entry.orphan !== undefined) this.#endOrphan(entry.orphan, nowMs)
    else if (this.#end(entry) === 'held') this.#free(entry, nowMs)
  }

  #endOrphan(orphan: Orphan, nowMs: number): void {
    if (orphan.ended) return
    orphan.ended = true
    if (!this.#orphans.ended(orphan, nowMs)) return
    this.#times.gone(orphan)
    this.#gate.releaseOrphan(nowMs, nowMs - orphan.startedAt, orphan)
  }

  /** Called when nothing references the work any more, which has therefore ended. */
  collected(orphan: Orphan, nowMs: number): void {
    if (orphan.ended) return
    orphan.ended = true
    if (this.#orphans.collected(orphan)) this.#free(orphan, nowMs)
  }

  #free(work: Serving & Pick<Entry, 'ticket'>, nowMs: number): void {
    this.#times.gone(work)
    this.#gate.drop(nowMs, nowMs - work.startedAt, work)
  }

  #end(entry: E): 'held' | 'lent' | undefined {
    const was = entry.endPermit()
    if (was === 'held') this.inService.delete(entry)
    else if (was === 'lent') this.lent.delete(entry)
    return was
  }

  /** True if the permit was given back because the answer fell silent: the handler may still be working without one. */
  isDoubted({ stream }: E): boolean {
    return stream !== undefined && this.#hooks.streams?.doubts(stream) === true
  }

  /** Called when no client waits for the result any more. The permit passes to an orphan. */
  giveUp(entry: E, nowMs: number, outlook?: Outlook): void {
    const isDoubted = this.isDoubted(entry)
    if (isDoubted) this.#hooks.streams!.gone(entry.stream!)
    entry.abandoned = true
    const was = this.#end(entry)
    if (was === undefined && !isDoubted) return
    const orphan = new Orphan(entry, entry.ticket)
    entry.orphan = orphan
    this.#hooks.onOrphaned?.(entry, orphan)
    if (was === 'held') this.#orphans.add(orphan, nowMs, outlook)
    else this.#orphans.addWithoutPermit(orphan, nowMs, outlook)
  }

  giveUpBefore(atMs: number, nowMs: number, which: (entry: E) => boolean): void {
    const isOne = (entry: E): boolean => !entry.abandoned && which(entry)
    for (const entry of this.inService.find(isOne, ({ startedAt }) => startedAt >= atMs)) this.giveUp(entry, nowMs)
  }

  /** Ends the permits of work whose end was not seen. Called while other work waits for a permit. */
  reclaim(nowMs: number): void {
    if (nowMs < this.#presumeAgainAt) return
    this.#presumeAgainAt = nowMs + PRESUME_MS
    const { full, knownLimit, countedLimit } = this.#gate
    // While the limit is unknown and permits are left, none has to be freed.
    if (knownLimit === undefined && !full) return
    const permits = countedLimit - (this.#hooks.streams?.doubted ?? 0)
    for (const orphan of this.#orphans.takeTreatedAsFinished(nowMs, permits)) this.#free(orphan, nowMs)
  }

  /** How many streams may work without a permit because they seem to wait. Doubted orphans reduce this number. */
  get mayDoubt(): number {
    return this.#gate.countedLimit - this.#orphans.doubted
  }

  /** Lets a stream continue without its permit. */
  lend(entry: E, nowMs: number): void {
    this.inService.delete(entry)
    entry.lendPermit()
    this.#gate.runWithoutPermit(nowMs, nowMs - entry.startedAt, entry)
    this.#times.gone(entry)
    this.lent.add(entry)
  }

  /** Called when a stream works again. It takes a permit at once, even above the limit. */
  takeBack(entry: E, nowMs: number): void {
    this.lent.delete(entry)
    this.#gate.enter(nowMs, entry)
    this.#hold(entry, nowMs)
  }
}
