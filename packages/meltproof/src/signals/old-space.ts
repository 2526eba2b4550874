/** The capacity of the old generation, at which V8 aborts. Node reports only its sum with the young one. Pure. */

const MB = 1024 * 1024

/** Three semi-spaces of the maximum size, MB, for an old generation above 1 GB on 64-bit Linux. */
function mostYoungMb(nodeMajor: number): number {
  if (nodeMajor < 24) return 48
  return nodeMajor < 26 ? 192 : 96
}

/** Share of the young generation that V8 reserves if the old one exceeds `aboveMb`, measured in containers. */
const YOUNG_SHARES = [
  { share: 1, aboveMb: 1024 },
  { share: 1 / 2, aboveMb: 512 },
  { share: 1 / 4, aboveMb: 256 },
]

export function oldSpaceLimit(flags: readonly string[], heapLimitBytes: number, nodeMajor: number): number {
  for (const flag of flags.toReversed()) {
    const match = /^--max[-_]old[-_]space[-_]size=(\d+)$/.exec(flag)
    if (match !== null && Number(match[1]) > 0) return Math.min(Number(match[1]) * MB, heapLimitBytes)
  }
  for (const { share, aboveMb } of YOUNG_SHARES) {
    const rest = heapLimitBytes - mostYoungMb(nodeMajor) * share * MB
    if (rest > aboveMb * MB) return rest
  }
  // The smallest heap that Node chooses itself: 256 MB plus a few MB for the young generation.
  return heapLimitBytes
}
