/** Time spans as intervals that timelines add and measure. Pure. */
import type { Interval } from '../record.ts'

/** The intervals are sorted and disjoint, and none is empty. */
export type Intervals = readonly Interval[]

export const NEVER: Intervals = []

export function union(intervals: readonly Interval[]): Intervals {
  const sorted = intervals.filter(({ fromMs, toMs }) => toMs > fromMs).sort((a, b) => a.fromMs - b.fromMs)
  const merged: Interval[] = []
  for (const next of sorted) {
    const last = merged.at(-1)
    if (last === undefined || next.fromMs > last.toMs) merged.push(next)
    else if (next.toMs > last.toMs) merged[merged.length - 1] = { fromMs: last.fromMs, toMs: next.toMs }
  }
  return merged
}

export function within(intervals: readonly Interval[], fromMs: number, toMs: number): Interval[] {
  const clipped: Interval[] = []
  for (const interval of intervals) {
    const from = Math.max(fromMs, interval.fromMs)
    const to = Math.min(toMs, interval.toMs)
    if (to > from) clipped.push({ fromMs: from, toMs: to })
  }
  return clipped
}

export function lengthMs(intervals: Intervals): number {
  return intervals.reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs), 0)
}
