/** Time spans as sorted, disjoint intervals that timelines add and subtract. Pure. */
import type { Interval } from '../record.ts'

export type { Interval }

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

/** The part of `from` that lies outside `taken`. */
export function subtract(from: Intervals, taken: Intervals): Intervals {
  if (from.length === 0 || taken.length === 0) return from
  const left: Interval[] = []
  let next = 0
  for (const { fromMs, toMs } of from) {
    let startMs = fromMs
    while (next < taken.length && taken[next]!.toMs <= startMs) next++
    for (let i = next; i < taken.length && taken[i]!.fromMs < toMs; i++) {
      if (taken[i]!.fromMs > startMs) left.push({ fromMs: startMs, toMs: taken[i]!.fromMs })
      startMs = Math.max(startMs, taken[i]!.toMs)
    }
    if (startMs < toMs) left.push({ fromMs: startMs, toMs })
  }
  return left
}

export function within(intervals: Intervals, fromMs: number, toMs: number): Intervals {
  const clipped: Interval[] = []
  for (const interval of intervals) {
    const from = Math.max(fromMs, interval.fromMs)
    const to = Math.min(toMs, interval.toMs)
    if (to > from) clipped.push({ fromMs: from, toMs: to })
  }
  return clipped
}

export function lengthMs(intervals: Intervals): number {
  let sum = 0
  for (const { fromMs, toMs } of intervals) sum += toMs - fromMs
  return sum
}
