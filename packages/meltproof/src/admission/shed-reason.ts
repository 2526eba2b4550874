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
