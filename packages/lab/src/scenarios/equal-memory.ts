/** Compares memory only at equal throughput: a process that answers more requests also holds more of them. Pure. */
import { formatPercent, formatRate } from '../report/format.ts'

export interface MemoryRun {
  readonly name: string
  /** Accepted requests per second, whatever their result. */
  readonly throughput: number
  readonly rssMeanBytes: number
  readonly heapMeanBytes: number | null
}

export type MemoryComparison =
  | { readonly comparable: true; readonly rss: number; readonly heap: number | null }
  | { readonly comparable: false; readonly why: string }

/** Runs repeat within about this share; a larger difference is another throughput. */
const sameWithin = 0.02

/** `rss` and `heap`: how much less `other` needs than `base`, as a share of it; negative if it needs more. */
export function compareMemory(base: MemoryRun, other: MemoryRun): MemoryComparison {
  const most = Math.max(base.throughput, other.throughput)
  const apart = most === 0 ? 0 : Math.abs(base.throughput - other.throughput) / most
  if (most === 0 || apart > sameWithin) {
    return {
      comparable: false,
      why:
        `memory is not compared: ${base.name} took on ${formatRate(base.throughput)} requests/s and ` +
        `${other.name} ${formatRate(other.throughput)}, ${formatPercent(apart)} apart`,
    }
  }
  return {
    comparable: true,
    rss: 1 - other.rssMeanBytes / base.rssMeanBytes,
    heap:
      base.heapMeanBytes === null || other.heapMeanBytes === null ? null : 1 - other.heapMeanBytes / base.heapMeanBytes,
  }
}
