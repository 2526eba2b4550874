/**
 * The permits of a gate: the one place in which they are given and end. A permit lasts as long as the work, also when no
 * client waits for it any more (abandoned.ts). Pure.
 */
import { type Linked, LinkedList } from '../../linked-list.ts'
import type { Entry, Gate } from '../gate.ts'
import { Abandoned, type Outlook } from './abandoned.ts'
import { Orphan, type Permit } from './permit.ts'
import { type Serving, ServiceTimes } from './service-times.ts'

/** What can have a permit. */
export interface Admitted<E> extends Permit, Entry, Linked<E> {}

export interface PermitHooks<E> {
  readonly onRecorded?: (entry: E, nowMs: number) => void
  /** The kind of work, below KINDS_IN_SERVICE. @default 0 for all */
  readonly kindOf?: (entry: E) => number
}

/** Work that is presumed to have ended is looked for no more often, ms. */
const PRESUME_MS = 10

export class Permits<E extends Admitted<E>> {
  protected readonly inService: LinkedList<E> = new LinkedList()
  protected readonly times: ServiceTimes<E> = new ServiceTimes()
  protected readonly gate: Gate<E>
  readonly #hooks: PermitHooks<E>
  readonly #orphans: Abandoned<Orphan> = new Abandoned(this.times)
  #presumeAgainAt = 0

  constructor(gate: Gate<E>, hooks: PermitHooks<E> = {}) {
    this.gate = gate
    this.#hooks = hooks
  }

  get abandoned(): number {
    return this.#orphans.count
  }

  #kindOf(entry: E): number {
    return this.#hooks.kindOf?.(entry) ?? 0
  }

  /** The least time that work of its kind takes, ms; 0 if unknown, or if none of that kind is in service. */
  leastServiceMs(entry: E): number {
    return this.times.leastMs(this.#kindOf(entry))
  }

  /** Work of its kind is known to leave quickly. Work without kinds may be of many sorts, and is not. */
  isQuick(entry: E): boolean {
    return this.#hooks.kindOf !== undefined && this.times.isQuick(this.#kindOf(entry))
  }

  give(entry: E, nowMs: number): void {
    if (this.#orphans.count > 0) this.#endPresumed(nowMs)
    this.hold(entry, nowMs)
    if (entry.abandoned) this.giveUp(entry, nowMs)
  }

  protected hold(entry: E, nowMs: number): void {
    entry.holdPermit(nowMs)
    this.inService.add(entry)
    this.times.started(entry, this.#kindOf(entry))
  }

  record(entry: E, nowMs: number): void {
    const was = this.#end(entry)
    if (was === undefined) return
    if (was === 'held') this.release(entry, nowMs)
    this.#hooks.onRecorded?.(entry, nowMs)
  }

  protected release(entry: E, nowMs: number): void {
    this.times.answered(entry, nowMs)
    this.gate.release(nowMs, nowMs - entry.startedAt, entry)
  }

  /** It is over without an answer that teaches anything. Does nothing when its permit has ended. */
  drop(entry: E, nowMs: number): void {
    if (entry.orphan !== undefined) this.#endOrphan(entry.orphan, nowMs)
    else if (this.#end(entry) === 'held') this.#free(entry, nowMs)
  }

  #endOrphan(orphan: Orphan, nowMs: number): void {
    if (orphan.ended) return
    orphan.ended = true
    if (!this.#orphans.ended(orphan, nowMs)) return
    this.times.gone(orphan)
    this.gate.releaseOrphan(nowMs, nowMs - orphan.startedAt, orphan)
  }

  /** Nothing refers to its work any more, so it has ended. */
  collected(orphan: Orphan, nowMs: number): void {
    if (orphan.ended) return
    orphan.ended = true
    if (this.#orphans.collected(orphan)) this.#free(orphan, nowMs)
  }

  #free(work: Serving & Pick<Entry, 'ticket'>, nowMs: number): void {
    this.times.gone(work)
    this.gate.drop(nowMs, nowMs - work.startedAt, work)
  }

  #end(entry: E): 'held' | 'lent' | undefined {
    const was = entry.endPermit()
    if (was === 'held') this.inService.delete(entry)
    else if (was === 'lent') this.endedLent(entry)
    return was
  }

  protected endedLent(_entry: E): void {}

  /** No client waits for its result any more: its permit passes to an orphan. */
  giveUp(entry: E, nowMs: number, outlook?: Outlook): void {
    entry.abandoned = true
    const was = this.#end(entry)
    if (was === 'lent') this.giveUpLent(entry, nowMs, outlook)
    if (was !== 'held') return
    this.#orphans.add(this.#orphanOf(entry), nowMs, outlook)
  }

  /** The same for one that works without a permit. */
  protected giveUpLent(entry: E, nowMs: number, outlook?: Outlook): void {
    entry.abandoned = true
    this.#orphans.addLent(this.#orphanOf(entry), nowMs, outlook)
  }

  #orphanOf(entry: E): Orphan {
    const orphan = new Orphan(entry, entry.ticket)
    entry.orphan = orphan
    this.orphaned(entry, orphan)
    return orphan
  }

  protected orphaned(_entry: E, _orphan: Orphan): void {}

  /** How many may work without a permit because they are presumed to have ended, beside those that do. */
  protected get mayDoubt(): number {
    return this.gate.countedLimit - this.#orphans.doubted
  }

  giveUpBefore(atMs: number, nowMs: number, which: (entry: E) => boolean): void {
    const isOne = (entry: E): boolean => !entry.abandoned && which(entry)
    for (const entry of this.inService.find(isOne, ({ startedAt }) => startedAt >= atMs)) this.giveUp(entry, nowMs)
  }

  /** Ends the permits of work that ended unseen, or that needs none. Called while others wait for one. */
  reclaim(nowMs: number): void {
    this.#endPresumed(nowMs)
  }

  /** Work without a permit that may have ended, beside the orphans. */
  protected get doubtedElsewhere(): number {
    return 0
  }

  #endPresumed(nowMs: number): void {
    if (nowMs < this.#presumeAgainAt) return
    this.#presumeAgainAt = nowMs + PRESUME_MS
    // Without a limit no request waits for a permit, so none has to be freed.
    const known = this.gate.knownLimit
    if (known === undefined) return
    const permits = known - this.doubtedElsewhere
    for (const orphan of this.#orphans.takePresumedOver(nowMs, permits)) this.#free(orphan, nowMs)
  }

  /** It goes on without its permit. */
  protected goOn(entry: E, nowMs: number): void {
    this.inService.delete(entry)
    entry.lendPermit()
    this.gate.goOn(nowMs, nowMs - entry.startedAt, entry)
  }
}
