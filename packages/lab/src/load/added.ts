/** Combines the counts of several workers or runs. Pure. */
import type { Histogram } from './histogram.ts'
import { type ByKind, type Counts, type Kind, KINDS, type LoadOutcome } from './plan.ts'

export const sumOf = <T>(parts: readonly T[], read: (part: T) => number): number =>
  parts.reduce((sum, part) => sum + read(part), 0)

/** Sums counters that have the same names. */
export const addUp = (parts: readonly Readonly<Record<string, number | undefined>>[]): Record<string, number> => {
  const sum: Record<string, number> = {}
  for (const [name, times] of parts.flatMap(part => Object.entries(part))) sum[name] = (sum[name] ?? 0) + (times ?? 0)
  return sum
}

export const totalOf = (counts: Readonly<Record<string, number | undefined>>): number =>
  sumOf(Object.values(counts), times => times ?? 0)

export const byKind = <T>(make: (kind: Kind) => T): ByKind<T> =>
  Object.fromEntries(KINDS.map(kind => [kind, make(kind)])) as ByKind<T>

/** Latencies as measured. */
export const latenciesOf = (outcome: LoadOutcome): ByKind<Histogram> => ({
  ok: outcome.okLatency,
  shed: outcome.shedLatency,
  other: outcome.otherLatency,
  failed: outcome.failedAfter,
})

export const countsOf = (parts: readonly Counts[]): Counts => ({
  scheduled: sumOf(parts, part => part.scheduled),
  sent: sumOf(parts, part => part.sent),
  answered: addUp(parts.map(part => part.answered)),
  failed: addUp(parts.map(part => part.failed)),
  good: sumOf(parts, part => part.good),
})
