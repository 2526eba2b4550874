/**
 * The seam between the gate and whatever decides who waits, who is next, and who is shed. The gate owns permits, the
 * turn budget and the wake-ups; a discipline owns the waiting room. Pure: it is told the time and asks the law.
 */
import type { LimitLaw } from './limit.ts'
import type { Waiting } from './queue.ts'

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
  /** The guard is draining. */
  | 'closing'
  /** Live objects nearly fill the heap. Decided before the gate is asked. */
  | 'memory'
  /** It could not have been served within its deadline. */
  | 'deadline'
  /** An upgrade was pipelined behind it, which can not wait, and answers come in order. Decided at the connection. */
  | 'upgrade'

/** All of them. */
export const SHED_REASONS: readonly ShedReason[] = [
  'standing',
  'stale',
  'late',
  'full',
  'deadline',
  'closing',
  'memory',
  'upgrade',
]

/** Never throws; `value` may be anything. */
export function isShedReason(value: unknown): value is ShedReason {
  return SHED_REASONS.includes(value as ShedReason)
}

/**
 * Who waits. Whatever the gate calls may shed entries that wait already, through the function the discipline was made
 * with; an entry is shed, taken or removed once, and never after. All of it at once: a promise is no answer. One given to
 * protect() is kept to this (checked-discipline.ts).
 */
export interface QueueDiscipline<E extends Waiting> {
  /** How many wait. */
  readonly size: number
  /** True while waiting is overload and not merely a burst. */
  readonly standing: boolean
  /** How long one that came now would wait, as far as is known, ms. */
  readonly expectedWaitMs?: number
  /** A request that can not start came: it waits from now on, or is told a reason at once. */
  push(entry: E, nowMs: number): 'wait' | ShedReason
  /**
   * What {@link push} would tell anybody who came now, asked before anything was spent on the request; undefined when
   * that is not known without it.
   */
  refuses(nowMs: number, kind?: number, client?: number): ShedReason | undefined
  /** Somebody of this kind and client was told what {@link refuses} said. */
  refused?(nowMs: number, kind: number, client?: number): void
  /** Takes out who starts next; undefined when nobody waits. */
  next(nowMs: number): E | undefined
  /** Takes out one whose client went away. False when it did not wait any more. */
  remove(entry: E, nowMs: number): boolean
  /** A request left service while somebody waits; with who it was and its time in service if it was answered. */
  departed(nowMs: number, entry?: E, serviceMs?: number): void
  /** Time passed: sheds those who have waited too long. */
  expire(nowMs: number): void
  /** {@link expire} must be called again within so many milliseconds; Infinity when nobody waits. */
  dueInMs(nowMs: number): number
}

/** What a discipline is made with. */
export interface DisciplineParts<E extends Waiting> {
  readonly law: LimitLaw
  /** Sheds somebody who waits already, and was just taken out. */
  readonly shed: (entry: E, reason: ShedReason) => void
  /**
   * The level of a request (criticality.ts); absent when all are alike. Asked only about requests that can not start
   * at once.
   */
  readonly level?: ((entry: E) => number) | undefined
  /** The kind of a request, a small whole number (known-kinds.ts); absent where nobody is to be fair between kinds. */
  readonly kind?: ((entry: E) => number) | undefined
  /** Whose request it is, as a hash (client-shares.ts); absent where nobody is to be fair between clients. */
  readonly client?: ((entry: E) => number) | undefined
}

/** What a QueueDiscipline must have besides `size` and `standing`. */
export const DISCIPLINE_METHODS = ['push', 'refuses', 'next', 'remove', 'departed', 'expire', 'dueInMs'] as const

export type MakeDiscipline<E extends Waiting> = (parts: DisciplineParts<E>) => QueueDiscipline<E>
