/**
 * A queue from outside, kept to its word. Who waits is written down here as well, so whatever it does, nobody starts or
 * is shed who does not wait, nobody twice, and nobody is forgotten. When it throws or does what makes no sense,
 * meltproof's own queue takes over whoever waits, for good, and that is said once. Pure.
 */
import { show, showThrown } from '../options.ts'
import {
  type DisciplineParts,
  isShedReason,
  type MakeDiscipline,
  type QueueDiscipline,
  SHED_REASONS,
  type ShedReason,
} from './discipline.ts'
import { Ledger } from './ledger.ts'
import { caughtPromise } from './promise-like.ts'
import type { Waiting } from './queue.ts'

/** @param shipped makes the one that takes over */
export function checkedDiscipline<E extends Waiting>(
  make: MakeDiscipline<E>,
  shipped: MakeDiscipline<E>,
  note: (text: string) => void,
): MakeDiscipline<E> {
  return parts => new CheckedDiscipline(parts, make, shipped, note)
}

class CheckedDiscipline<E extends Waiting> implements QueueDiscipline<E> {
  readonly #parts: DisciplineParts<E>
  readonly #makeShipped: MakeDiscipline<E>
  readonly #note: (text: string) => void
  readonly #ledger = new Ledger<E>()
  readonly #theirs: QueueDiscipline<E>
  /** Once it has taken over. */
  #ours: QueueDiscipline<E> | undefined
  /** The first thing it did that makes no sense: what was expected, and what came. */
  #wrong: string | undefined
  #saidRejection = false
  /** Calls of it that have not returned: until then its size may be of before or after. */
  #calls = 0
  #nowMs = 0

  constructor(
    parts: DisciplineParts<E>,
    make: MakeDiscipline<E>,
    shipped: MakeDiscipline<E>,
    note: (text: string) => void,
  ) {
    this.#parts = parts
    this.#makeShipped = shipped
    this.#note = note
    this.#theirs = make({ ...parts, shed: (entry, reason) => this.#shed(entry, reason) })
  }

  get size(): number {
    return this.#ours === undefined ? this.#ledger.size : this.#ours.size
  }

  get standing(): boolean {
    if (this.#ours !== undefined) return this.#ours.standing
    return this.#ask('standing', this.#nowMs, theirs => theirs.standing) === true
  }

  push(entry: E, nowMs: number): 'wait' | ShedReason {
    if (this.#ours !== undefined) return this.#ours.push(entry, nowMs)
    const answer = this.#ask('push', nowMs, theirs => theirs.push(entry, nowMs))
    const waits = answer === 'wait'
    if (!waits && !isShedReason(answer)) this.#blame(`push() must answer 'wait' or ${A_REASON}`, answer)
    if (this.#makesSense(this.#ledger.size + (waits ? 1 : 0))) {
      if (waits) this.#ledger.add(entry)
      return answer as 'wait' | ShedReason
    }
    const ours = this.#takeOver(nowMs)
    if (isShedReason(answer)) return answer
    entry.left = false
    return ours.push(entry, nowMs)
  }

  refuses(nowMs: number, kind?: number, client?: number): ShedReason | undefined {
    if (this.#ours !== undefined) return this.#ours.refuses(nowMs, kind, client)
    const answer = this.#ask('refuses', nowMs, theirs => theirs.refuses(nowMs, kind, client))
    if (answer !== undefined && !isShedReason(answer)) {
      this.#blame(`refuses() must answer undefined or ${A_REASON}`, answer)
    }
    return this.#makesSense() ? (answer as ShedReason | undefined) : this.#takeOver(nowMs).refuses(nowMs, kind, client)
  }

  refused(nowMs: number, kind: number, client?: number): void {
    if (this.#ours !== undefined) this.#ours.refused?.(nowMs, kind, client)
    else this.#tell('refused', nowMs, theirs => theirs.refused?.(nowMs, kind, client))
  }

  next(nowMs: number): E | undefined {
    if (this.#ours !== undefined) return this.#ours.next(nowMs)
    const answer = this.#ask('next', nowMs, theirs => theirs.next(nowMs))
    const waited = this.#ledger.delete(answer)
    if (!waited && (answer !== undefined || this.#ledger.size > 0)) {
      this.#blame('next() must answer one who waits, or undefined when nobody does', answer)
    }
    if (this.#makesSense()) return answer as E | undefined
    const ours = this.#takeOver(nowMs)
    return waited ? (answer as E) : ours.next(nowMs)
  }

  remove(entry: E, nowMs: number): boolean {
    if (this.#ours !== undefined) return this.#ours.remove(entry, nowMs)
    if (!this.#ledger.has(entry)) return false
    const answer = this.#ask('remove', nowMs, theirs => theirs.remove(entry, nowMs))
    const waited = this.#ledger.delete(entry)
    if (answer !== true || !waited) this.#blame('remove() must take out one who waits and answer true', answer)
    if (this.#makesSense()) return true
    const ours = this.#takeOver(nowMs)
    return waited || ours.remove(entry, nowMs)
  }

  departed(nowMs: number, entry?: E, serviceMs?: number): void {
    if (this.#ours !== undefined) this.#ours.departed(nowMs, entry, serviceMs)
    else this.#tell('departed', nowMs, theirs => theirs.departed(nowMs, entry, serviceMs))
  }

  expire(nowMs: number): void {
    if (this.#ours !== undefined) this.#ours.expire(nowMs)
    else this.#tell('expire', nowMs, theirs => theirs.expire(nowMs))
  }

  dueInMs(nowMs: number): number {
    if (this.#ours !== undefined) return this.#ours.dueInMs(nowMs)
    const answer = this.#ask('dueInMs', nowMs, theirs => theirs.dueInMs(nowMs))
    if (typeof answer !== 'number' || Number.isNaN(answer)) this.#blame('dueInMs() must answer a number', answer)
    if (!this.#makesSense()) return this.#takeOver(nowMs).dueInMs(nowMs)
    return answer === Number.POSITIVE_INFINITY ? answer : Math.min(Math.max(answer as number, 1), LONGEST_MS)
  }

  /** What it was given to shed with. */
  #shed(entry: E, reason: ShedReason): void {
    if (this.#ours !== undefined) return // it has no say any more
    if (!isShedReason(reason)) this.#blame(`shed() must be given ${A_REASON}`, reason)
    else if (this.#ledger.delete(entry)) this.#parts.shed(entry, reason)
    else this.#wrong ??= 'shed() must be given one who waits, once; got one who does not wait (any more, or yet)'
    if (this.#calls === 0 && this.#wrong !== undefined) this.#takeOver(this.#nowMs)
  }

  /** Asks it; undefined when it throws. A promise is an answer, and one that makes no sense. */
  #ask(what: string, nowMs: number, ask: (theirs: QueueDiscipline<E>) => unknown): unknown {
    this.#nowMs = nowMs
    this.#calls++
    try {
      const answer = ask(this.#theirs)
      // Nearly all answers are none, plain, or of those who wait.
      if (typeof answer === 'object') caughtPromise(answer)
      return answer
    } catch (error) {
      this.#wrong ??= `${what}() threw ${showThrown(error)}`
      return undefined
    } finally {
      this.#calls--
    }
  }

  /** Tells it. Nothing of the answer is needed, so it may be async; but that it rejected is said. */
  #tell(what: 'refused' | 'departed' | 'expire', nowMs: number, tell: (theirs: QueueDiscipline<E>) => unknown): void {
    this.#nowMs = nowMs
    this.#calls++
    try {
      caughtPromise(tell(this.#theirs), reason => this.#sayRejection(what, reason))
    } catch (error) {
      this.#wrong ??= `${what}() threw ${showThrown(error)}`
    } finally {
      this.#calls--
    }
    if (!this.#makesSense()) this.#takeOver(nowMs)
  }

  #sayRejection(what: string, reason: unknown): void {
    if (this.#saidRejection || this.#ours !== undefined) return
    this.#saidRejection = true
    this.#note(
      `the queue's ${what}() rejected with ${showThrown(reason)}; it must act before it returns and keep its failures to itself`,
    )
  }

  #blame(expected: string, got: unknown): void {
    this.#wrong ??= `${expected}; got ${show(got)}`
  }

  /** Whether all it did so far makes sense, and it holds as many as wait. */
  #makesSense(waiting = this.#ledger.size): boolean {
    if (this.#wrong !== undefined) return false
    if (this.#calls > 0) return true
    const size = this.#ask('size', this.#nowMs, theirs => theirs.size)
    if (size !== waiting) this.#blame(`its size must be how many wait, ${waiting}`, size)
    return this.#wrong === undefined
  }

  /** Ours from now on, with everybody who waits: as if they had just come, for nobody is to be shed for its failure. */
  #takeOver(nowMs: number): QueueDiscipline<E> {
    if (this.#ours !== undefined) return this.#ours
    const ours = this.#makeShipped(this.#parts)
    this.#ours = ours
    for (const entry of this.#ledger.takeAll()) {
      entry.left = false
      const decision = ours.push(entry, nowMs)
      if (decision !== 'wait') this.#parts.shed(entry, decision)
    }
    this.#note(
      `meltproof's own queue has taken over, for good, from the one given as queue: ${this.#wrong}. Correct that one.`,
    )
    return ours
  }
}

const A_REASON = `a reason (${SHED_REASONS.join(', ')})`
/** A timer set to more than this, ms, goes off at once. */
const LONGEST_MS = 2 ** 31 - 1
