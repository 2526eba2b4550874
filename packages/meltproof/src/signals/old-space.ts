/**
 * How much the old generation of the heap may hold: V8 aborts there. Node tells only the sum with the young one. Pure.
 */

const MB = 1024 * 1024

/** Three semi-spaces of the largest size, MB, as measured with `--max-old-space-size=512` on 64-bit Linux. */
function youngMb(nodeMajor: number): number {
  if (nodeMajor < 24) return 48
  return nodeMajor < 26 ? 192 : 96
}

export function oldSpaceLimit(flags: readonly string[], heapLimitBytes: number, nodeMajor: number): number {
  for (const flag of flags.toReversed()) {
    const match = /^--max[-_]old[-_]space[-_]size=(\d+)$/.exec(flag)
    if (match !== null && Number(match[1]) > 0) return Math.min(Number(match[1]) * MB, heapLimitBytes)
  }
  const rest = heapLimitBytes - youngMb(nodeMajor) * MB
  // A heap so small that this can not be right: the whole is the only honest bound.
  return rest > heapLimitBytes / 4 ? rest : heapLimitBytes
}
