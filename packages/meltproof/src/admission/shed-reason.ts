export type ShedReason =
  /** The queue stood and held enough requests as fresh as this one. The usual reason under heavy overload. */
  | 'standing'
  /** It waited in a standing queue until fresher requests left it no chance. */
  | 'stale'
  /** It waited for the longest time that the gate allows, in first-come order. */
  | 'late'
  | 'full'
  | 'closing'
  /** Live objects nearly fill the heap, or the container's memory is nearly full. Decided before the gate. */
  | 'memory'
  /** It could not meet its deadline. */
  | 'deadline'
  /** An upgrade, which cannot wait, was pipelined behind it. Decided at the connection. */
  | 'upgrade'
