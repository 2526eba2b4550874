/**
 * How much the old generation of the heap may hold: V8 aborts there. Node tells only the sum with the young one. Pure.
 */

const MB = 1024 * 1024

/** Three semi-spaces of the largest size, MB, of an old generation above 1 GB on 64-bit Linux. */
function mostYoungMb(nodeMajor: number): number {
  if (nodeMajor < 24) return 48
  return nodeMajor < 26 ? 192 : 96
}

/** The share of the full young generation that V8 reserves, by the least size of the old one in MB. Measured in containers of 128 MB to 8 GB. */
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
  // The least heap that Node takes by itself, 256 MB and a few for the young generation.
  return heapLimitBytes
}
