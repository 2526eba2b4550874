export type ShedReason =
  /** The queue stood, and enough equally fresh requests waited, or the request's level was shed. The usual reason. */
  | 'standing'
  /** The request waited in a standing queue until fresher requests left it no chance. */
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
