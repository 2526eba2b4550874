/** The sheds of a gate: counts by reason, and the state at the last shed. Pure. */

export type ShedReason =
  /** The queue stood, and enough requests waited, or the request's level was shed. The usual reason. */
  | 'standing'
  /** The request waited too long in a standing queue. */
  | 'stale'
  /** The request waited for the longest time that the gate allows. */
  | 'late'
  | 'full'
  | 'closing'
  /** Live objects nearly fill the heap, or the container's memory is nearly full. Not decided by the gate. */
  | 'memory'
  /** The request could not meet its deadline. */
  | 'deadline'
  /** An upgrade, which cannot wait, was pipelined behind the request. Decided at the connection. */
  | 'upgrade'

export interface Fullness {
  readonly inflight: number
  readonly limit: number
  readonly queued: number
}

export interface LastShed extends Fullness {
  readonly reason: ShedReason
  readonly atMs: number
  /** Names the memory that was full, if the request was shed to save memory. */
  readonly memory: string | undefined
}

export class Sheds {
  readonly counts: Record<ShedReason, number> = {
    standing: 0,
    stale: 0,
    late: 0,
    full: 0,
    deadline: 0,
    closing: 0,
    memory: 0,
    upgrade: 0,
  }
  last: LastShed | undefined

  count(reason: ShedReason, atMs: number, { inflight, limit, queued }: Fullness, memory?: string): void {
    this.counts[reason]++
    this.last = { reason, atMs, inflight, limit, queued, memory }
  }
}
