/** The upper bound for any server: the share of its capacity that remains if each shed costs r. Pure. */

/** (1 - k r/S) / (1 - r/S) at `k` times the capacity: S is the service time, r the cost of a shed. Never negative. */
export function idealShare(k: number, r: number, service: number): number {
  if (k <= 1) return k
  return Math.max(0, (1 - (k * r) / service) / (1 - r / service))
}
